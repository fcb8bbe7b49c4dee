//! `postroom claude` and the other programs: one start with a mailbox, without an installation; `postroom 3 claude`.
//!
//! The command becomes the program (`exec`), so terminal, signals, job control and exit code are the program's own. What
//! it needs in its own directories is cleared away by the keeper, a process that sleeps until the program has ended.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;

use super::context::Context;
use super::fail::{self, Fail};
use super::output::note;
use super::surroundings::{self, ThisProcess};
use super::verbs::{Entry, Group};
use super::{FirstWord, Globals, find_verb, keeper, opened, own_program, scene, waker};
use crate::agents::codex_hooks;
use crate::agents::launch::{Asked, Kit, START, TYPE_INTO_TMUX, TYPES, Typed};
use crate::agents::ledger::Ledger;
use crate::agents::probe::Trust;
use crate::agents::programs::{self, Program, Wake};
use crate::agents::starts::{Start, Starts};
use crate::hint::Hint;
use crate::mailbox::Dir;
use crate::message::visible;
use crate::post::{self, Post, Prepared};
use crate::process::Process;
use crate::process::opener::{Extent, Opener};
use crate::surroundings::{Environment, HARNESS, MAILBOX, ROOT, state};

/// The most that are opened at once.
const MOST: usize = 20;

/// Start one here with a mailbox
///
/// In the room of this repository, and without installing anything: hooks, skill, permission for `postroom` and the MCP server
/// are for this start alone. All words that are not listed here go to the program, and its exit code is returned. `postroom 3
/// claude` opens three, in panes of tmux or zellij, or in windows. `claude --help` shows the program's own options.
#[derive(Debug, Args)]
#[allow(dead_code, reason = "only its help is used: the words of the program are not for our parser")]
struct Launched {
    /// What this agent can do, shown by `names`
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// With --as NAME: go on with the last conversation of that mailbox
    #[arg(long)]
    resume: bool,
    /// Gemini in tmux only: type one fixed line to wake it, when it is idle and its input is empty
    #[arg(long)]
    type_into_tmux: bool,
    /// For the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    words: Vec<OsString>,
}

/// The table row of a program.
pub(super) const fn entry(name: &'static str) -> Entry {
    Entry { name, group: Group::Start, is_common: true, command: super::command::<Launched>, run }
}

fn run(entry: &Entry, _: Vec<OsString>) -> ExitCode {
    let words = surroundings::arguments();
    // The words behind the verb are the program's, and only those before it are surely ours.
    let FirstWord::Verb(at) = find_verb(&words) else { return ExitCode::SUCCESS };
    if let [only] = &words[at + 1..]
        && (only == "--help" || only == "-h")
    {
        return super::help(&["postroom".into(), entry.name.into()]);
    }
    with(&words[1..at], &words[at + 1..], |context, typed| match programs::find(entry.name) {
        Some(program) => launch(context, program, typed).map(|never| match never {}),
        None => Err(Fail::usage(format!("there is no program `{}`", entry.name), "see `postroom help all`")),
    })
}

/// `postroom 3 claude`: `None` unless the first word is a number.
pub(super) fn run_several(words: &[OsString], at: usize) -> Option<ExitCode> {
    let count: usize = words.get(at)?.to_str()?.parse().ok()?;
    let word = words.get(at + 1).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let rest = words.get(at + 2..).unwrap_or_default();
    Some(with(&words[1..at], rest, |context, typed| {
        let program = super::install::program(&word)?;
        match count {
            1..=MOST => several(context, program, typed, count),
            _ => Err(Fail::usage(format!("{count} of them are not opened at once"), format!("1 to {MOST}"))),
        }
    }))
}

/// Splits the words, and runs a command in the context that they give.
fn with(
    before: &[OsString],
    rest: &[OsString],
    command: impl FnOnce(&mut Context, &Typed) -> Result<(), Fail>,
) -> ExitCode {
    let given = Globals::in_words(before);
    let acting = given.acting.clone().into_iter().flat_map(|name| ["--as".into(), name.into()]);
    let (typed, globals) = match Typed::split(acting.chain(rest.iter().cloned())) {
        Err(option) => (Err(option), given),
        Ok(typed) => {
            let globals = Globals {
                root: typed.root.clone().map(Into::into).or(given.root),
                room: typed.room.clone().or(given.room),
                acting: typed.acting.clone(),
                json: false,
                quiet: before.iter().any(|word| word == "-q" || word == "--quiet"),
            };
            (Ok(typed), globals)
        }
    };
    let mut context = Context::new(&globals);
    let result = match typed {
        Ok(typed) => command(&mut context, &typed),
        Err(option) => Err(Fail::usage(format!("{option} lacks its value"), format!("{option} VALUE"))),
    };
    fail::finish(result, &mut context)
}

/// Nothing comes back from a program that was started.
enum Never {}

