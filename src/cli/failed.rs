//! `postroom failed`: dead letters and parked messages.

use clap::{Args, Subcommand};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, CYAN, Output, PLAIN, RED};
use super::shown::Shown;
use crate::dispatch::parked::Parked;
use crate::dispatch::runs::Runs;
use crate::hint::Hint;
use crate::mailbox::Folder;
use crate::message::{file_name, visible};
use crate::post::{DeadLetter, Me, Post};
use crate::view::claim as view;

/// Show dead letters and parked messages, and retry them
///
/// A dead letter was given up. A parked message waits for a person: it was stopped, or its thread reached a limit.
#[derive(Debug, Args)]
pub(super) struct Failed {
    /// Without one: list
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// One line each: ID, attempts or `parked`, reason, subject; of the whole room with the mailbox first
    ///
    /// A command without an identity shows the whole room.
    List {
        /// Those of this agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Those of every mailbox of the room
        #[arg(long, conflicts_with = "agent")]
        all: bool,
    },
    /// A dead letter with all its attempts
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Make them unread again, with a new count of attempts; only a person releases parked messages
    Retry(Retry),
}

#[derive(Debug, Args)]
struct Retry {
    #[arg(required_unless_present_any = ["all", "agent", "reason"], conflicts_with_all = ["all", "reason"], value_name = "ID")]
    ids: Vec<String>,
    /// Those of every mailbox of the room
    #[arg(long, conflicts_with = "agent")]
    all: bool,
    /// Those of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Those whose reason contains this text; in every mailbox, unless an agent is named
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// What a mailbox has that can be retried.
struct Retriable {
    me: Me,
    letters: Vec<DeadLetter>,
    parked: Vec<Parked>,
}

impl Retriable {
    fn of(post: &Post, me: Me) -> Result<Self, Fail> {
        let letters = post.dead_letters(&me)?;
        let parked = parked_of(post, &me)?;
        Ok(Self { me, letters, parked })
    }

    fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.parked.is_empty()
    }

    /// One line each, with the name of the mailbox if several are shown.
    fn show(&self, context: &mut Context, post: &Post, mailbox: Option<&str>) -> Result<(), Fail> {
        self.letters.iter().for_each(|letter| show(&mut context.output, mailbox, letter));
        for parked in &self.parked {
            let subject = post.open_in(&self.me, &parked.file, Folder::Inbox)?.message.envelope.subject;
            let words = ["parked".to_owned(), "parked".to_owned()];
            entry(&mut context.output, mailbox, called(&parked.file), words, (&parked.why, &subject));
        }
        Ok(())
    }
}

/// The parked messages of a mailbox. One that is no longer unread is forgotten.
fn parked_of(post: &Post, me: &Me) -> Result<Vec<Parked>, Fail> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(vec![]) };
    let mut parked = runs.parked()?;
    parked.retain(|parked| parked.mailbox == me.id.as_str());
    if parked.is_empty() {
        return Ok(parked);
    }
    let unread = post.unread_files(me)?;
    let (parked, gone): (Vec<_>, Vec<_>) = parked.into_iter().partition(|one| unread.contains(&one.file));
    for one in gone {
        // A run may hold it just now.
        if !matches!(post.lies_in(me, &one.file)?, Some(Folder::Claimed(_))) {
            runs.forget_parked(&one.mailbox, &one.file)?;
        }
    }
    Ok(parked)
}

impl Retry {
    /// The mailboxes that are meant, and what is meant there.
    fn chosen(&self, context: &mut Context) -> Result<(&'static Post, Vec<Retriable>), Fail> {
        let has = |why: &str| self.reason.as_deref().is_none_or(|text| why.contains(text));
        let (post, mailboxes) = match &self.agent {
            Some(name) => {
                let post = context.post()?;
                (post, vec![post.other(&post.addressee(name)?)?])
            }
            None if self.ids.is_empty() => {
                let post = context.post()?;
                let ids = post.registry()?.entries.iter().map(|entry| &entry.id);
                let mut mailboxes = vec![];
                for id in ids.filter(|id| !post.is_persons(id)) {
                    mailboxes.push(post.other(id)?);
                }
                (post, mailboxes)
            }
            None => {
                let (post, me) = context.post_and_me()?;
                (post, vec![me])
            }
        };
        let mut chosen = vec![];
        for me in mailboxes {
            let mut all = Retriable::of(post, me)?;
            if !self.ids.is_empty() {
                self.choose_by_id(post, &mut all)?;
            }
            all.letters.retain(|letter| has(letter.reason()));
            all.parked.retain(|parked| has(&parked.why));
            chosen.push(all);
        }
        Ok((post, chosen))
    }

    /// Keeps what the ids name, and fails if one names nothing.
    fn choose_by_id(&self, post: &Post, all: &mut Retriable) -> Result<(), Fail> {
        let mut names = vec![];
        for id in &self.ids {
            let parked = match post.open_in(&all.me, id, Folder::Inbox) {
                Ok(found) => all.parked.iter().any(|parked| parked.file == found.name).then_some(found.name),
                Err(_) => None,
            };
            match parked {
                Some(name) => names.push(name),
                None => names.push(post.open_in(&all.me, id, Folder::Failed)?.name),
            }
        }
        all.letters.retain(|letter| names.contains(&letter.name));
        all.parked.retain(|parked| names.contains(&parked.file));
        Ok(())
    }

