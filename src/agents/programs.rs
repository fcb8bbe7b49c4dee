//! The one table of agent programs: the settings, hooks, accepted answers, skills, rules and servers of each, how an
//! idle session is woken, and the variables that identify it. Each program has its file here. Verified with the
//! versions named in them. docs/guides/programs.md says this for people, and `process/presets.toml` has how each is
//! started without a terminal.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;

pub use super::program::{
    Argument, Content, Context, Entry, Event, File, Hold, Hook, Launch, Position, Program, Resume, Variable,
    Wake,
};

pub fn find(word: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.word == word)
}

const fn hook(event: Event, name: &'static str, entry: &'static str) -> Hook {
    Hook { event, name, entry }
}

const fn file(path: &'static str, content: Content) -> File {
    File { path, content }
}

const GROUP: &str = r#"{"hooks":[{"type":"command","command":{command},"timeout":10}]}"#;
const SERVER: &str = r#"{"command":{postroom},"args":["mcp"]}"#;

/// The server of a plugin.
const PLUGIN_SERVER: Content =
    Content::Json(&[Entry::Put { at: &["mcpServers"], key: "postroom", value: SERVER }]);

pub const PROGRAMS: [Program; 5] =
    [claude::PROGRAM, codex::PROGRAM, gemini::PROGRAM, opencode::PROGRAM, copilot::PROGRAM];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::presets;

    #[test]
    fn every_program_can_be_started_without_a_terminal_and_finds_its_settings_then() {
        for program in PROGRAMS {
            let preset = presets::named(program.word).unwrap();
            assert_eq!(preset.program, program.word);
            let moved = program.config.0;
            assert!(moved.is_empty() || preset.env.iter().any(|name| name == moved), "{}", program.word);
        }
        let others: Vec<&str> = presets::names().filter(|name| find(name).is_none()).collect();
        assert_eq!(others, ["command"]);
    }
}
