//! Runs: the newest, the transcript of one, and what one changed.

use crate::dispatch::chosen::RunFilter;
use crate::dispatch::run_reader::RunReader;
use crate::dispatch::runs::{Run, Runs};
use crate::dispatch::worktree::changes;
use crate::message::visible;
use crate::post::{Error, Post, Result};
use crate::process::transcript::{CallOutcome, Event, about};
use crate::tui::seen::{DiffSeen, Part, RunSeen};

/// How much of what a program wrote to its errors is read, of the output of a tool is shown, and of a transcript.
const ERRORS: u64 = 64 * 1024;
const PART: usize = 4000;
const PARTS: usize = 600;

/// The newest first.
pub(super) fn list(post: &Post, agent: Option<&str>, limit: usize) -> Result<Vec<Run>> {
    let filter =
        RunFilter { agent: agent.map(str::to_owned), failed: false, since: None, before: None, limit };
    let Some(runs) = Runs::existing(post.room())? else { return Ok(vec![]) };
    let mut found = runs.chosen(&filter)?;
    found.reverse();
    Ok(found)
}

/// The run of this id. The id is no path: only that of a run which is there is used as one.
fn find(post: &Post, id: &str) -> Result<(Runs, Run)> {
    let unknown = || Error::Failing { why: format!("there is no run {}", visible::clip(id, 80)) };
    let runs = Runs::existing(post.room())?.ok_or_else(unknown)?;
    let known = runs.ids()?.into_iter().find(|known| known == id).ok_or_else(unknown)?;
    let run = runs.seen(&known)?.ok_or_else(unknown)?;
    Ok((runs, run))
}

pub(super) fn one(post: &Post, id: &str) -> Result<RunSeen> {
    let (runs, run) = find(post, id)?;
    let mut reader = RunReader::of(&run);
    let piece = reader.next(&runs)?;
    let mut events = piece.events;
    if !piece.has_ended {
        events.extend(reader.end());
    }
    let (model, mut parts) = parts(&events);
    // The end of a long transcript is what matters.
    if parts.len() > PARTS {
        let left_out = parts.len() - PARTS;
        parts.drain(..left_out);
        parts.insert(0, Part::LeftOut(left_out));
    }
    let errors = runs.errors(&run.id, ERRORS)?;
    let (flow, fault) = match flow_of(post, &run) {
        Ok(flow) => (flow, None),
        Err(e) => (None, Some(format!("its workflow cannot be read: {e}"))),
    };
    Ok(RunSeen {
        run: piece.run,
        flow,
        fault,
        model,
        parts,
        errors: clip(&String::from_utf8_lossy(&errors)),
        skipped: reader.skipped(),
    })
}

/// The workflow run that its message belongs to.
fn flow_of(post: &Post, run: &Run) -> Result<Option<String>> {
    match post.locate(None, &run.message) {
        Ok((_, copies)) => {
            let first = copies.first().and_then(|copy| copy.header.envelope.extra("workflow"));
            Ok(first.map(str::to_owned))
        }
        // It was pruned.
        Err(Error::NoMessage { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The model, and what happened; a call and its end are one part.
fn parts(events: &[Event]) -> (String, Vec<Part>) {
    let (mut known, mut parts, mut last) = (String::new(), vec![], "");
    for event in events {
        match event {
            Event::Began { model, .. } => known = model.clone().unwrap_or(known),
            Event::Said { text } => {
                last = text;
                parts.push(Part::Said(text.clone()));
            }
            Event::Thought { text } => parts.push(Part::Thought(clip(text))),
            Event::Called { call, tool, input } => parts.push(Part::Called {
                call: call.clone(),
                tool: visible::line(tool),
                about: visible::clip(&about(input), 400),
                end: None,
            }),
            Event::Returned { call: ended, outcome, output, tool } => {
                let word = match outcome {
                    CallOutcome::Done => "ok",
                    CallOutcome::Failed => "failed",
                    CallOutcome::Denied => "denied",
                };
                let now = Some((word, clip(output)));
                let open = parts.iter_mut().rev().find_map(|part| match part {
                    Part::Called { call, end: end @ None, .. } if call == ended => Some(end),
                    _ => None,
                });
                match open {
                    Some(end) => *end = now,
                    None => parts.push(Part::Called {
                        call: ended.clone(),
                        tool: visible::line(tool),
                        about: String::new(),
                        end: now,
                    }),
                }
            }
            Event::Remarked { text } => parts.push(Part::Remarked(clip(text))),
            Event::Ended { is_ok: true, text } => {
                let news = text.as_deref().filter(|text| text.trim() != last.trim());
                parts.extend(news.map(|text| Part::Said(text.to_owned())));
            }
            Event::Ended { is_ok: false, text } => {
                parts.push(Part::Ended(clip(text.as_deref().unwrap_or("no reason is given"))));
            }
        }
    }
    (known, parts)
}

fn clip(text: &str) -> String {
    visible::beginning(text, PART)
}

pub(super) fn diff(post: &Post, id: &str) -> Result<DiffSeen> {
    let run = find(post, id)?.1;
    let worktree = run.worktree.unwrap_or_default();
    let (changed, wrong) = match changes(post, &worktree) {
        Ok(changed) => (changed, None),
        Err(why) => (None, Some(why)),
    };
    let (text, is_cut) = changed.unwrap_or_default();
    let size = worktree.size();
    Ok(DiffSeen { branch: worktree.branch, path: worktree.path, size, text, is_cut, wrong })
}
