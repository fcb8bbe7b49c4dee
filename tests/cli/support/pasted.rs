//! Printed commands: what a test sees of them, and that the command line would take each.

use std::ffi::OsString;

/// Insists that every command in an output could be pasted: it is a verb with flags and arguments that it takes, and it
/// names the room and the mailbox to act as if the present command, with these arguments, did. No word of it is a placeholder,
/// because the command would run with it. A command within a sentence of ours stands in backquotes and is a verb with its
/// arguments too; there it may be a form.
#[track_caller]
pub(crate) fn insist(arguments: &[String], out: &str, err: &str) {
    // Help and manual pages show forms of commands.
    let marks = [".TH ", "Usage:", "Mail for coding agents"];
    let is_other = |text: &&str| marks.iter().any(|mark| text.contains(mark));
    let is_given = |flag: &str| arguments.iter().any(|word| word == flag);
    let place = ["--room", "--root"].into_iter().find(|flag| is_given(flag));
    for text in [out, err].into_iter().filter(|text| !is_other(text)) {
        // A terminal ends its lines in another way, and shows what was typed, with its tabs.
        let text = text.replace("\r\n", "\n");
        for command in commands(&text).filter(|command| !command.contains(char::is_control)) {
            let words = words(&command);
            takes(&command, &words);
            let blank = words.iter().find(|word| is_placeholder(word) && !arguments.contains(word));
            assert_eq!(blank, None, "a word to be replaced, in a command to be pasted: {command}");
            let has_place = words.iter().any(|word| ["--room", "--root"].contains(&word.as_str()));
            assert!(place.is_none() || has_place || is_about_no_room(&words), "no {place:?}: {command}");
            let has_name = words.iter().any(|word| word == "--as");
            assert!(!is_given("--as") || has_name || !acts(&words), "no --as: {command}");
        }
    }
    // Only on standard error every sentence is ours; a shell may add lines of its own.
    let is_ours = |line: &&str| line.starts_with("postroom: ") || line.starts_with("  ");
    for sentence in err.lines().filter(is_ours).filter(|line| command(line).is_none()) {
        for (number, part) in sentence.split('`').enumerate() {
            match (number % 2 == 1, part.starts_with("postroom ")) {
                (true, true) if part.contains('…') => {}
                (true, true) => takes(part, &words(part)),
                (true, false) => {}
                (false, _) => assert!(!has_command(part), "without backquotes: {sentence}"),
            }
        }
    }
}

/// Whether a word stands for another one, as `NAME` or `ID` does in a form.
fn is_placeholder(word: &str) -> bool {
    word.len() > 1
        && word.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'-' | b'_' | b'|'))
        && word.bytes().any(|b| b.is_ascii_uppercase())
}

#[track_caller]
fn takes(command: &str, words: &[String]) {
    let why = postroom::cli::misread(words.iter().map(OsString::from).collect());
    assert_eq!(why, None, "{command}");
}

/// Whether a command is the same in every room, or looks into all of them.
fn is_about_no_room(words: &[String]) -> bool {
    let has_all = words.iter().any(|word| word == "--all");
    matches!(verb(words), "help" | "--version" | "tools" | "rooms" | "trust" | "uninstall" | "web")
        || has_all && matches!(verb(words), "check" | "wait" | "names" | "status")
}

/// Whether a command acts as a mailbox, and so fails or acts as another one without its name.
fn acts(words: &[String]) -> bool {
    matches!(
        verb(words),
        "archive"
            | "ask"
            | "check"
            | "claim"
            | "done"
            | "fail"
            | "handback"
            | "read"
            | "release"
            | "reply"
            | "send"
            | "sent"
            | "spawn"
            | "unarchive"
            | "wait"
            | "whoami"
    )
}

/// The verb of a command, behind the options that name a place and a mailbox.
fn verb(words: &[String]) -> &str {
    let mut words = words.iter().skip(1).map(String::as_str);
    loop {
        match words.next() {
            Some("--as" | "--room" | "--root") => drop(words.next()),
            word => return word.unwrap_or_default(),
        }
    }
}

/// Whether a sentence has a command with two words, such as `postroom failed retry`.
fn has_command(sentence: &str) -> bool {
    let parts = sentence.split("postroom ").skip(1);
    parts.into_iter().any(|rest| {
        let words: Vec<String> =
            ["postroom"].into_iter().chain(rest.split(' ').take(2)).map(str::to_owned).collect();
        let is_verb = |words: &[String]| {
            let why = postroom::cli::misread(words.iter().map(OsString::from).collect());
            why.is_none_or(|why| !why.starts_with("no such verb"))
        };
        words.len() > 1 && is_verb(&words[..2])
    })
}

/// The commands in an output, each without what it says about itself: a line of its own, the end of a line, or a hint of
/// a document.
pub(crate) fn commands(output: &str) -> impl Iterator<Item = String> {
    let hints = |line: &str| -> Option<Vec<String>> {
        let document: serde_json::Value = serde_json::from_str(line).ok()?;
        let hints = document["error"]["hints"].as_array()?;
        Some(hints.iter().filter_map(|hint| Some(hint.as_str()?.to_owned())).collect())
    };
    let lines = output.lines().flat_map(move |line| match line.starts_with('{') {
        true => hints(line).unwrap_or_default(),
        false => vec![line.to_owned()],
    });
    lines.filter_map(|line| command(&line).map(str::to_owned)).collect::<Vec<_>>().into_iter()
}

/// The command of a line: all of it, indented as a hint or not at all, or what follows a colon.
fn command(line: &str) -> Option<&str> {
    let own = line.strip_prefix("  ").unwrap_or(line);
    let start = match own.starts_with("postroom ") {
        true => line.len() - own.len(),
        false => line.find(": postroom ")? + 2,
    };
    let command = line[start..].split("  # ").next()?.trim_end();
    let is_verb =
        |word: &&str| word.starts_with("--") || word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    let first = command.split(' ').nth(1).filter(is_verb)?;
    (first != "--help").then_some(command)
}

/// The words of a command as a shell reads them, up to a pipe or a redirection.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (vec![], None::<String>, false);
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '|' | '<' | '>' if !quoted => break,
            ' ' if !quoted => words.extend(word.take()),
            '\\' if !quoted => word.get_or_insert_default().extend(characters.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
