//! Pages whose examples are run: the ```console blocks of a Markdown page, each command in one bash, in one
//! throw-away home, in order, and what it printed compared with what the page shows.
//!
//! Ids, tokens, fences and times on the page stand for whatever the program drew: the first sight of one binds it,
//! from then on it means the same thing, in outputs and in commands. `…` stands for any text.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use regex::Regex;

/// One command of a page and the output it shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Example {
    /// Where on the page, from 1.
    line: usize,
    pub(crate) command: String,
    shows: String,
}

/// Takes the examples out of a page.
pub(crate) fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = vec![];
    let (mut inside, mut heredoc) = (false, false);
    for (index, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
            continue;
        }
        if !inside {
            continue;
        }
        if let Some(command) = line.strip_prefix("$ ") {
            heredoc = command.contains("<<");
            found.push(Example { line: index + 1, command: command.to_owned(), shows: String::new() });
            continue;
        }
        let Some(last) = found.last_mut() else {
            panic!("line {}: a block begins without a command", index + 1)
        };
        match line.strip_prefix("> ").filter(|_| heredoc) {
            Some(more) => last.command.push_str(&format!("\n{more}")),
            None => last.shows.push_str(&format!("{line}\n")),
        }
    }
    found
}

/// What the placeholders of a page stand for so far.
#[derive(Default)]
pub(crate) struct Bound(BTreeMap<String, String>);

impl Bound {
    /// A command of the page with what its placeholders stand for.
    fn in_command(&self, command: &str) -> String {
        words(command).map(|word| self.0.get(word).map_or(word, String::as_str)).collect()
    }

    /// Compares an output with what the page shows, and learns from it.
    pub(crate) fn compare(&mut self, shows: &str, printed: &str) -> Result<(), String> {
        let mut pattern = String::from(r"\A");
        let mut names: Vec<&str> = vec![];
        for word in words(shows) {
            match (self.0.get(word), kind(word)) {
                (Some(known), _) => pattern.push_str(&regex::escape(known)),
                (None, Some(kind)) => {
                    // A whole id whose beginning is known goes on from there.
                    let known =
                        word.get(..8).and_then(|short| self.0.get(short)).filter(|_| word.len() == 36);
                    let kind = known
                        .map_or(kind.to_owned(), |short| format!("{short}{}", &UUID["[0-9a-f]{8}".len()..]));
                    pattern.push_str(&format!("({kind})"));
                    names.push(word);
                }
                (None, None) => pattern.push_str(&regex::escape(word).replace('…', "(?s:.*?)")),
            }
        }
        pattern.push_str(r"\z");
        let differs = || format!("the page shows\n{shows}and the program prints\n{printed}");
        let caught = Regex::new(&pattern).unwrap().captures(printed).ok_or_else(differs)?;
        for (name, value) in names.into_iter().zip(caught.iter().skip(1).flatten()) {
            self.bind(name, value.as_str()).map_err(|why| format!("{why}\n{}", differs()))?;
        }
        Ok(())
    }

    fn bind(&mut self, name: &str, value: &str) -> Result<(), String> {
        // Times differ from line to line on a slow machine, and nothing follows from one.
        if TIMES.contains(&kind(name).unwrap_or_default()) {
            return Ok(());
        }
        if name.len() == 36 {
            self.bind(&name[..8], &value[..8])?;
        }
        match self.0.insert(name.to_owned(), value.to_owned()) {
            Some(before) if before != value => Err(format!("`{name}` is {before} and then {value}")),
            _ => Ok(()),
        }
    }
}

const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const TIMES: [&str; 2] = [r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"];

/// What may stand for a word of the page, if it is a placeholder.
fn kind(word: &str) -> Option<&'static str> {
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    match word.len() {
        8 if is_hex(word) => Some("[0-9a-f]{8}"),
        16 if is_hex(word) => Some("[0-9a-f]{16}"),
        20 if word.as_bytes()[10] == b'T' && word.ends_with('Z') => Some(TIMES[0]),
        24 if word.as_bytes()[10] == b'T' && word.ends_with('Z') => Some(TIMES[1]),
        36 if is_hex(&word.replace('-', "")) => Some(UUID),
        _ => match word.rsplit_once('-') {
            Some((stem, tail)) if tail.len() == 8 && is_hex(tail) => match stem {
                "alice" => Some("alice-[0-9a-f]{8}"),
                "bob" => Some("bob-[0-9a-f]{8}"),
                "carol" => Some("carol-[0-9a-f]{8}"),
                other => panic!("the page has a mailbox of {other}, whom this test does not know"),
            },
            _ => None,
        },
    }
}

/// A text in pieces: words that may be placeholders, and what lies between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.');
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| in_word(c) != in_word(first)).unwrap_or(rest.len());
        let (mut piece, mut after) = rest.split_at(end);
        // A colon or a full stop behind a word ends a sentence and is no part of it.
        let bare = piece.trim_end_matches([':', '.']);
        if in_word(first) && !bare.is_empty() && bare.len() < piece.len() {
            (piece, after) = rest.split_at(bare.len());
        }
        rest = after;
        Some(piece)
    })
}

/// One bash that runs the commands of a page, one after the other.
struct Shell {
    bash: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start(home: &Path) -> Self {
        let binary = Path::new(env!("CARGO_BIN_EXE_postroom"));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.parent().unwrap().display());
        let mut bash = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .env_clear()
            .env("HOME", home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("PATH", path)
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (bash.stdin.take().unwrap(), BufReader::new(bash.stdout.take().unwrap()));
        Self { bash, input, output }
    }

    /// Runs a command and gives what it printed, both outputs together as on a terminal.
    fn run(&mut self, command: &str) -> String {
        const END: &str = "--- end of one example ---";
        writeln!(self.input, "{{ {command}\n}} </dev/null 2>&1; printf '\\n%s\\n' '{END}'").unwrap();
        let mut printed = String::new();
        while !printed.ends_with(&format!("\n{END}\n")) {
            let read = self.output.read_line(&mut printed).unwrap();
            assert!(read > 0, "the shell ended during `{command}`: {printed}");
        }
        printed.truncate(printed.len() - END.len() - 2);
        printed
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.bash.kill();
        let _ = self.bash.wait();
    }
}

/// Runs a page; how many commands it has, or where the page and the program differ.
pub(crate) fn run(page: &str) -> Result<usize, String> {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state").display().to_string();
    let (mut shell, mut bound) = (Shell::start(home.path()), Bound::default());
    let all = examples(page);
    for example in &all {
        let printed = shell.run(&bound.in_command(&example.command)).replace(&state, "/srv/state");
        bound
            .compare(&example.shows, &printed)
            .map_err(|why| format!("line {}, `{}`: {why}", example.line, example.command))?;
    }
    let looked = shell.run("postroom doctor --strict");
    if looked.is_empty() { Ok(all.len()) } else { Err(format!("the doctor found: {looked}")) }
}
