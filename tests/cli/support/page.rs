//! Pages whose examples are run: the ```console blocks of a Markdown page, each command in one bash, in one
//! throw-away home, in order, and what it printed compared with what the page shows. A ```console block shows what a program
//! reads, a ```console terminal block what a terminal of 80 columns shows.
//!
//! Ids, tokens, fences, days and times on the page stand for whatever the program drew: the first sight of one binds
//! it, from then on it means the same thing, in outputs and in commands. `…` stands for any text, and `/srv` for the
//! throw-away home.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, Write};
use std::path::Path;
use std::process::{ChildStdout, Command};

use regex::Regex;

use crate::support::seat;

/// One command of a page and the output it shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Example {
    /// Where on the page, from 1.
    line: usize,
    pub(crate) command: String,
    shows: String,
    on_terminal: bool,
}

/// Takes the examples out of a page.
pub(crate) fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = vec![];
    let (mut inside, mut heredoc, mut on_terminal) = (false, false, false);
    for (index, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            on_terminal = line == "```console terminal";
            inside = on_terminal || line == "```console";
            continue;
        }
        if !inside {
            continue;
        }
        if let Some(command) = line.strip_prefix("$ ") {
            heredoc = command.contains("<<");
            let (line, shows) = (index + 1, String::new());
            found.push(Example { line, command: command.to_owned(), shows, on_terminal });
            continue;
        }
        let Some(last) = found.last_mut() else {
            panic!("line {}: a block begins without a command", index + 1)
        };
        let more = if line == ">" { Some("") } else { line.strip_prefix("> ") };
        match more.filter(|_| heredoc) {
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
                    let known = word.get(..8).and_then(|short| self.0.get(short));
                    let kind = match (known, word.len()) {
                        (Some(short), 36) => format!("{short}{}", &UUID["[0-9a-f]{8}".len()..]),
                        (Some(short), 32) => format!("{short}[0-9a-f]{{24}}"),
                        _ => kind,
                    };
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
        if TIMES.contains(&kind(name).unwrap_or_default().as_str()) {
            return Ok(());
        }
        if name.len() == 36 {
            // A request is called by the digits of its id.
            self.bind(&name.replace('-', ""), &value.replace('-', ""))?;
        }
        if name.len() == 32 {
            self.bind(&name[..8], &value[..8])?;
        }
        match self.0.insert(name.to_owned(), value.to_owned()) {
            Some(before) if before != value => Err(format!("`{name}` is {before} and then {value}")),
            _ => Ok(()),
        }
    }
}

const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const TIMES: [&str; 4] = [
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    r"\d{8}T\d{6}Z",
    r"\d{1,2}[smhd]",
];
/// Whose mailboxes a page may have; a run of a workflow has one too.
const PEOPLE: [&str; 10] = [
    "alice",
    "bob",
    "carol",
    "dave",
    "explore",
    "writer",
    "research-create",
    "implement-review",
    "plan-approve",
    "release-notes",
];

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Whether a text has the form of a pattern in which `0` is a digit.
fn is_like(text: &str, form: &str) -> bool {
    let fits = |(b, f): (u8, u8)| if f == b'0' { b.is_ascii_digit() } else { b == f };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

/// What may stand for a word of the page, if it is a placeholder.
fn kind(word: &str) -> Option<String> {
    let drawn = match word.len() {
        8 | 16 | 32 if is_hex(word) => return Some(format!("[0-9a-f]{{{}}}", word.len())),
        2 if ["0s", "0m", "0h", "0d"].iter().any(|form| is_like(word, form)) => TIMES[3],
        10 if is_like(word, "0000-00-00") => r"\d{4}-\d\d-\d\d",
        16 if is_like(word, "00000000T000000Z") => TIMES[2],
        20 if word.as_bytes()[10] == b'T' && word.ends_with('Z') => TIMES[0],
        24 if word.as_bytes()[10] == b'T' && word.ends_with('Z') => TIMES[1],
        _ if is_uuid(word) => UUID,
        _ => match word.rsplit_once('-') {
            Some((stem, tail)) if tail.len() == 8 && is_hex(tail) => {
                assert!(
                    PEOPLE.contains(&stem),
                    "the page has a mailbox of {stem}, whom this test does not know"
                );
                return Some(format!("{stem}-[0-9a-f]{{8}}"));
            }
            _ => return None,
        },
    };
    Some(drawn.to_owned())
}

/// How much of a word is a piece of its own: the day of a task's id; of the name of a message its time and its digits.
fn first_part(word: &str) -> usize {
    let begins = |length: usize, fits: &dyn Fn(&str) -> bool| {
        word.get(..length).is_some_and(fits) && word[length..].starts_with('-')
    };
    if is_uuid(word) {
        word.len()
    } else if begins(10, &|day| is_like(day, "0000-00-00")) {
        10
    } else if begins(16, &|time| is_like(time, "00000000T000000Z")) {
        16
    } else if word.starts_with('-') && word.len() > 1 {
        1
    } else if begins(8, &is_hex) {
        8
    } else {
        word.len()
    }
}

/// Whether the dashes of a word belong to it: a UUID has some after its first eight digits.
fn is_uuid(word: &str) -> bool {
    word.len() == 36 && is_hex(&word.replace('-', ""))
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
        let part = if in_word(first) { first_part(piece) } else { piece.len() };
        if part < piece.len() {
            (piece, after) = rest.split_at(part);
        }
        rest = after;
        Some(piece)
    })
}

