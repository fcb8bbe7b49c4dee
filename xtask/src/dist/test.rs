//! Each package, installed from its file where nothing else of Postroom is and no network can be reached, tried, and removed.
//!
//! A bare root is a directory that has only what the package needs; a program that is not on this machine makes its test skip,
//! with the reason.

mod apart;
mod npm;
pub(super) mod picture;
mod python;
mod roots;

use std::process::Command;

use crate::report::{Outcome, Report};
use crate::run;

use super::Packages;
use super::release::Release;
use apart::Apart;

pub(crate) fn run(release: &Release, packages: &Packages) -> Result<(), String> {
    let apart = Apart::find();
    let mut report = Report::default();
    let needs = |programs: &[&str], test: &dyn Fn(&Apart) -> Result<(), String>| {
        let missing = programs.iter().find(|program| run::find_program(program).is_none());
        match (&apart, missing) {
            (_, Some(program)) => Outcome::Skipped(format!("{program} is not installed")),
            (Err(why), None) => Outcome::Skipped(why.clone()),
            (Ok(apart), None) => test(apart).into(),
        }
    };
    report.step("binary", "alone in an empty root", |_| needs(&[], &|apart| roots::binary(apart, release)));
    report.step("archive", "by install.sh, in a root with a shell", |_| {
        needs(&roots::TOOLS, &|apart| roots::archive(apart, packages))
    });
    report.step("deb", "by dpkg, in an empty root", |_| {
        needs(&["dpkg"], &|apart| roots::deb(apart, &packages.deb))
    });
    report.step("npm", "by npm, with its launcher", |_| {
        needs(&["node", "npm"], &|apart| npm::test(apart, &packages.npm))
    });
    report.step("pip", "in a new environment", |_| {
        needs(&["python3"], &|apart| python::pip(apart, &packages.wheel))
    });
    report.step("pipx", "by pipx", |_| needs(&["pipx"], &|apart| python::pipx(apart, &packages.wheel)));
    report.step("uv", "by uv tool and uvx", |_| needs(&["uv"], &|apart| python::uv(apart, &packages.wheel)));
    print!("{report}");
    if report.failed() { Err(String::new()) } else { Ok(()) }
}

/// Runs `postroom demo` and insists that it is this version and plays to its end.
fn demo(mut postroom: impl FnMut() -> Command) -> Result<(), String> {
    let said = run::unseen(postroom().args(["--version", "--verbose"]))?;
    if !said.starts_with(concat!("postroom ", env!("CARGO_PKG_VERSION"), "\n"))
        || !said.contains(", static\n")
    {
        return Err(format!("it is another version: {said}"));
    }
    run::quietly(postroom().arg("demo"))
}
