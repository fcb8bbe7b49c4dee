//! `postroom rooms`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, PLAIN};
use super::surroundings::ThisProcess;
use crate::dispatch::runs::Runs;
use crate::hint::Hint;
use crate::message::visible;
use crate::name::RoomName;
use crate::post::{Caller, Error, Failure, Names, Post, own_mailbox};
use crate::repository::Repository;
use crate::room;
use crate::rooms::{Link, MAIN, Relinked, Rooms};
use crate::surroundings;
use crate::view::rooms as view;

/// Show your rooms, and what waits and runs in them
///
/// A git repository has its own room, shared by its worktrees and submodules; everything else is in the room `main`.
#[derive(Debug, Args)]
pub(super) struct RoomsOf {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Give a room to the repository at PATH, which came from another disk or machine
    Relink {
        #[arg(value_name = "NAME")]
        name: String,
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// Take the room from a repository that still exists, or replace the room that PATH has
        #[arg(long)]
        force: bool,
    },
    /// Move rooms whose repository is gone into the trash beside the rooms
    Prune {
        /// Do it
        #[arg(long)]
        yes: bool,
    },
}

/// One line of the list.
struct Listed {
    name: RoomName,
    repositories: Vec<Link>,
    /// `None` if the room cannot be read.
    counts: Option<(usize, usize)>,
}

impl Listed {
    fn look(context: &Context, rooms: &Rooms, name: RoomName, links: &[Link]) -> Result<Self, Fail> {
        let repositories = links.iter().filter(|link| link.room == name.as_str()).cloned().collect();
        let post = Post::open(&rooms.named(&name).root, Caller::default(), context.clock());
        let counts = match post {
            // A directory that will become a room.
            Err(Error::Room(room::Error::NoRoom { .. })) => Some((0, 0)),
            Err(_) => None,
            Ok(post) => counted(&post).ok(),
        };
        Ok(Self { name, repositories, counts })
    }

    /// Whether it belongs to repositories that all no longer exist.
    fn is_abandoned(&self) -> bool {
        !self.repositories.is_empty() && self.repositories.iter().all(Link::is_gone)
    }

    fn view(&self, rooms: &Rooms) -> view::Room<'_> {
        let (unread, running) = self.counts.unzip();
        let (name, root) = (self.name.as_str(), rooms.named(&self.name).root.display().to_string());
        view::Room { name, root, repositories: self.paths(), gone: self.is_abandoned(), unread, running }
    }

    fn paths(&self) -> Vec<String> {
        self.repositories.iter().map(|link| link.path.display().to_string()).collect()
    }
}

/// The number of unread messages, and of current runs.
fn counted(post: &Post) -> Result<(usize, usize), Fail> {
    let unread = post.names(&Names::default())?.iter().filter_map(|listed| listed.unread).map(|u| u.0).sum();
    Ok((unread, Runs::open(post.room())?.count_alive()?))
}

/// The rooms that the person may have meant, if a command outside of every repository found no room.
pub(super) fn others(context: &Context) -> Vec<Hint> {
    if context.is_room_named() || context.room.as_deref() != Some(MAIN) {
        return vec![];
    }
    let names =
        surroundings::rooms(&ThisProcess).ok().and_then(|rooms| rooms.names().ok()).unwrap_or_default();
    let Some(first) = names.first() else { return vec![] };
    let all: Vec<&str> = names.iter().map(RoomName::as_str).collect();
    let look = Hint::run(&["names"]).in_room(first.as_str()).to("who is in that one");
    vec![format!("your rooms: {}", all.join(", ")).into(), look.into()]
}

/// The other room that knows a name, if there is exactly one.
pub(super) fn known_elsewhere(context: &Context, name: &str) -> Option<String> {
    let rooms = surroundings::rooms(&ThisProcess).ok()?;
    let has = |room: &RoomName| {
        let root = rooms.named(room).root;
        let post = || Post::open(&root, Caller::default(), context.clock()).ok();
        root != context.root
            && post().is_some_and(|post| post.registry().is_ok_and(|r| matches!(r.lookup(name), Ok(Some(_)))))
    };
    let known: Vec<RoomName> = rooms.names().ok()?.into_iter().filter(has).collect();
    let has_remote = |way: &crate::post::OnTheWay| {
        let is = |called: &str| crate::name::fold(called) == crate::name::fold(name);
        let residents = way.news.iter().flat_map(|news| &news.names);
        let mut called = residents.flat_map(|resident| [&resident.name].into_iter().chain(&resident.aliases));
        !way.is_hidden && called.any(|called| is(called))
    };
    let here = Post::open(&context.root, context.caller(), context.clock()).ok();
    let remote = here.and_then(|post| post.on_the_way().ok()).unwrap_or_default();
    let remote: Vec<RoomName> = remote.into_iter().filter(has_remote).map(|way| way.room).collect();
    let name = visible::clip(name, 60);
    let room = match (known.as_slice(), remote.as_slice()) {
        ([room], []) => room,
        ([], [room]) => {
            return Some(format!("`{name}` is in the room {room} of the network: send to {name}@{room}"));
        }
        _ => return None,
    };
    Some(format!("`{name}` is in the room {room}: send to {name}@{room}, or look there with --room {room}"))
}