/// The width of the terminal.
const COLUMNS: u16 = 80;

/// One bash that runs the commands of a page, one after the other.
struct Shell {
    input: File,
    output: BufReader<ChildStdout>,
    terminal: BufReader<PipeReader>,
}

impl Shell {
    fn start(home: &Path) -> Self {
        let binary = Path::new(env!("CARGO_BIN_EXE_postroom"));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.parent().unwrap().display());
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc"])
            .env_clear()
            .env("HOME", home)
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("PATH", path)
            .env("NO_COLOR", "1")
            .current_dir(home);
        // A page is read at a terminal.
        let commands = home.join(".commands");
        rustix::fs::mkfifoat(rustix::fs::CWD, &commands, rustix::fs::Mode::RWXU).unwrap();
        let (terminal, shows) = std::io::pipe().unwrap();
        let output = BufReader::new(seat::start_shown(&bash, &commands, COLUMNS, shows).out);
        let input = File::options().write(true).open(&commands).unwrap();
        Self { input, output, terminal: BufReader::new(terminal) }
    }

    /// Runs a command and gives what it printed, both outputs together.
    fn run(&mut self, command: &str, on_terminal: bool) -> String {
        const BEGIN: &str = "--- one example ---";
        const END: &str = "--- end of one example ---";
        let into = if on_terminal { ">/dev/tty" } else { "" };
        let output: &mut dyn BufRead = if on_terminal { &mut self.terminal } else { &mut self.output };
        writeln!(
            self.input,
            "printf '%s\\n' '{BEGIN}' {into}; {{ {command}\n}} </dev/null {into} 2>&1; printf '\\n%s\\n' '{END}' {into}"
        )
        .unwrap();
        let mut printed = String::new();
        while !printed.ends_with(&format!("\n{END}\n")) {
            let read = output.read_line(&mut printed).unwrap();
            assert!(read > 0, "the shell ended during `{command}`: {printed}");
            printed = printed.replace("\r\n", "\n");
        }
        printed.truncate(printed.len() - END.len() - 2);
        // A terminal also shows what was asked and answered before.
        printed.split_once(&format!("{BEGIN}\n")).map_or(String::new(), |(_, printed)| printed.to_owned())
    }
}

/// Runs a page; how many commands it has, or where the page and the program differ.
pub(crate) fn run(page: &str) -> Result<usize, String> {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().canonicalize().unwrap();
    let home = path.display().to_string();
    let (mut shell, mut bound) = (Shell::start(&path), Bound::default());
    let all = examples(page);
    for example in &all {
        let command = bound.in_command(&example.command).replace("/srv/", &format!("{home}/"));
        let printed = shell.run(&command, example.on_terminal).replace(&home, "/srv");
        bound
            .compare(&example.shows, &printed)
            .map_err(|why| format!("line {}, `{}`: {why}", example.line, example.command))?;
    }
    let looked = shell.run("postroom doctor --strict", false);
    if looked.is_empty() { Ok(all.len()) } else { Err(format!("the doctor found: {looked}")) }
}
