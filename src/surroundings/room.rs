//! Selects the room. The first of these decides: `--root`, `--room`, the room of a bound agent session,
//! `POSTROOM_ROOT`, `room` of the nearest `postroom.toml`, the room of the repository around, `main`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::paths::{absolute, project};
use super::{Environment, Error, Result, state};
use crate::name::RoomName;
use crate::post;
use crate::repository::Repository;
use crate::rooms::{Located, MAIN, Rooms};
use crate::session::Session;

/// The variable with the directory of a room.
pub const ROOT: &str = "POSTROOM_ROOT";

/// The options that select a room, besides the environment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// `--root`
    pub root: Option<&'a Path>,
    /// `--room`
    pub room: Option<&'a str>,
    pub session: Option<&'a Session>,
    /// The directory to search from, if it is not the working directory.
    pub here: Option<&'a Path>,
}

/// The rooms of this person.
pub fn rooms(environment: &dyn Environment) -> Result<Rooms> {
    Ok(Rooms::new(&state(environment)?))
}

/// The directory in which this person's sessions are bound, if known.
pub fn sessions(environment: &dyn Environment) -> Option<PathBuf> {
    state(environment).ok().map(|state| state.join("sessions"))
}

/// The selected room.
pub fn room(environment: &dyn Environment, wanted: Wanted<'_>) -> Result<Located> {
    if let Some(root) = wanted.root {
        return Ok(Located::at(absolute(root)?));
    }
    if let Some(room) = wanted.room {
        return named(environment, room);
    }
    if let Some(root) = bound_root(environment, wanted.session)? {
        return Ok(rooms(environment)?.at(root));
    }
    if let Some(root) = environment.variable(ROOT).filter(|root| !root.is_empty()) {
        return Ok(Located::at(absolute(Path::new(&root))?));
    }
    let here = match wanted.here.map_or_else(|| environment.here(), |here| Ok(here.to_owned())) {
        // It was removed, so it is in no repository.
        Err(e) if e.kind() == ErrorKind::NotFound => return named(environment, MAIN),
        other => other.map_err(Error::NoHere)?,
    };
    if let Some(room) = project(&here)?.and_then(|project| project.room) {
        return Ok(rooms(environment)?.named(&room));
    }
    match Repository::around(&here, environment.home().as_deref())? {
        Some(repository) => Ok(rooms(environment)?.of(&repository).map_err(post::Error::from)?),
        None => named(environment, MAIN),
    }
}

fn named(environment: &dyn Environment, room: &str) -> Result<Located> {
    let name = RoomName::parse(room).map_err(|why| Error::BadRoom { text: room.to_owned(), why })?;
    Ok(rooms(environment)?.named(&name))
}

/// The room that a session is bound to, if it still exists.
pub fn bound_root(environment: &dyn Environment, session: Option<&Session>) -> Result<Option<PathBuf>> {
    let (Some(session), Some(sessions)) = (session, sessions(environment)) else { return Ok(None) };
    let root = session.binding(&sessions).map_err(post::Error::from)?.map(|bound| bound.root);
    // A room that cannot be checked counts as existing: opening it reports the error, and no other room is used
    // instead.
    let is_gone = |root: &PathBuf| root.symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound);
    Ok(root.filter(|root| !is_gone(root)))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;
    use crate::surroundings::tests::Given;

    #[test]
    fn each_word_about_the_room_gives_way_to_the_one_before_it() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let project = base.join("project/deep");
        std::fs::create_dir_all(&project).unwrap();
        let mut given = Given { here: project.clone(), home: Some(base.clone()), ..Given::default() };
        let rooms = base.join(".local/state/postroom/rooms");
        let found = |given: &Given, wanted: Wanted<'_>| room(given, wanted).unwrap();
        let main = found(&given, Wanted::default());
        assert_eq!((main.root.as_path(), main.name.as_deref()), (rooms.join("main").as_path(), Some("main")));
        std::fs::write(base.join("project/postroom.toml"), "room = \"web\"\n").unwrap();
        assert_eq!(found(&given, Wanted::default()).name.as_deref(), Some("web"));
        let elsewhere = Wanted { here: Some(&base), ..Wanted::default() };
        assert_eq!(found(&given, elsewhere).name.as_deref(), Some("main"));
        given.variables = vec![(ROOT, base.join("own").display().to_string())];
        assert_eq!(found(&given, Wanted::default()).root, base.join("own"));
        let by_name = Wanted { room: Some("api"), ..Wanted::default() };
        assert_eq!(found(&given, by_name).root, rooms.join("api"));
        let by_root = Wanted { root: Some(&base.join("x/../y")), room: Some("api"), ..Wanted::default() };
        assert!(matches!(room(&given, by_root), Err(Error::BadRoot { .. })), "x is not there");
        let by_root = Wanted { root: Some(&base.join("project/../y")), ..by_root };
        assert_eq!(found(&given, by_root).root, base.join("y"));
        let bad = Wanted { room: Some("../y"), ..Wanted::default() };
        assert!(matches!(room(&given, bad), Err(Error::BadRoom { .. })));
    }
}
