//! Telling the person what happened: the `[notify]` of the person's own settings, the process that tells, and its
//! command. The command gets the facts on standard input. Its command line has no byte of a message.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;

use super::Verb;
use super::context::Context;
use super::dispatch::detached;
use super::fail::Fail;
use super::output::note;
use super::surroundings::ThisProcess;
use crate::clock::{Clock, SystemClock};
use crate::dispatch::runs::{Run, Runs};
use crate::journal::Event;
use crate::mailbox::{Dir, IfAny};
use crate::message::visible;
use crate::notify::{News, Notifier};
use crate::post::Post;
use crate::process::child::{self, Next};
use crate::process::presets::Preset;
use crate::settings::personal::{Notify, NotifyEvent, NotifyPreset, Personal};
use crate::settings::{FILE, LARGEST};
use crate::surroundings::{Environment, config};
use crate::view::Versioned;
use crate::view::notify::Notice;

/// How the person is told about one room.
#[derive(Debug)]
pub(super) struct Teller {
    root: PathBuf,
    room: Option<String>,
    events: Vec<NotifyEvent>,
}

impl Teller {
    /// `None` if the person wants to be told nothing.
    pub(super) fn of(context: &Context) -> Option<Self> {
        let notify = settings().unwrap_or_else(|why| {
            // Mail goes on without it.
            note(&format!("postroom: you are not told what happens: {}", visible::text(&why)));
            None
        });
        Some(Self::new(context, notify?))
    }

    fn new(context: &Context, notify: Notify) -> Self {
        Self { root: context.root.clone(), room: context.room.clone(), events: notify.events }
    }

    fn notifier(&self) -> Notifier {
        Notifier::new(&self.events)
    }

    pub(super) fn events(&self) -> Vec<NotifyEvent> {
        self.events.clone()
    }

    /// Tells that a run ended, if its message was given up.
    pub(super) fn ended(&self, post: &Post, run: &Run) {
        if let Ok(Some(news)) = self.notifier().ended(post, run) {
            self.tell(&news);
        }
    }

    /// Tells of dispatchers that died.
    pub(super) fn dead(&self, post: &Post) {
        let dead = || self.notifier().dead(&Runs::existing(post.room()).ok()??).ok()?;
        if let Some(news) = dead() {
            self.tell(&news);
        }
    }

    /// Starts a process that tells the person, and does not wait for it.
    pub(super) fn tell(&self, news: &News) {
        let root = self.root.display().to_string();
        let notice = Notice::of(news, self.room.as_deref(), root, SystemClock.now().to_string());
        let mut line = serde_json::to_vec(&Versioned::of(notice)).unwrap_or_default();
        line.push(b'\n');
        let started = detached(&self.root, &["tell-person"]).and_then(|mut command| {
            let mut child = command.stdin(Stdio::piped()).spawn()?;
            // A notice is shorter than what a pipe takes without a reader.
            let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(&line));
            std::thread::spawn(move || child.wait());
            written
        });
        if let Err(e) = started {
            note(&format!("postroom: the person cannot be told: {e}"));
        }
    }
}

/// Looks for dead dispatchers, for commands that are no dispatcher.
pub(super) fn look_for_dead(context: &Context, post: &Post) {
    // Wrong settings are reported where something would be told.
    if let Ok(Some(notify)) = settings() {
        Teller::new(context, notify).dead(post);
    }
}

/// The `[notify]` of the person's own settings.
fn settings() -> Result<Option<Notify>, String> {
    let Ok(directory) = config(&ThisProcess) else { return Ok(None) };
    let path = directory.join(FILE);
    let read = || Dir::look(&directory)?.read(FILE, LARGEST);
    let Some(bytes) = read().if_any().map_err(|e| e.to_string())?.flatten() else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Personal::parse(&text, &path.display().to_string()).map_err(|e| e.to_string())?.notify)
}

/// Tell the person what standard input says (started by a dispatcher)
#[derive(Debug, Args)]
pub(super) struct TellPerson {}