fn launch(context: &mut Context, program: &'static Program, typed: &Typed) -> Result<Never, Fail> {
    let file = file_of(program)?;
    if !typed.is_session(program) {
        return become_program(Command::new(file).args(&typed.words));
    }
    must_be_person(context)?;
    may_be_typed_for(program, typed)?;
    let post = context.post_or_new()?;
    if let Some(name) = typed.acting.as_ref().filter(|_| typed.resumes) {
        // A mailbox without a past is not made for that.
        post.addressee(name)?;
    }
    let starts = Starts::open(&state(&ThisProcess)?)?;
    let lock = starts.lock()?;
    if let Err(e) = starts.sweep() {
        note(&format!("postroom: what an earlier start left could not be cleared away: {e}"));
    }
    // A session that goes on in the program's own way has its mailbox already, or may set one up.
    let is_own = typed.acting.is_none() && typed.goes_on(program);
    let prepared = if is_own { None } else { Some(prepare(post, &starts, context, typed, program)?) };
    let session = match &prepared {
        Some(prepared) if typed.resumes => Some(post.last_session(prepared, program.word)?.id),
        _ => None,
    };
    let process = Process::of(u64::from(std::process::id())).unwrap_or_default();
    let mailbox = prepared.as_ref().map(|prepared| prepared.id.to_string());
    let start = Start { v: 1, program: program.word.to_owned(), root: context.root.clone(), mailbox };
    let mut site = scene::site_of_start(context, program, &file)?;
    site.start = Some(starts.begin(process, &start)?);
    for root in &site.roots {
        // A sandbox cannot open what is not there.
        Dir::make(root)?;
    }
    let installed = is_installed(program)?;
    let kit = Kit { program, site: &site, installed, has_skill: site.has_skill(program) };
    let asked = if kit.brings_hooks_by_words() { ask(context, &kit, &file) } else { Asked::default() };
    let (own, others) = kit.files();
    let refused = starts.equip(process, &own, &others)?;
    if let Some(why) = &refused {
        note(&format!("postroom: {why}, so {} starts without what would be there", program.title));
    }
    let not_json =
        |(name, why)| Fail::refused(format!("the variable {name}: {why}"), "correct it, or unset it");
    let present = |name: &str| ThisProcess.variable(name)?.into_string().ok();
    let variables = kit.variables(present).map_err(not_json)?;
    if !others.is_empty() && refused.is_none() {
        keeper::start(process);
    }
    drop(lock);
    prepared.iter().for_each(|prepared| post.mark_started(prepared));
    if session.is_some() || typed.goes_on(program) {
        waker::stay_if_resumed(program, process);
    }
    tell(context, program, prepared.as_ref());
    let mut command = Command::new(&file);
    command.args(kit.words(typed, &asked, session.as_deref())).envs(variables);
    settle(&mut command, context, program, prepared.as_ref(), process);
    match typed.types {
        true => command.env(TYPES, "1"),
        false => command.env_remove(TYPES),
    };
    become_program(&mut command)
}

fn file_of(program: &Program) -> Result<PathBuf, Fail> {
    surroundings::on_path(program.word).ok_or_else(|| {
        let why = format!("{} is not installed: no `{}` on the search path", program.title, program.word);
        Fail::unknown(why, "install it first")
    })
}

fn must_be_person(context: &Context) -> Result<(), Fail> {
    if !context.surroundings.by_agent {
        return Ok(());
    }
    let why = "this is the session of an agent, which has its terminal for itself";
    let spawn = Hint::run(&["help", "spawn"]);
    Err(Fail::refused(why, spawn.to("how to open another agent beside it")))
}

/// Refuses to allow typing for a program that has a way of its own to be woken.
fn may_be_typed_for(program: &Program, typed: &Typed) -> Result<(), Fail> {
    match typed.types && program.wake != Wake::Typed {
        true => Err(needless(program)),
        false => Ok(()),
    }
}

/// The error for a program that needs no typing.
pub(super) fn needless(program: &Program) -> Fail {
    Fail::usage(format!("{} is woken without typing", program.title), format!("leave out {TYPE_INTO_TMUX}"))
}

fn prepare(
    post: &Post,
    starts: &Starts,
    context: &Context,
    typed: &Typed,
    program: &Program,
) -> Result<Prepared, Fail> {
    let prepared = post.prepare(typed.acting.as_deref(), typed.about.as_deref(), program.word);
    let prepared = prepared.map_err(|e| without_others(e, typed))?;
    match starts.running(&context.root, prepared.id.as_str())? {
        Some(_) => Err(without_others(post.in_session(&prepared.name), typed).into()),
        None => Ok(prepared),
    }
}

/// Another mailbox has no conversation that could be resumed.
fn without_others(e: post::Error, typed: &Typed) -> post::Error {
    match e {
        post::Error::InSession { name, .. } if typed.resumes => {
            post::Error::InSession { name, suggestions: vec![] }
        }
        e => e,
    }
}

/// Whether `postroom install` has set the program up for this user, and all of it is there.
fn is_installed(program: &Program) -> Result<bool, Fail> {
    let ledger = Ledger::look(&state(&ThisProcess)?)?;
    Ok(ledger.map_or(Ok(false), |ledger| ledger.is_in_place(program.word))?)
}

