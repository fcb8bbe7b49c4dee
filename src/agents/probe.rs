//! The probe: it asks an agent program what it sees of its settings. Writing a file does not prove that the program
//! reads it, so programs that can answer are asked. Everything has a time limit, and no answer is a result too.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::notice;
use super::programs::Program;
use crate::message::visible;

/// How long a program may take for an answer, in seconds.
const PATIENCE: &str = "60";

/// The answer of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It knows our server.
    Yes,
    /// It does not, or could not be asked; in its own words.
    No(String),
    /// It is not installed, or has no way to answer.
    Nothing,
}

/// Whether hooks that a person must trust are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    Trusted,
    /// `open` of `all` hooks are not trusted.
    Asked {
        open: usize,
        all: usize,
    },
    Unknown(String),
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trusted => write!(f, "its hooks are trusted"),
            Self::Asked { open, all } => {
                write!(f, "{open} of {all} hooks are not trusted yet, so they do not run")
            }
            Self::Unknown(why) => write!(f, "whether its hooks are trusted is not known ({why})"),
        }
    }
}

/// The outcome of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    Yes,
    /// It did not arrive; in the program's words.
    No(String),
    /// It took too long, so the outcome is unknown.
    Perhaps(String),
}

/// The exit codes of `timeout` when the time is up.
const TIME_IS_UP: [i32; 2] = [124, 137];

/// Queues the fixed line for a session of Codex.
pub fn push(program: &Path, session: &str) -> Pushed {
    let words = ["queue", "--thread", session, "--message", notice::WAKE];
    match question(program, &words, Path::new("/")).output() {
        Ok(output) if output.status.success() => Pushed::Yes,
        Ok(output) if output.status.code().is_none_or(|code| TIME_IS_UP.contains(&code)) => {
            Pushed::Perhaps(format!("it did not answer within {PATIENCE} s"))
        }
        Ok(output) => Pushed::No(visible::clip(String::from_utf8_lossy(&output.stderr).trim(), 300)),
        Err(e) => Pushed::No(e.to_string()),
    }
}

/// A question to a program, bounded in time.
fn question(program: &Path, arguments: &[&str], place: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "2", PATIENCE]).arg(program).args(arguments).current_dir(place);
    command.stdin(Stdio::null());
    command
}

/// The version that a program reports, as three numbers.
pub fn version(program: &Path) -> Option<[u32; 3]> {
    let output = question(program, &["--version"], Path::new("/")).output().ok()?;
    numbers(&String::from_utf8_lossy(&output.stdout))
}

fn numbers(text: &str) -> Option<[u32; 3]> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
        let parts: Vec<u32> = word.trim_matches('.').split('.').map_while(|part| part.parse().ok()).collect();
        <[u32; 3]>::try_from(parts.get(..3)?).ok()
    })
}

/// Whether a program sees our server in its settings.
pub fn server(spec: &Program, program: &Path, place: &Path) -> Said {
    if spec.probe.is_empty() {
        return Said::Nothing;
    }
    match question(program, spec.probe, place).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            let knows =
                said.contains("postroom") && !said.contains("No MCP server") && output.status.success();
            if knows { Said::Yes } else { Said::No(visible::clip(said.trim(), 200)) }
        }
        Err(e) => Said::No(e.to_string()),
    }
}

/// Whether Codex trusts our hooks, according to its own server.
pub fn trust(program: &Path, place: &Path) -> Trust {
    let hooks = match hooks(program, &[], place) {
        Ok(hooks) => hooks,
        Err(why) => return Trust::Unknown(why),
    };
    let own: Vec<&Value> = hooks.iter().filter(|hook| hook.to_string().contains(" hook codex ")).collect();
    let trusted = |hook: &&&Value| {
        hook["trustStatus"].as_str().is_some_and(|status| status == "trusted" || status == "managed")
    };
    let (all, open) = (own.len(), own.iter().filter(|hook| !trusted(hook)).count());
    match (all, open) {
        (0, _) => Trust::Unknown("codex sees no hook of postroom".to_owned()),
        (_, 0) => Trust::Trusted,
        _ => Trust::Asked { open, all },
    }
}

/// The hooks that Codex sees with these settings on its command line.
pub fn hooks(program: &Path, settings: &[&str], place: &Path) -> Result<Vec<Value>, String> {
    let words: Vec<&str> = ["app-server"].iter().chain(settings).copied().collect();
    let mut child = question(program, &words, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let result = talk(&mut child, place);
    drop(child.stdin.take());
    let _ = child.kill();
    let _ = child.wait();
    result
}

fn talk(child: &mut std::process::Child, place: &Path) -> Result<Vec<Value>, String> {
    let (Some(stdin), Some(stdout)) = (child.stdin.as_mut(), child.stdout.take()) else {
        return Err("codex app-server has no pipes".to_owned());
    };
    let mut say = |value: Value| writeln!(stdin, "{value}").map_err(|e| e.to_string());
    say(
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "postroom", "version": env!("CARGO_PKG_VERSION")}}}),
    )?;
    say(json!({"method": "initialized"}))?;
    say(json!({"id": 2, "method": "hooks/list", "params": {"cwds": [place]}}))?;
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|e| e.to_string())?;
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message["id"] == 2 {
            let mut hooks = vec![];
            gather(&message["result"], &mut hooks);
            return match message.get("error") {
                Some(error) => Err(visible::clip(&error.to_string(), 200)),
                None => Ok(hooks),
            };
        }
    }
    Err("codex app-server did not answer".to_owned())
}

/// Collects every object with a trust state, anywhere in the answer.
fn gather(value: &Value, hooks: &mut Vec<Value>) {
    match value {
        Value::Object(members) if members.contains_key("trustStatus") => hooks.push(value.clone()),
        Value::Object(members) => members.values().for_each(|member| gather(member, hooks)),
        Value::Array(items) => items.iter().for_each(|item| gather(item, hooks)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        assert_eq!(numbers("2.1.325 (Claude Code)"), Some([2, 1, 325]));
        assert_eq!(numbers("codex-cli 0.166.0\n"), Some([0, 166, 0]));
        assert_eq!(numbers("GitHub Copilot CLI 1.0.102."), Some([1, 0, 102]));
        assert_eq!(numbers("v1.2"), None);
    }
}
