//! Printed commands: what a test sees of them, and that the command line would take each.

use std::ffi::OsString;

/// Insists that every command in an output could be pasted: it is a verb with flags and arguments that it takes.
#[track_caller]
pub(crate) fn insist(out: &str, err: &str) {
    // Help and manual pages show forms of commands; a terminal folds them, and shows what was typed as well.
    let marks = [".TH ", "Usage:", "Mail for coding agents", "\r\n"];
    let is_other = |text: &&str| marks.iter().any(|mark| text.contains(mark));
    for command in [out, err].into_iter().filter(|text| !is_other(text)).flat_map(commands) {
        let why = postroom::cli::misread(words(&command).iter().map(OsString::from).collect());
        assert_eq!(why, None, "{command}");
    }
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