impl Verb for RoomsOf {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let rooms = surroundings::rooms(&ThisProcess)?;
        match self.what {
            None => list(context, &rooms),
            Some(What::Relink { name, path, force }) => relink(context, &rooms, &name, &path, force),
            Some(What::Prune { yes }) => prune(context, &rooms, yes),
        }
    }
}

fn all(context: &Context, rooms: &Rooms) -> Result<Vec<Listed>, Fail> {
    let links = rooms.links()?;
    rooms.names()?.into_iter().map(|name| Listed::look(context, rooms, name, &links)).collect()
}

fn list(context: &mut Context, rooms: &Rooms) -> Result<(), Fail> {
    let all = all(context, rooms)?;
    let document = view::Rooms { rooms: all.iter().map(|one| one.view(rooms)).collect() };
    context.output.list(&document, &all, |output, one| {
        let (unread, running) =
            one.counts.map_or(("?".into(), "?".into()), |(u, r)| (u.to_string(), r.to_string()));
        let gone = if one.is_abandoned() { " (gone)" } else { "" };
        let paths = format!("{}{gone}", visible::line(&one.paths().join(" ")));
        let counts = format!("unread={unread} running={running}");
        let line = format!("{} {counts} {paths}", one.name);
        let cells = [(BOLD, one.name.to_string()), (PLAIN, counts), (PLAIN, paths)];
        output.entry(&cells, line.trim_end());
    });
    if all.is_empty() {
        let first = context.hint(own_mailbox("makes the first"));
        context.output.remark("there are no rooms yet");
        context.output.remark(&first);
        return Err(Fail::Code(Failure::Nothing));
    }
    Ok(())
}

fn relink(
    context: &mut Context,
    rooms: &Rooms,
    name: &str,
    path: &std::path::Path,
    force: bool,
) -> Result<(), Fail> {
    let unknown = |name: &str| {
        let why = format!("there is no room `{}`", visible::clip(name, 60));
        Fail::unknown(why, Hint::run(&["rooms"]).to("lists them"))
    };
    let name = RoomName::parse(name).map_err(|_| unknown(name))?;
    if !rooms.names()?.contains(&name) {
        return Err(unknown(name.as_str()));
    }
    let path = surroundings::whole_path(path)?;
    let repository = Repository::around(&path, None)
        .map_err(|e| Fail::refused(e.to_string(), "correct it first"))?
        .ok_or_else(|| {
            let why = format!("there is no repository at {}", path.display());
            Fail::unknown(why, "name a directory of the repository")
        })?;
    let why = match rooms.relink(&name, &repository, force)? {
        Relinked::Done => None,
        Relinked::InUse { repository } => Some(format!(
            "{name} is the room of {}, which exists",
            visible::line(&repository.display().to_string())
        )),
        Relinked::HasRoom { room } => Some(format!("that repository has the room {}", visible::line(&room))),
    };
    if let Some(why) = why {
        return Err(Fail::refused(why, Hint::again_with("--force").to("does it anyway")));
    }
    context.done = true;
    let path = repository.common.display().to_string();
    let line = format!("{name} is the room of {}", visible::line(&path));
    context.output.receipt(&view::Relink { room: name.as_str(), repository: &path }, [line]);
    Ok(())
}

fn prune(context: &mut Context, rooms: &Rooms, yes: bool) -> Result<(), Fail> {
    let mut gone = all(context, rooms)?;
    gone.retain(Listed::is_abandoned);
    if gone.is_empty() {
        context.output.remark("no room has lost its repository");
        return Err(Fail::Code(Failure::Nothing));
    }
    let mut done = vec![];
    for one in &gone {
        let to = yes.then(|| rooms.throw_away(&one.name)).transpose()?;
        done.push((one, to));
    }
    context.done = yes;
    let document = done.iter().map(|(one, to)| {
        let trash = to.as_ref().map(|to| to.display().to_string());
        view::GoneRoom { name: one.name.as_str(), trash }
    });
    let document = view::RoomsPrune { done: yes, rooms: document.collect() };
    let lines = done.iter().map(|(one, to)| {
        let unread = one.counts.map_or("?".to_owned(), |(unread, _)| unread.to_string());
        match to {
            Some(to) => format!("removed the room {}; it is in {} now", one.name, to.display()),
            None => format!("would remove the room {}, unread={unread}", one.name),
        }
    });
    context.output.receipt(&document, lines);
    super::prune::end(context, yes)
}