/// The parts of a notice that decide what a preset says.
#[derive(serde::Deserialize)]
struct Heading {
    event: String,
    count: usize,
}

impl Verb for TellPerson {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let unread = |e: std::io::Error| Fail::not_done(e.to_string(), "give the notice on standard input");
        let mut notice = vec![];
        std::io::stdin().take(1024 * 1024).read_to_end(&mut notice).map_err(unread)?;
        let post = context.post()?;
        let told = match settings() {
            Ok(None) => return Ok(()),
            Ok(Some(notify)) => tell(context, &notify, notice),
            Err(why) => Err(why),
        };
        if let Err(why) = told {
            post.record(Event { note: why, ..Event::new("notify-failed", "") });
        }
        Ok(())
    }
}

fn tell(context: &Context, notify: &Notify, notice: Vec<u8>) -> Result<(), String> {
    let words: Vec<String> = match notify.preset {
        None => notify.command.clone(),
        Some(NotifyPreset::Bell) => return ring(),
        Some(NotifyPreset::NotifySend) => {
            let heading: Heading = serde_json::from_slice(&notice).map_err(|e| e.to_string())?;
            let room = context.room.as_deref().map_or_else(String::new, |room| format!(" ({room})"));
            let words =
                ["notify-send", "--app-name=postroom", "--", &format!("Postroom{room}"), &said(&heading)];
            words.map(str::to_owned).to_vec()
        }
    };
    let Some((program, arguments)) = words.split_first() else {
        return Err("it names no program".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let shown = visible::clip(program, 100);
    let files = (nowhere()?, nowhere()?);
    let (preset, limit) = (Preset::of_text(), notify.time_limit);
    let ended = child::run(&mut command, notice, &preset, files, limit, &SystemClock, |_, _| Next::GoOn)
        .map_err(|e| format!("`{shown}` cannot be started: {e}"))?;
    let said = visible::clip(&visible::line(ended.tail.trim()), 300);
    match (ended.timed_out, ended.code) {
        (false, Some(0)) => Ok(()),
        (true, _) => Err(format!("`{shown}` took longer than {}", crate::span::measured(limit))),
        (_, Some(code)) => Err(format!("`{shown}` ended with {code}: {said}")),
        (_, None) => Err(format!("`{shown}` was killed")),
    }
}

/// The sentence of a preset: a kind and a number, nothing of a message.
fn said(heading: &Heading) -> String {
    let (count, many) = (heading.count, heading.count != 1);
    match heading.event.as_str() {
        "mail" => format!("{count} new message{} for you", if many { "s" } else { "" }),
        "gate" if many => format!("{count} runs wait for your approval"),
        "gate" => "a run waits for your approval".to_owned(),
        "failed" => format!("{count} message{} failed", if many { "s" } else { "" }),
        "parked" => format!("{count} message{} for you", if many { "s wait" } else { " waits" }),
        "workflow" => format!("{count} workflow run{} failed", if many { "s" } else { "" }),
        "paused" => format!("{count} agent{} paused", if many { "s are" } else { " is" }),
        _ => "a dispatcher ended without being stopped".to_owned(),
    }
}

/// Rings the bell of the terminal from which this process was started.
#[allow(clippy::disallowed_methods, reason = "a terminal is on no disk")]
fn ring() -> Result<(), String> {
    let terminal = File::options().write(true).open("/dev/tty");
    let rung = terminal.and_then(|mut terminal| terminal.write_all(b"\x07"));
    rung.map_err(|e| format!("there is no terminal whose bell could ring: {e}"))
}

#[allow(clippy::disallowed_methods, reason = "what is written to /dev/null is on no disk")]
fn nowhere() -> Result<File, String> {
    File::options().write(true).open("/dev/null").map_err(|e| format!("/dev/null: {e}"))
}

/// The directory in which this dispatcher works, for its mark.
pub(super) fn here() -> String {
    ThisProcess.here().map(|here| here.display().to_string()).unwrap_or_default()
}
