//! Workflows: what one step of a run of 1,000 costs, against one cold `send` in the same room and the same minutes.
//!
//! Two ways to have a step done are measured. By the library in one process (`benches/workflow.rs`), a step is all that mail
//! and engine do for it: the request, its claim, the answer, the end, and the acceptance. Through `dispatch`, a step also
//! starts a supervisor and an agent, here `echo`, so three processes take part in it. The steps of the dispatcher are taken
//! in blocks, with as many sends between them, because the machine is another one a minute later.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use super::Bench;
use super::deliver::build;
use super::mail::{on_both, send_command};
use super::pair::{Pair, Unit, microseconds};
use super::place::Place;
use super::room::Room;
use super::table::{Limit, Row, Without};

const STEPS: usize = 1000;
const BLOCK: usize = 50;
const DONE: &[i32] = &[0];

pub(crate) fn workflow(bench: &Bench) -> Vec<Row> {
    on_both("a step of a workflow", |place| {
        // Where a sync costs nothing, a durable send is no measure.
        let limit = if place.kind == "ext4" { Limit::AtMost(6.0) } else { Limit::None };
        let limits = [limit, Limit::AtMost(1.5)];
        let mut found = library(bench, place, limits)?;
        found.extend(dispatched(bench, place, limits)?);
        Ok(found)
    })
}

/// Rows of a series: its ratio, and how the last quarter compares with the first.
fn rows_of(what: &str, kind: &str, steps: &[f64], sends: &[f64], limits: [Limit; 2]) -> Vec<Row> {
    let rounds: Vec<(f64, f64)> = steps.iter().copied().zip(sends.iter().copied().cycle()).collect();
    let quarter = steps.len() / 4;
    let late = steps[steps.len() - quarter..].iter().copied().zip(steps.iter().copied()).collect();
    let per_step = Pair { unit: Unit::Microseconds, rounds };
    let growth = Pair { unit: Unit::Microseconds, rounds: late };
    vec![
        Row::ratio(format!("a step {what}, against a cold `send`, {kind}"), &per_step, limits[0]),
        Row::ratio(format!("steps 751–1,000 {what}, against steps 1–250, {kind}"), &growth, limits[1]),
    ]
}

fn library(bench: &Bench, place: &Place, limits: [Limit; 2]) -> Result<Vec<Row>, Without> {
    let program = build(&bench.repo, "workflow")?;
    let room = Room::set_up(&bench.programs, &place.dir.join("library"), &["alice", "bob", "worker"])?;
    let mut sends = cold_sends(bench, &room, STEPS / 4)?;
    let count = STEPS.to_string();
    let args: [&OsStr; 3] = [room.root().as_os_str(), "worker".as_ref(), count.as_ref()];
    let said = bench.programs.output(bench.programs.command(&program, &args))?;
    let steps: Vec<f64> = said.lines().filter_map(|line| line.parse().ok()).collect();
    if steps.len() != STEPS {
        return Err(Without::Failed(format!("{} steps instead of {STEPS}", steps.len())));
    }
    sends.extend(cold_sends(bench, &room, STEPS / 4)?);
    Ok(rows_of("by the library", place.kind, &steps, &sends, limits))
}

fn dispatched(bench: &Bench, place: &Place, limits: [Limit; 2]) -> Result<Vec<Row>, Without> {
    let dir = place.dir.join("dispatched");
    let told = |e: std::io::Error| e.to_string();
    let project = dir.join("project");
    fs::create_dir_all(project.join(".postroom/workflows")).map_err(told)?;
    let room = Room::set_up(&bench.programs, &dir, &["alice", "bob", "worker"])?;
    let settings = "[agents.worker]\npreset = \"command\"\ncommand = [\"echo\", \"ok\"]\n[dispatch]\nhour_runs = 1000000\n";
    let file = room.root().join("postroom.toml");
    fs::write(&file, settings).map_err(told)?;
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).map_err(told)?;
    fs::write(project.join(".postroom/workflows/chain.yaml"), chain()).map_err(told)?;
    let here = |words: &[&str]| {
        let args: Vec<&OsStr> = words.iter().map(AsRef::<OsStr>::as_ref).collect();
        let mut command: Command = room.postroom("alice", &args);
        command.current_dir(&project).env("HOME", &dir);
        command
    };
    for trusted in [project.as_path(), room.root()] {
        bench.programs.by_person(&here(&["trust", &trusted.display().to_string()]))?;
    }
    let said = bench.programs.output(here(&["workflow", "run", "chain"]))?;
    let run = said.trim().strip_prefix("run ").ok_or_else(|| format!("no run: {said}"))?.to_owned();
    let (mut steps, mut sends) = (vec![], vec![]);
    let limit_of_block = BLOCK.to_string();
    for _ in 0..STEPS / BLOCK {
        bench.programs.output(here(&["dispatch", "--limit", &limit_of_block]))?;
        sends.extend(cold_sends(bench, &room, BLOCK)?);
    }
    // When each answer was written tells when its step was done; the first of a block waited for the sends.
    let times = times(&room.root().join(&run).join("archive"))?;
    if times.len() != STEPS {
        return Err(Without::Failed(format!("{} answers instead of {STEPS}", times.len())));
    }
    for block in times.chunks(BLOCK) {
        steps.extend(block.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1000.0));
    }
    Ok(rows_of("through `dispatch`", place.kind, &steps, &sends, limits))
}

/// When the files of a directory were written, in nanoseconds, in order.
fn times(dir: &Path) -> Result<Vec<i64>, String> {
    let told = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut times = vec![];
    for entry in fs::read_dir(dir).map_err(told)? {
        let meta = entry.and_then(|entry| entry.metadata()).map_err(told)?;
        times.push(meta.mtime() * 1_000_000_000 + meta.mtime_nsec());
    }
    times.sort_unstable();
    Ok(times)
}

fn cold_sends(bench: &Bench, room: &Room<'_>, count: usize) -> Result<Vec<f64>, String> {
    let one = |_| bench.programs.time(send_command(room, "bob"), DONE).map(microseconds);
    let sends = (0..count).map(one).collect();
    room.sweep("bob")?;
    sends
}

fn chain() -> String {
    let step = |n: usize| {
        let needs = if n == 0 { String::new() } else { format!(", needs: s{}", n - 1) };
        format!("  s{n}: {{agent: worker{needs}, prompt: step {n}}}\n")
    };
    format!("steps:\n{}", (0..STEPS).map(step).collect::<String>())
}
