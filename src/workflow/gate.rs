//! Command gates: a command reads the result on standard input, and its exit code decides.
//!
//! Each gate has its own process, so nobody waits for it. The process holds the lock of its ask and writes its verdict
//! into the mailbox of the run. If it is killed, the lock is free: the next carrier ends what the gate had started, and
//! starts it again. No byte of a result gets onto the command line.

use std::ffi::OsString;
use std::process::Command;

use super::carrier::look_at;
use super::definition::Gate;
use super::engine::AskKind;
use super::mail;
use super::run_mail;
use super::runs::Runs;
use crate::message::visible;
use crate::name::{MailboxId, MessageId};
use crate::os::Supervisor;
use crate::post::{Post, Result};
use crate::process::child::{self, Next};
use crate::process::marked;
use crate::process::output::AgentOutput;
use crate::process::presets::Preset;

/// How many of its last lines are reported.
const TOLD: usize = 20;

/// Runs the gate for the ask `id` to its end. `false` if nobody waits for it, or another process runs it.
pub fn run(post: &Post, run: &str, id: &str, environment: Vec<(OsString, OsString)>) -> Result<bool> {
    let (Some(runs), Ok(id), Ok(mailbox)) =
        (Runs::existing(post.room())?, MessageId::parse_lenient(id), MailboxId::parse(run))
    else {
        return Ok(false);
    };
    marked::stand_alone();
    let Some(lock) = runs.gate(run, &id)? else { return Ok(false) };
    let (Some(record), engine) = (runs.record(run), look_at(post, &runs, run)?) else { return Ok(false) };
    let Some(ask) = engine.open().get(&id) else {
        runs.forget_gate(run, &id);
        return Ok(false);
    };
    let step = &engine.definition().steps[ask.step];
    let AskKind::Command { gate, text } = &ask.kind else { return Ok(false) };
    let Some(Gate::Command { command: words, timeout }) = step.gates.get(*gate) else { return Ok(false) };
    let mark = mark(&id);
    marked::end(&mark, Supervisor::Dead, || runs.gates(run));
    let (verdict, why) = match words.split_first() {
        None => (false, "it names no program".to_owned()),
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments).current_dir(&record.project).env_clear().envs(environment);
            command.env(marked::MARK, &mark).env("POSTROOM_WORKFLOW", run).env("POSTROOM_STEP", &step.name);
            let files = (runs.log_of_gate(run, &id, "out")?, runs.log_of_gate(run, &id, "err")?);
            let (prompt, preset, clock) = (text.clone().into_bytes(), Preset::of_text(), post.room().clock());
            let look = |group, _: &AgentOutput| {
                marked::note(&mark, group, || runs.gates(run));
                Next::GoOn
            };
            match child::run(&mut command, prompt, &preset, files, *timeout, clock, look) {
                Ok(ended) => {
                    let said = last(&format!("{}\n{}", ended.other_tail.trim(), ended.tail.trim()));
                    let how = match (ended.timed_out, ended.code, ended.signal) {
                        (true, ..) => format!("took longer than {}", crate::span::measured(*timeout)),
                        (_, Some(code), _) => format!("ended with {code}"),
                        (_, None, signal) => format!("was ended by signal {}", signal.unwrap_or(0)),
                    };
                    let good = !ended.timed_out && ended.code == Some(0);
                    (good, format!("the gate `{}` {how}\n\n{said}", visible::clip(&words.join(" "), 200)))
                }
                Err(e) => {
                    (false, format!("the gate `{}` cannot be started: {e}", visible::clip(program, 100)))
                }
            }
        }
    };
    marked::end(&mark, Supervisor::Me, || runs.gates(run));
    let me = post.other(&mailbox)?;
    let letter = mail::note(&format!("{}: gate", step.name), &id, why.trim(), !verdict);
    run_mail::note_to_self(post, &me, &letter, &MessageId::derived(format!("verdict {id}").as_bytes()))?;
    runs.forget_gate(run, &id);
    drop(lock);
    Ok(true)
}

/// Ends the command of a gate that nobody waits for. The gate's process then comes to a verdict by itself.
pub(super) fn end(runs: &Runs, run: &str, id: &MessageId) {
    if matches!(runs.gate(run, id), Ok(None)) {
        marked::end(&mark(id), Supervisor::Lives, || runs.gates(run));
    } else {
        runs.forget_gate(run, id);
    }
}

/// The mark that identifies the processes of a gate.
fn mark(id: &MessageId) -> String {
    format!("gate-{id}")
}

fn last(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(TOLD)..].join("\n")
}
