//! The agent programs that the dispatcher is tested with, from the npm registry into `target/agents`.
//!
//! They are large, so they are installed once and again only when a version here changes. Their install scripts are not
//! run: all that is needed comes as packages. What cannot be had is recorded, and the tests that need it skip.

use std::fs;

use crate::repo::Repo;
use crate::report::Report;
use crate::run;

/// Packages in the versions that the presets were verified with.
const PACKAGES: [&str; 4] = [
    "@anthropic-ai/claude-code@2.1.325",
    "@openai/codex@0.166.0",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
];

const WITHOUT: &str = "without it the dispatcher is tested with recorded streams alone";

/// Installs what is missing; never fails a run.
pub(crate) fn install(repo: &Repo, report: &mut Report) {
    let directory = repo.target.join("agents");
    let stamp = directory.join("installed");
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
        return;
    }
    if run::find_program("npm").is_none() {
        report.missing.push(format!("npm: the Debian package npm, or Node.js ({WITHOUT})"));
        return;
    }
    println!("    installing the agent programs once; this loads about half a gigabyte");
    let made =
        fs::create_dir_all(&directory).map_err(|e| format!("cannot make {}: {e}", directory.display()));
    let mut npm = repo.command("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(&directory);
    npm.args(PACKAGES);
    let done = made.and_then(|()| run::quietly(&mut npm)).and_then(|()| {
        fs::write(&stamp, &wanted).map_err(|e| format!("cannot write {}: {e}", stamp.display()))
    });
    if let Err(why) = done {
        report.missing.push(format!("agent programs: npm install {} ({WITHOUT}; {why})", PACKAGES.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_its_version() {
        for package in PACKAGES {
            let (name, version) = package.rsplit_once('@').unwrap();
            assert!(!name.is_empty() && version.split('.').count() == 3, "{package}");
        }
    }
}