    fn run(&self, context: &mut Context) -> Result<(), Fail> {
        let (post, chosen) = self.chosen(context)?;
        if chosen.iter().all(|one| one.letters.is_empty() && one.parked.is_empty()) {
            return Err(context.nothing("nothing to retry"));
        }
        if chosen.iter().any(|one| !one.parked.is_empty()) {
            // A limit that agents could lift would limit nobody.
            post.person("retry")?;
        }
        let (mut again, mut lines) = (vec![], vec![]);
        let runs = Runs::existing(post.room())?;
        for Retriable { me, letters, parked } in &chosen {
            for letter in letters {
                again.push(post.retry(me, &letter.name)?);
                lines.push(format!("unread again {}", called(&letter.name)));
                context.done = true;
            }
            for one in parked {
                if let Some(runs) = &runs {
                    runs.unpark(one)?;
                    runs.hurry(&one.mailbox, &one.file);
                }
                again.push(post.open_in(me, &one.file, Folder::Inbox)?.message.envelope.id.to_string());
                lines.push(format!("released {}", called(&one.file)));
                context.done = true;
            }
        }
        context.output.receipt(&view::FailedRetry { retried: again }, lines);
        Ok(())
    }
}

fn called(name: &str) -> String {
    visible::line(file_name::short(name).unwrap_or(name))
}

impl Verb for Failed {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        match self.what.unwrap_or(What::List { agent: None, all: false }) {
            What::List { agent: Some(name), .. } => {
                let post = context.post()?;
                let me = post.other(&post.addressee(&name)?)?;
                list(context, post, me)
            }
            What::List { agent: None, all } => {
                let (post, me) = context.post_and_maybe_me()?;
                match me.filter(|_| !all) {
                    Some(me) => list(context, post, me),
                    None => list_all(context, post),
                }
            }
            What::Show { id } => {
                let (post, me) = context.post_and_me()?;
                let opened = post.open_in(&me, &id, Folder::Failed)?;
                let attempts =
                    post.dead_letters(&me)?.into_iter().find(|l| l.name == opened.name).map(|l| l.attempts);
                let attempts = attempts.unwrap_or_default();
                if context.output.json {
                    context.output.json(&view::FailedShow::of(post, &opened, &attempts));
                    return Ok(());
                }
                let shown = Shown {
                    remark: Some("it is a dead letter".into()),
                    path: me.mailbox.path(Folder::Failed, &opened.name),
                    ..Shown::default()
                };
                let text = shown.text(context, post, &me.id, &opened);
                context.output.text(&text);
                for a in &attempts {
                    let owner = visible::line(post.name_of(&a.owner));
                    let line = format!(
                        "{} {owner} {} {}",
                        visible::line(&a.time),
                        visible::line(&a.how),
                        visible::line(&a.why)
                    );
                    context.output.line(line.trim_end());
                }
                Ok(())
            }
            What::Retry(retry) => retry.run(context),
        }
    }
}

fn list(context: &mut Context, post: &Post, me: Me) -> Result<(), Fail> {
    let all = Retriable::of(post, me)?;
    if context.output.json {
        context.output.json(&view::FailedList::of(&all.me, &all.letters, &all.parked));
    } else {
        all.show(context, post, None)?;
    }
    if all.is_empty() { Err(context.nothing("no dead letters")) } else { Ok(()) }
}

/// Those of every mailbox. One that cannot be read does not hide the others.
fn list_all(context: &mut Context, post: &Post) -> Result<(), Fail> {
    let (mut found, mut failed) = (vec![], None);
    for entry in &post.registry()?.entries {
        match post.other(&entry.id).map_err(Fail::from).and_then(|me| Retriable::of(post, me)) {
            Ok(all) => found.push(all),
            Err(e) => {
                let what = format!("what {} gave up cannot be read", visible::line(&entry.name));
                context.warn(&what, Hint::run(&["doctor"]));
                failed.get_or_insert(e);
            }
        }
    }
    found.retain(|all| !all.is_empty());
    if context.output.json {
        let documents = found.iter().map(|all| {
            let list = view::FailedList::of(&all.me, &all.letters, &all.parked);
            view::FailedIn { name: all.me.shown(), list }
        });
        context.output.json(&view::FailedListAll { mailboxes: documents.collect() });
    } else {
        for all in &found {
            all.show(context, post, Some(all.me.shown()))?;
        }
    }
    match (failed, found.is_empty()) {
        (Some(e), _) => Err(e),
        (None, true) => Err(context.nothing("no dead letters")),
        (None, false) => Ok(()),
    }
}

/// A dead letter, with the name of its mailbox if several are shown.
fn show(output: &mut Output, mailbox: Option<&str>, letter: &DeadLetter) {
    let unreadable = |why: &String| format!("(unreadable: {why})");
    let subject = letter.envelope.as_ref().map_or_else(unreadable, |e| e.subject.clone());
    let (tries, why) = (letter.tries, letter.reason());
    let words = [format!("attempts={tries}"), format!("{tries} attempts")];
    entry(output, mailbox, called(&letter.name), words, (why, &subject));
}

/// One line: the mailbox if several are shown, id, state for programs and for people, reason and subject.
fn entry(
    output: &mut Output,
    mailbox: Option<&str>,
    id: String,
    [word, words]: [String; 2],
    (why, subject): (&str, &str),
) {
    let name = mailbox.map(|name| format!("{} ", visible::word(name))).unwrap_or_default();
    let line = format!("{name}{id} {word} {}: {}", visible::line(why), visible::line(subject));
    let own = [(CYAN, id), (PLAIN, words), (RED, why.to_owned()), (PLAIN, subject.to_owned())];
    let cells: Vec<_> = mailbox.map(|name| (BOLD, name.to_owned())).into_iter().chain(own).collect();
    output.entry(&cells, &line);
}
