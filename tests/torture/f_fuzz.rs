//! F3: the fuzz targets, each for five minutes or for `POSTROOM_FUZZ_SECONDS`. They are built by cargo-fuzz, with a nightly
//! toolchain.

use std::path::Path;
use std::time::Duration;

use crate::lab::{Findings, Lab, NotPassed, Outcome};
use crate::place::names_in;
use crate::process::Run;

const HOST: &str = "x86_64-unknown-linux-gnu";
const SECONDS: u64 = 300;

pub(crate) fn fuzz(lab: &Lab) -> Outcome {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let home = project.join("fuzz");
    let seconds = std::env::var("POSTROOM_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let seconds: u64 = seconds.unwrap_or(SECONDS);
    let dir = lab.dir();
    let with = |run: Run| {
        // The tools find their toolchains and their crates by these.
        let names = ["HOME", "CARGO_HOME", "RUSTUP_HOME"];
        names
            .into_iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)))
            .fold(run, |run, (n, v)| run.env(n, v))
    };
    let fuzz = |words: &[&str]| {
        with(Run::new([&["cargo", "+nightly", "fuzz"], words].concat(), project))
            .deadline(Duration::from_secs(3600))
    };
    let there = std::panic::AssertUnwindSafe(|| fuzz(&["--version"]).end().ok());
    if !std::panic::catch_unwind(there).unwrap_or(false) {
        let why = "needs a nightly toolchain and cargo-fuzz (cargo install --locked cargo-fuzz)";
        return Err(NotPassed::Skipped(why.to_owned()));
    }
    let target = std::env::var_os("POSTROOM_FUZZ_TARGET").map_or_else(|| home.join("target"), Into::into);
    let build = fuzz(&["build", "--dev", "--sanitizer", "none", "--target-dir"]).and(&target).end();
    if !build.ok() {
        return Err(NotPassed::Failed { figures: "not built".to_owned(), problems: vec![build.shown()] });
    }
    let findings = Findings::default();
    let targets = names_in(&home.join("corpus"));
    let mut runs = 0;
    for name in &targets {
        let program = target.join(HOST).join("debug").join(name);
        let kept = dir.path().join(name);
        std::fs::create_dir(&kept).expect("a place for what is found");
        let run = Run::new([program], dir.path())
            .and(format!("-max_total_time={seconds}"))
            .and("-timeout=30")
            .and(format!("-artifact_prefix={}/", kept.display()))
            .and(&kept)
            .and(home.join("corpus").join(name));
        let ended = run.deadline(Duration::from_secs(seconds + 120)).end();
        let told = ended.stderr();
        let last = told.lines().rev().find_map(|line| line.strip_prefix("Done ")).unwrap_or_default();
        runs += last.split(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        findings.check(ended.ok(), || {
            let found: Vec<&str> =
                told.lines().filter(|line| line.contains("panicked") || line.starts_with("Base64")).collect();
            format!("{name}: {}: {found:?}", ended.code.unwrap_or(-1))
        });
    }
    findings.verdict(format!("{} targets, {seconds} s each, {runs} inputs, 0 findings", targets.len()))
}
