//! A stand-in for the models that agent programs talk to, on loopback only: a program for tests.
//!
//! ```text
//! models [--script FILE] [--log FILE] [--fill FILE]... COMMAND [ARGUMENT...]
//! ```
//!
//! It brings loopback up where it may (in a network namespace of its own it is down), serves on a free port, runs the
//! command and ends with its code. `{PORT}` is filled in first, in the environment and in each file of `--fill`; there
//! also where an earlier server had filled it in (`127.0.0.1:NUMBER`).
//! What the model says is the script's (script.rs); every request is a line of the log (http.rs). It speaks,
//! streaming and not, Anthropic messages, OpenAI responses and chat completions, and Gemini generateContent (wire.rs).
#![allow(clippy::disallowed_methods, reason = "a program of its own, which is not part of Postroom")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "it serves tests")]

mod http;
mod loopback;
mod script;
mod wire;

use std::net::TcpListener;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use http::Server;
use script::Script;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    let (mut script, mut log, mut fill) = (Script::default(), None, vec![]);
    while let Some(option) = words.next_if(|word| word.to_string_lossy().starts_with("--")) {
        let file = words.next().unwrap_or_else(|| panic!("{} needs a file", option.display()));
        match option.to_str() {
            Some("--script") => script = Script::read(&std::fs::read_to_string(&file).unwrap()),
            Some("--log") => {
                log = Some(std::fs::OpenOptions::new().create(true).append(true).open(&file).unwrap());
            }
            Some("--fill") => fill.push(file),
            _ => panic!("{} is no option", option.display()),
        }
    }
    let command = words.next().unwrap_or_else(|| panic!("no command is given"));

    loopback::up();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    for file in fill {
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, filled_in(&text, &port)).unwrap();
    }
    let server = Arc::new(Server::new(script, log));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            std::thread::spawn(move || server.converse(&stream));
        }
    });

    let filled = std::env::vars().map(|(name, value)| (name, value.replace("{PORT}", &port)));
    match Command::new(&command).args(words).env_clear().envs(filled).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255)),
        Err(e) => {
            eprintln!("models: {}: {e}", command.display());
            ExitCode::from(127)
        }
    }
}

/// A text with the port of this server in the place of `{PORT}`, or of the port of a server before it.
fn filled_in(text: &str, port: &str) -> String {
    const HOST: &str = "127.0.0.1:";
    let mut parts = text.split(HOST);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |done, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{done}{HOST}{port}{}", rest.strip_prefix("{PORT}").unwrap_or(rest))
    })
}
