//! `postroom status`: the overview of a room, or of all rooms.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::context::Context;
use super::drawing::Drawing;
use super::everywhere::{everywhere, tell_failed};
use super::fail::Fail;
use super::output::{can_redraw, note};
use super::status_shown::{self, Shown};
use super::surroundings::ThisProcess;
use super::{Verb, staff};
#[cfg(feature = "web")]
use crate::mailbox::Dir;
use crate::message::visible;
use crate::overview::{self, Overview};
use crate::post::{Error, Failure, Looked, Post, There};
use crate::staff::{Staff, gather};
use crate::surroundings::{Elsewhere, rooms};
use crate::trust::Store;
use crate::view::status::{Status, StatusAll};
use crate::wait::Watch;

/// The longest sleep between two looks, while agents work and while they do not.
const BUSY: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(5);

/// Show what runs, what waits and for what, and what needs you
///
/// One line each: dispatchers, agents at work and what they do now, gates and mail for you, waiting mail with the reason and
/// the time, workflows, dead letters, paused agents, and the cost within a day. Changes nothing.
#[derive(Debug, Args)]
pub(super) struct StatusOf {
    /// Go on: show every change, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// All rooms of this machine
    #[arg(long, conflicts_with_all = ["root", "room"])]
    all: bool,
    /// Write board, flow and numbers of the last day into one HTML file, which needs nothing else
    #[cfg(feature = "web")]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["watch", "all"])]
    html: Option<PathBuf>,
}

/// What was seen at one look.
enum Seen {
    Room(Box<Overview>),
    All(Looked<Overview>),
}

impl Seen {
    fn overviews(&self) -> impl Iterator<Item = &Overview> {
        let (one, all) = match self {
            Self::Room(overview) => (Some(&**overview), &[][..]),
            Self::All(looked) => (None, looked.found.as_slice()),
        };
        one.into_iter().chain(all.iter().map(|there| &there.what))
    }

    fn failed(&self) -> &[There<Error>] {
        match self {
            Self::Room(_) => &[],
            Self::All(looked) => &looked.failed,
        }
    }

    /// Whether nothing differs but the time.
    fn is_like(&self, other: &Self) -> bool {
        let (mut own, mut theirs) = (self.overviews(), other.overviews());
        let same = own.by_ref().zip(theirs.by_ref()).all(|(one, other)| one.is_like(other));
        let failed = |seen: &Self| -> Vec<String> {
            seen.failed().iter().map(|there| format!("{} {}", there.room.shown(), there.what)).collect()
        };
        same && self.overviews().count() == other.overviews().count() && failed(self) == failed(other)
    }

    /// Reports what could not be read. `false` if all could.
    fn tell_faults(&self) -> bool {
        let faults: Vec<&String> = self.overviews().flat_map(|overview| &overview.faults).collect();
        faults.iter().for_each(|fault| note(&format!("postroom: {}", visible::line(fault))));
        tell_failed(self.failed());
        faults.is_empty() && self.failed().is_empty()
    }
}

impl Verb for StatusOf {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        #[cfg(feature = "web")]
        if let Some(file) = &self.html {
            context.must_not_write_in_session("--html", "a person runs it, in a terminal of their own")?;
            return picture(context, file);
        }
        if self.watch {
            return self.follow(context);
        }
        let (seen, _) = self.look(context)?;
        show(context, &seen, Shown::WithHints)?;
        context.output.flush().map_err(Fail::Output)?;
        if seen.tell_faults() { Ok(()) } else { Err(Fail::Code(Failure::NotDone)) }
    }
}

