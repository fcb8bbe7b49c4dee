//! The caller: the agent program and session around a command, identified by the variables that programs set.

use std::path::Path;

use super::Environment;
use crate::agents::programs::{PROGRAMS, Program, find};
use crate::name::RoomName;
use crate::post::{HOPS_VARIABLE, THREAD_VARIABLE};
use crate::process::Process;
use crate::process::marked::MARK;
use crate::session::Session;

/// The variable with the mailbox that a command acts as.
pub const MAILBOX: &str = "AGENT_MAILBOX_ID";

/// The variable with the program that a mailbox is for.
pub const HARNESS: &str = "AGENT_HARNESS";

/// What the environment says about the caller.
#[derive(Debug)]
pub struct Surroundings {
    pub mailbox_id: Option<String>,
    pub session: Option<Session>,
    pub harness: String,
    /// The number of automatic steps that led to the run around this command.
    pub hops: Option<u32>,
    /// The id of that run's thread.
    pub thread: Option<String>,
    /// Whether the caller is an agent and not a person.
    pub by_agent: bool,
    /// The program whose mark is in the environment.
    marked: Option<&'static str>,
}

impl Surroundings {
    pub fn of(environment: &dyn Environment) -> Self {
        let session = PROGRAMS.iter().find_map(|program| {
            let id = environment.text(program.session?)?;
            Some(Session { program: program.word.to_owned(), id })
        });
        let told = session.as_ref().map(|session| session.program.clone());
        let is_marked =
            |program: &&Program| program.mark.is_some_and(|mark| environment.text(mark).is_some());
        let marked = PROGRAMS.iter().find(is_marked).map(|program| program.word);
        let by_agent = told.is_some() || marked.is_some() || environment.text(MARK).is_some();
        let said = environment.text(HARNESS).filter(|harness| RoomName::parse(harness).is_ok());
        Self {
            // Any value counts: an unusable one is refused and never ignored.
            mailbox_id: environment
                .variable(MAILBOX)
                .filter(|value| !value.is_empty())
                .map(|value| value.to_string_lossy().into_owned()),
            session,
            harness: said.or(told).unwrap_or_else(|| marked.unwrap_or("shell").to_owned()),
            hops: environment.text(HOPS_VARIABLE).and_then(|hops| hops.parse().ok()),
            thread: environment.text(THREAD_VARIABLE),
            by_agent,
            marked,
        }
    }

    /// The program around, if nothing in the environment tells its session or a mailbox.
    pub fn program_without_session(&self) -> Option<&'static str> {
        self.marked.filter(|_| self.session.is_none() && self.mailbox_id.is_none())
    }
}

/// How to allow a write to a room that the caller's sandbox forbade.
pub fn sandbox_hint(harness: &str, root: &Path) -> String {
    let hint = find(harness).map_or("see who may write to {root}", |program| program.forbidden);
    hint.replace("{root}", &root.display().to_string())
}

/// The process of the agent program that called a hook: the one it names, else the parent of this command.
pub fn agent_process(environment: &dyn Environment, parent: u64) -> Option<Process> {
    let named = PROGRAMS.iter().find_map(|program| environment.text(program.process?)?.parse().ok());
    Process::of(named.unwrap_or(parent))
}

/// Whether a person attends the session that called a hook.
pub fn is_attended(environment: &dyn Environment) -> bool {
    let says_so = |variable| environment.text(variable).as_deref() == Some("1");
    PROGRAMS.iter().filter_map(|program| program.attended).any(says_so)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::tests::Given;

    fn caller(variables: &[(&'static str, &str)]) -> Surroundings {
        let variables = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Surroundings::of(&Given { variables, ..Given::default() })
    }

    #[test]
    fn a_session_is_known_by_the_variable_of_its_program() {
        for program in PROGRAMS {
            let Some(variable) = program.session else { continue };
            let found = caller(&[(variable, "s-1")]);
            let session = found.session.unwrap();
            assert_eq!((session.program.as_str(), session.id.as_str()), (program.word, "s-1"));
            assert_eq!((found.harness.as_str(), found.by_agent), (program.word, true));
        }
    }

    #[test]
    fn a_mark_tells_the_program_and_no_session() {
        let found = caller(&[("GEMINI_CLI", "1")]);
        assert_eq!((found.session, found.harness.as_str(), found.by_agent), (None, "gemini", true));
        let found = caller(&[(HARNESS, "mine"), ("GEMINI_CLI", "1"), (MAILBOX, "bob")]);
        assert_eq!((found.harness.as_str(), found.mailbox_id.as_deref()), ("mine", Some("bob")));
        let found = caller(&[(HARNESS, "../evil"), ("CLAUDECODE", ""), (MAILBOX, "")]);
        assert_eq!((found.harness.as_str(), found.by_agent, found.mailbox_id), ("shell", false, None));
        assert!(caller(&[(MARK, "20261116T000000000Z-00000000")]).by_agent, "a part of a run is no person");
    }

    #[test]
    fn a_forbidden_write_is_explained_for_the_program_around() {
        let root = Path::new("/r");
        assert!(sandbox_hint("codex", root).contains("-m 'TEXT'"));
        assert!(sandbox_hint("copilot", root).ends_with("start copilot with --add-dir /r"));
        assert!(sandbox_hint("opencode", root).contains("{\"/r/*\": \"allow\"}"));
        assert_eq!(sandbox_hint("shell", root), "see who may write to /r");
    }
}
