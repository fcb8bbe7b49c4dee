//! What the tests need beside cargo, installed where that is possible.
//!
//! Everything that needs a network happens here, before the first test. Nothing here fails a run: what cannot be had is
//! recorded with the words that say how to install it, and the steps and tests that need it skip with a reason.

use std::process::Command;

use crate::agents;
use crate::repo::Repo;
use crate::report::{Outcome, Report};
use crate::run;

/// A program that tests start, and the Debian package it is in.
struct Program {
    name: &'static str,
    package: &'static str,
    why: &'static str,
}

const PROGRAMS: [Program; 14] = [
    Program {
        name: "strace",
        package: "strace",
        why: "torture: faults at every system call, the order lint",
    },
    Program {
        name: "mkfs.ext4",
        package: "e2fsprogs",
        why: "torture: power cuts on a file system of its own",
    },
    Program { name: "mkfs.xfs", package: "xfsprogs", why: "torture: power cuts on xfs (D5)" },
    Program { name: "mkfs.btrfs", package: "btrfs-progs", why: "torture: power cuts on btrfs (D5)" },
    Program { name: "mount", package: "mount", why: "torture: power cuts on a file system of its own" },
    Program { name: "bindfs", package: "bindfs", why: "torture: a FUSE disk that remembers too much (J3)" },
    Program { name: "bash", package: "bash", why: "the functions of `postroom tools shell-init bash`" },
    Program { name: "zsh", package: "zsh", why: "completion in the real shell" },
    Program { name: "fish", package: "fish", why: "completion in the real shell" },
    Program {
        name: "flock",
        package: "util-linux",
        why: "other programs that hold the lock of the registry",
    },
    Program { name: "nats-server", package: "nats-server", why: "the courier, with an old server" },
    Program { name: "ip", package: "iproute2", why: "torture: machines as network namespaces (N)" },
    Program { name: "chromium", package: "chromium", why: "the web page in a real browser" },
    Program { name: "chromedriver", package: "chromium-driver", why: "the web page in a real browser" },
];

/// Versions that build on the `rust-version` of the workspace.
const NEXTEST: &str = "0.9.143";
const DENY: &str = "0.20.2";

pub(crate) fn install(repo: &Repo, report: &mut Report) -> Outcome {
    install_packages(repo, report);
    install_component(repo, report, "fmt", "rustfmt");
    install_component(repo, report, "clippy", "clippy");
    if !has_nextest(repo) {
        install_crate(repo, report, "cargo-nextest", NEXTEST, "without it the tests run by `cargo test`");
    }
    if !has_deny(repo) {
        install_crate(
            repo,
            report,
            "cargo-deny",
            DENY,
            "without it licences, bans and sources are not checked",
        );
    }
    // For every platform: cargo-deny looks at crates that no build on this machine would fetch.
    if let Err(why) = run::quietly(repo.cargo().args(["fetch", "--locked"])) {
        report.missing.push(format!("crates of other platforms: {why}; cargo-deny may not run without them"));
    }
    agents::install(repo, report);
    Outcome::Passed
}

pub(crate) fn has_fmt(repo: &Repo) -> bool {
    run::succeeds(repo.cargo().args(["fmt", "--version"]))
}

pub(crate) fn has_clippy(repo: &Repo) -> bool {
    run::succeeds(repo.cargo().args(["clippy", "--version"]))
}

pub(crate) fn has_nextest(repo: &Repo) -> bool {
    run::succeeds(repo.cargo().args(["nextest", "--version"]))
}

/// An older cargo-deny refuses the tables of `deny.toml`, which would look like a finding.
pub(crate) fn has_deny(repo: &Repo) -> bool {
    let output = repo.cargo().args(["deny", "--version"]).output();
    output.is_ok_and(|output| at_least(&String::from_utf8_lossy(&output.stdout), DENY))
}