/// The settings of the program, and the hooks for a command line with the trust in them; the person hears about it. No hooks
/// if the installed ones are trusted, or if the program does not say how it sees ours.
fn ask(context: &Context, kit: &Kit<'_>, file: &Path) -> Asked {
    let here = ThisProcess.here().unwrap_or_else(|_| "/".into());
    if kit.installed && codex_hooks::trust(file, &here) == Trust::Trusted {
        return Asked::default();
    }
    let words = kit.hook_words();
    let settings: Vec<&str> = words.iter().map(String::as_str).collect();
    let title = kit.program.title;
    let seen = match codex_hooks::seen(file, &settings, &here) {
        Ok(seen) => seen,
        Err(why) => {
            note(&format!(
                "postroom: {title} does not list its hooks ({why}), so it hears of mail only when it looks"
            ));
            return Asked::default();
        }
    };
    let Some(trust) = kit.trust(&seen.hooks) else {
        note(&format!("postroom: {title} does not take the hooks, so it hears of mail only when it looks"));
        return Asked { hooks: vec![], settings: seen.settings };
    };
    if !context.output.quiet {
        let word = kit.program.word;
        note(&format!(
            "postroom: for this start, {title} trusts the hooks `postroom hook {word} …` and no others"
        ));
    }
    Asked { hooks: words.into_iter().chain(trust).collect(), settings: seen.settings }
}

/// One line for the person, who would not know the name otherwise. The program's output stays its own.
fn tell(context: &Context, program: &Program, prepared: Option<&Prepared>) {
    // The first line of a session: the name of the room is enough, and its directory is in `whoami`.
    let room = context.room.clone().unwrap_or_else(|| context.root.display().to_string());
    let line = match prepared {
        _ if context.output.quiet => return,
        None => format!("postroom: {} keeps the mailbox of its session, room {room}", program.title),
        Some(prepared) => {
            let unread = prepared.unread.filter(|unread| *unread > 0);
            let unread = unread.map(|unread| format!(", {unread} unread")).unwrap_or_default();
            format!("postroom: {} is {}, room {room}{unread}", program.title, visible::line(&prepared.name))
        }
    };
    note(&line);
}

/// The environment of the program: its mailbox, and nothing of an agent around us.
fn settle(
    command: &mut Command,
    context: &Context,
    program: &Program,
    prepared: Option<&Prepared>,
    process: Process,
) {
    for name in opened::others_variables() {
        command.env_remove(name);
    }
    command.env(ROOT, &context.root).env(HARNESS, program.word).env(START, process.pid.to_string());
    match prepared {
        Some(prepared) => command.env(MAILBOX, prepared.id.as_str()),
        None => command.env_remove(MAILBOX),
    };
    // Agents call it by its name.
    let own = surroundings::own_path().ok().flatten();
    let own = own.filter(|_| !own_program::is_on_path()).and_then(|own| own.parent().map(Path::to_owned));
    let path = ThisProcess.variable("PATH").unwrap_or_default();
    let path = own.and_then(|own| std::env::join_paths(std::env::split_paths(&path).chain([own])).ok());
    path.map(|path| command.env("PATH", path));
}

fn become_program(command: &mut Command) -> Result<Never, Fail> {
    let e = command.exec();
    let file = command.get_program().to_string_lossy().into_owned();
    Err(Fail::not_done(format!("{file} could not be started: {e}"), "try to start it by itself"))
}

/// Opens several in panes or windows, or prints their commands.
fn several(
    context: &mut Context,
    program: &'static Program,
    typed: &Typed,
    count: usize,
) -> Result<(), Fail> {
    file_of(program)?;
    must_be_person(context)?;
    may_be_typed_for(program, typed)?;
    context.post_or_new()?;
    let mut names = vec![];
    for number in 1..=count {
        let name = typed.acting.as_ref().map(|name| format!("{name}-{number}"));
        // Only a room that is opened now knows the names that were made before.
        let prepared = context.post()?.prepare(name.as_deref(), typed.about.as_deref(), program.word)?;
        names.push(prepared.name);
    }
    let ours = [(typed.resumes, "--resume"), (typed.types, TYPE_INTO_TMUX)];
    let ours = ours.into_iter().filter(|(given, _)| *given).map(|(_, option)| option.to_owned());
    let words = typed.words.iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = ours.chain(words).collect();
    let opener = opened::opener();
    if let Err(why) = &opener {
        note(&format!("postroom: {why}; these commands start them:"));
    }
    for name in &names {
        let line = opened::line_of(context, program, name, &words);
        let opened = opener.clone().and_then(|opener| opened::open(opener, Extent::Pane, name, &line));
        match (opened, &opener) {
            (Ok(noun), _) => context.output.line(&format!("opened {noun} {}", visible::line(name))),
            (Err(why), opener) => {
                if opener.is_ok() {
                    note(&format!("postroom: no pane for {}: {why}", visible::line(name)));
                }
                context.output.line(&opened::pasted(&line));
            }
        }
    }
    opener.into_iter().for_each(Opener::arrange);
    Ok(())
}
