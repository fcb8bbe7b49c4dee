//! The staff of a room, gathered for this process.

use std::path::{Path, PathBuf};

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::surroundings::ThisProcess;
use crate::dispatch::dispatcher::Sources;
use crate::dispatch::queue::Crew;
use crate::hint::{Hint, Present};
use crate::mailbox::Directory;
use crate::message::visible;
use crate::post::Post;
use crate::staff::{self, Staff, left_out};
use crate::surroundings::config;
use crate::trust::Store;

/// The person's record of trust.
pub(super) fn store() -> Result<Store, Fail> {
    Ok(Store::new(&config(&ThisProcess)?))
}

/// All agents configured for the room of this command.
pub(super) fn gather(post: &Post) -> Result<Staff, Fail> {
    gather_some(post, |_| true)
}

/// The agents whose name is wanted.
pub(super) fn gather_some(post: &Post, wanted: impl Fn(&str) -> bool) -> Result<Staff, Fail> {
    Ok(staff::gather(&ThisProcess, store()?, post, wanted)?)
}

/// Reports what is left out.
pub(super) fn tell_untrusted(context: &Context, staff: &Staff) {
    for (what, command) in left_out(&staff.untrusted) {
        context.warn(&what, command);
    }
}

/// The settings of the agents, read again when they change.
pub(super) struct Settings<'a> {
    only: Vec<String>,
    store: Store,
    room: PathBuf,
    trees: Vec<PathBuf>,
    present: Present,
    /// What was last said to be left out.
    told: Vec<(String, Hint)>,
    /// Called before something is reported.
    make_way: &'a dyn Fn(),
}

impl<'a> Settings<'a> {
    /// Those of these agents, or of all if none is named. `told`: what the person knows to be left out.
    pub(super) fn of(
        context: &Context,
        post: &Post,
        only: &[String],
        told: Vec<(String, Hint)>,
        make_way: &'a dyn Fn(),
    ) -> Result<Self, Fail> {
        let (room, present) = (context.root.clone(), context.present());
        Ok(Self { only: only.to_vec(), store: store()?, room, trees: post.trees(), present, told, make_way })
    }
}

impl Sources for Settings<'_> {
    fn stamp(&self) -> u64 {
        staff::stamp(&ThisProcess, &self.store, &self.room, &self.trees)
    }

    fn read(&mut self, post: &Post) -> Result<Crew, String> {
        let staff = staff::gather(&ThisProcess, self.store.clone(), post, |name| {
            self.only.is_empty() || self.only.iter().any(|only| only == name)
        });
        let staff = staff.map_err(|e| e.to_string())?;
        self.trees = post.trees();
        let left_out = left_out(&staff.untrusted);
        // The files change for other reasons too, such as a new mailbox.
        for (what, command) in left_out.iter().filter(|left| !self.told.contains(left)) {
            (self.make_way)();
            note(&format!("postroom: {what}\n  {}", visible::text(&command.line(&self.present))));
        }
        self.told = left_out;
        let (mut agents, mut vacant) = (vec![], vec![]);
        for (agent, id) in staff.agents {
            match id {
                Some(id) => agents.push((agent, id)),
                None => vacant.push(agent),
            }
        }
        Ok(Crew { agents, vacant, settings: staff.settings })
    }

    fn directories(&self) -> Vec<PathBuf> {
        let personal = self.store.path().parent().map(Path::to_owned);
        let all = [self.store.path().to_owned(), self.room.clone()].into_iter().chain(personal);
        // Nothing can be watched beside one that is not there.
        all.filter(|dir| dir.is_dir()).collect()
    }
}