fn install_packages(repo: &Repo, report: &mut Report) {
    let absent = || PROGRAMS.iter().filter(|program| run::find_program(program.name).is_none());
    let mut packages: Vec<&str> = absent().map(|program| program.package).collect();
    packages.dedup();
    if !packages.is_empty() && rustix::process::geteuid().is_root() && run::find_program("apt-get").is_some()
    {
        let apt = |arguments: &[&str]| {
            let mut command = repo.command("apt-get");
            command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments);
            run::quietly(&mut command)
        };
        let install = [&["install", "--yes", "--no-install-recommends"], packages.as_slice()].concat();
        // A list that cannot be brought up to date may still hold the package.
        let updated = apt(&["update"]);
        if let Err(why) = apt(&install).and(updated) {
            println!("    {why}");
        }
    }
    report.missing.extend(absent().map(advice));
}

fn advice(program: &Program) -> String {
    format!("{}: the Debian package {} ({})", program.name, program.package, program.why)
}

/// rustup's minimal profile has neither rustfmt nor clippy.
fn install_component(repo: &Repo, report: &mut Report, subcommand: &str, component: &str) {
    let present = || run::succeeds(repo.cargo().args([subcommand, "--version"]));
    if present() {
        return;
    }
    if run::find_program("rustup").is_some() {
        let _ = run::quietly(repo.command("rustup").args(["component", "add", component]));
    }
    if !present() {
        report.missing.push(format!("{component}: rustup component add {component}"));
    }
}

/// Builds a cargo subcommand from source. Unoptimised, because building is what takes the time: both run for seconds.
fn install_crate(repo: &Repo, report: &mut Report, name: &str, version: &str, without: &str) {
    println!("    building {name} {version} once; this takes some minutes");
    if let Err(why) = run::quietly(&mut install_command(repo.cargo(), name, version)) {
        report
            .missing
            .push(format!("{name}: cargo install --locked {name} --version {version} ({without}; {why})"));
    }
}

fn install_command(mut cargo: Command, name: &str, version: &str) -> Command {
    cargo
        .args(["install", "--locked", "--debug", name, "--version", version])
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        // Else the objects of some hundred crates would stay in the target directory of this repository.
        .env_remove("CARGO_TARGET_DIR");
    cargo
}

/// Whether `cargo-deny 0.20.2` and the like name at least this major and minor version.
fn at_least(said: &str, wanted: &str) -> bool {
    let parts = |version: &str| {
        let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
        Some((numbers.next()??, numbers.next()??))
    };
    let said = said.split_whitespace().find_map(parts);
    said.is_some() && said >= parts(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert!(at_least("cargo-deny 0.20.2\n", "0.20.2"));
        assert!(at_least("cargo-deny 0.20.0\n", "0.20.2"));
        assert!(at_least("cargo-deny 1.0.0", "0.20.2"));
        assert!(!at_least("cargo-deny 0.14.2", "0.20.2"));
        assert!(!at_least("cargo-deny 0.9.9", "0.20.2"));
        assert!(!at_least("", "0.20.2"));
    }

    #[test]
    fn a_crate_is_built_as_locked_in_the_version_that_is_known_to_build() {
        let command = install_command(Command::new("cargo"), "cargo-deny", DENY);
        let arguments: Vec<_> = command.get_args().collect();
        assert!(arguments.windows(2).any(|pair| pair == ["--version", DENY]));
        assert!(arguments.contains(&"--locked".as_ref()));
        assert!(command.get_envs().any(|(name, value)| name == "CARGO_TARGET_DIR" && value.is_none()));
    }

    #[test]
    fn advice_names_program_package_and_purpose() {
        let mkfs = PROGRAMS.iter().find(|program| program.name == "mkfs.ext4").unwrap();
        let text = advice(mkfs);
        assert!(
            text.contains("mkfs.ext4") && text.contains("e2fsprogs") && text.contains("power cuts"),
            "{text}"
        );
    }
}