impl StatusOf {
    /// Looks once. Also returns the directories in which something may change.
    fn look(&self, context: &mut Context) -> Result<(Seen, Vec<PathBuf>), Fail> {
        let store = staff::store()?;
        if !self.all {
            let post = context.project_post()?;
            // The look before left its own view of the room.
            let post = post.again()?;
            let staff = gather(&ThisProcess, store, &post, |_| true);
            let overview = look_at(&post, staff, context.output.json)?;
            return Ok((Seen::Room(Box::new(overview)), overview::directories(&post)));
        }
        let with_cards = context.output.json;
        let directories = std::cell::RefCell::new(vec![]);
        let links = rooms(&ThisProcess)?.links().map_err(Error::from)?;
        let everywhere = everywhere(context)?;
        let looked = everywhere.look(|post| {
            let root = post.room().path();
            directories.borrow_mut().extend(overview::directories(&post));
            let is_its = |link: &&crate::rooms::Link| everywhere.rooms.dir().join(&link.room) == *root;
            // The settings of a room's agents are in its repository, around the directory of git.
            let repository = links.iter().find(is_its).and_then(|link| link.path.parent());
            one_of_all(&post, store.clone(), repository.unwrap_or(root), with_cards)
        })?;
        Ok((Seen::All(looked), directories.into_inner()))
    }

    /// Shows every change.
    fn follow(&self, context: &mut Context) -> Result<(), Fail> {
        let is_drawn = context.output.terminal && can_redraw();
        let mut drawing = Drawing::default();
        let mut last: Option<Seen> = None;
        loop {
            let (seen, directories) = self.look(context)?;
            let mut watch = Watch::on_changes(directories);
            let is_news = last.as_ref().is_none_or(|last| !last.is_like(&seen));
            if is_news {
                drawing.clear();
                seen.tell_faults();
            }
            if is_drawn {
                let output = &context.output;
                let lines =
                    status_shown::fitted(context, &rooms_of(context, &seen), output.height(), output.width());
                drawing.draw(lines);
            } else if is_news {
                if last.is_some() && !context.output.json {
                    context.output.line("");
                }
                show(context, &seen, Shown::Alone)?;
                context.output.flush().map_err(Fail::Output)?;
            }
            let is_busy = seen.overviews().any(|overview| !overview.running.is_empty());
            last = Some(seen);
            watch.sleep(if is_busy { BUSY } else { IDLE });
        }
    }
}

/// Writes a picture of the room.
#[cfg(feature = "web")]
fn picture(context: &mut Context, file: &Path) -> Result<(), Fail> {
    context.project_post()?;
    let located = context.locate()?;
    let text = crate::web::picture(super::desk::desk(context, located, None)?)?;
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let (Some(above), Some(name)) = (whole.parent(), whole.file_name().and_then(|name| name.to_str())) else {
        return Err(Fail::usage(
            format!("{} does not end with the name of a file", file.display()),
            "--html status.html",
        ));
    };
    // Links in the path are the person's own.
    let above = above.canonicalize().unwrap_or_else(|_| above.to_owned());
    Dir::outside(&above)?.replace(name, text.as_bytes())?;
    context.output.remark(&format!("wrote {}", whole.display()));
    Ok(())
}

/// The overview of one of all rooms, with the settings around `here`.
fn one_of_all(post: &Post, store: Store, here: &Path, with_cards: bool) -> Result<Overview, Error> {
    let elsewhere = Elsewhere { environment: &ThisProcess, here: Some(here.to_owned()) };
    look_at(post, gather(&elsewhere, store, post, |_| true), with_cards)
}

/// One look. Only the document has cards, and they cost something.
fn look_at(post: &Post, staff: crate::staff::Result<Staff>, with_cards: bool) -> Result<Overview, Error> {
    if with_cards { Overview::with_board(post, staff) } else { Overview::look(post, staff) }
}

/// The rooms that were seen, each with its name.
fn rooms_of<'s>(context: &Context, seen: &'s Seen) -> Vec<(String, &'s Overview)> {
    match seen {
        Seen::Room(overview) => {
            let room = context.room.clone().unwrap_or_else(|| context.root.display().to_string());
            vec![(room, overview)]
        }
        Seen::All(looked) => looked.found.iter().map(|there| (there.room.shown(), &there.what)).collect(),
    }
}

fn show(context: &mut Context, seen: &Seen, how: Shown) -> Result<(), Fail> {
    if context.output.json {
        match seen {
            Seen::Room(overview) => {
                let place = context.place();
                context.output.json(&Status::of(place, overview));
            }
            Seen::All(looked) => context.output.json(&StatusAll::of(looked)),
        }
        return Ok(());
    }
    let rooms = rooms_of(context, seen);
    status_shown::show(context, &rooms, how);
    Ok(())
}
