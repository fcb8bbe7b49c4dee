//! A hint: the next command to type, or a piece of advice.
//!
//! A command is kept as words and becomes text in one place, [`Hint::line`]: with the flags that the present command was
//! given and the next one needs too, each word quoted for the shell, and then what it does, as a comment. So the line can
//! be pasted. Pure.

/// The part of the present command that the next one may have to repeat.
#[derive(Debug, Clone, Default)]
pub struct Present {
    pub root: Option<String>,
    pub room: Option<String>,
    /// The value of `--as`.
    pub acting: Option<String>,
    /// All its arguments, without the program.
    pub typed: Vec<String>,
    /// The index of the verb among them.
    pub verb: usize,
    /// Whether a person typed it, as far as can be seen. Called only for a command that a person types otherwise.
    pub is_a_persons: Option<fn() -> bool>,
}

/// Verbs whose next word is a verb too.
const NESTED: [&str; 7] = ["courier", "failed", "group", "rooms", "tools", "tree", "workflow"];

impl Present {
    /// Where an option of the verb may stand.
    fn verb_end(&self) -> usize {
        let is_nested = self.typed.get(self.verb).is_some_and(|verb| NESTED.contains(&verb.as_str()));
        let has_second = self.typed.get(self.verb + 1).is_some_and(|word| !word.starts_with('-'));
        self.verb + 1 + usize::from(is_nested && has_second)
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    Command(Command),
    /// Advice that is no command.
    Advice(String),
}

/// A command to type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    what: What,
    /// The name to act as, if it is not that of the present command.
    acting: Option<String>,
    /// The room to look in, if it is not that of the present command.
    room: Option<String>,
    /// What it does.
    remark: String,
    /// What a person types instead.
    for_person: Option<Box<Command>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Words(Vec<String>),
    /// The present command with one more option.
    With(&'static str),
    /// The present command with another word in place of one.
    Instead {
        of: String,
        word: String,
    },
}

/// The longest present command that is repeated: its text may be a whole message.
const LONGEST: usize = 120;

/// Between a command and what it does.
const GAP: &str = "  # ";

impl From<&str> for Hint {
    fn from(advice: &str) -> Self {
        Self::Advice(advice.to_owned())
    }
}

impl From<String> for Hint {
    fn from(advice: String) -> Self {
        Self::Advice(advice)
    }
}

impl From<Command> for Hint {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

impl Hint {
    /// A command, as words after the program and the flags of every verb.
    pub fn run(words: &[&str]) -> Command {
        Command::of(What::Words(words.iter().map(|&word| word.to_owned()).collect()))
    }

    /// The present command by another name.
    pub fn again_as(name: &str) -> Command {
        Command { acting: Some(name.to_owned()), ..Command::of(What::With("")) }
    }

    /// The present command with one more option.
    pub fn again_with(option: &'static str) -> Command {
        Command::of(What::With(option))
    }

    /// The present command with another word in place of one.
    pub fn again_instead(of: &str, word: &str) -> Command {
        Command::of(What::Instead { of: of.to_owned(), word: word.to_owned() })
    }

    /// The hint as one line.
    pub fn line(&self, present: &Present) -> String {
        match self {
            Self::Advice(advice) => advice.clone(),
            Self::Command(command) => command.line(present),
        }
    }
}

impl Command {
    fn of(what: What) -> Self {
        Self { what, acting: None, room: None, remark: String::new(), for_person: None }
    }

    /// Says what the command does.
    pub fn to(self, remark: impl Into<String>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    /// Acts as another name.
    pub fn by(self, name: &str) -> Self {
        Self { acting: Some(name.to_owned()), ..self }
    }

    /// Looks in another room.
    pub fn in_room(self, name: &str) -> Self {
        Self { room: Some(name.to_owned()), ..self }
    }

    /// Gives a person another command: what makes an agent's mailbox would not make theirs.
    pub fn for_person(self, other: Self) -> Self {
        Self { for_person: Some(Box::new(other)), ..self }
    }

    /// The command, and what it does.
    pub fn line(&self, present: &Present) -> String {
        if let (Some(other), Some(is_a_persons)) = (&self.for_person, present.is_a_persons)
            && is_a_persons()
        {
            return other.line(present);
        }
        match (self.pasted(present), self.remark.as_str()) {
            (Some(command), "") => command,
            (Some(command), remark) => format!("{command}{GAP}{remark}"),
            (None, remark) => self.in_words(remark),
        }
    }

    /// The command alone. `None` if the present one is too long to be repeated, or cannot be pasted.
    fn pasted(&self, present: &Present) -> Option<String> {
        let words = match &self.what {
            What::Words(words) => return Some(self.with_flags(present, words)),
            What::With(option) => {
                let (before, after) = present.typed.split_at_checked(present.verb_end())?;
                let option = Some(*option).filter(|option| !option.is_empty()).map(str::to_owned);
                before.iter().cloned().chain(option).chain(after.iter().cloned()).collect()
            }
            What::Instead { of, word } => {
                present.typed.iter().map(|typed| if typed == of { word } else { typed }.clone()).collect()
            }
        };
        let words = self.renamed(present, words);
        let line = joined(&words);
        let is_plain = !line.chars().any(char::is_control) && line.chars().count() <= LONGEST;
        (!present.typed.is_empty() && is_plain).then_some(line)
    }

    /// The words of the present command, with the name to act as.
    fn renamed(&self, present: &Present, words: Vec<String>) -> Vec<String> {
        let Some(name) = &self.acting else { return words };
        let before = present.acting.iter().flat_map(|old| {
            let apart = words.windows(2).position(|pair| pair[0] == "--as" && pair[1] == *old);
            apart
                .map(|at| at..at + 2)
                .or_else(|| words.iter().position(|word| *word == format!("--as={old}")).map(|at| at..at + 1))
        });
        let before: Vec<usize> = before.flatten().collect();
        let rest = words.iter().enumerate().filter(|(at, _)| !before.contains(at));
        ["--as".to_owned(), name.clone()].into_iter().chain(rest.map(|(_, word)| word.clone())).collect()
    }

    fn with_flags(&self, present: &Present, words: &[String]) -> String {
        let needs = Needs::of(words);
        let (root, room) = match &self.room {
            Some(room) => (None, Some(room)),
            None => (present.root.as_ref(), present.room.as_ref()),
        };
        let acting = self.acting.as_ref().or(present.acting.as_ref().filter(|_| needs.name));
        let flags = [
            ("--root", root.filter(|_| needs.room)),
            ("--room", room.filter(|_| needs.room)),
            ("--as", acting),
        ];
        let flags = flags.iter().filter_map(|(flag, value)| Some([(*flag).to_owned(), (*value)?.clone()]));
        joined(&flags.flatten().chain(words.iter().cloned()).collect::<Vec<_>>())
    }

    /// The hint where the command itself cannot be printed.
    fn in_words(&self, remark: &str) -> String {
        let change = match (&self.what, &self.acting) {
            (What::Instead { word, .. }, _) => word.clone(),
            (_, Some(name)) => format!("--as {}", quoted(name)),
            (What::With(option), None) => (*option).to_owned(),
            (What::Words(words), None) => joined(words),
        };
        let remark = if remark.is_empty() { String::new() } else { format!(": {remark}") };
        format!("the same with {change}{remark}")
    }
}

/// The flags that a verb needs if the present command had them.
struct Needs {
    room: bool,
    name: bool,
}

impl Needs {
    fn of(words: &[String]) -> Self {
        let verb = words.first().map_or("", String::as_str);
        // Elsewhere `--all` means all of one room.
        let is_about_rooms = ["check", "wait", "names", "status"].contains(&verb);
        let everywhere = is_about_rooms && words.iter().any(|word| word == "--all");
        let (room, name) = match verb {
            "help" | "--version" | "tools" | "rooms" | "trust" | "uninstall" => (false, false),
            "names" if everywhere => (false, false),
            "setup" | "names" | "takeover" | "group" | "adopt" | "prune" | "undo" | "doctor" | "log"
            | "trace" | "search" | "runs" | "agents" | "dispatch" | "workflow" | "approve" | "reject"
            | "tree" | "install" | "mcp" | "rename" | "stop" | "pause" | "resume" => (true, false),
            _ => (!everywhere, true),
        };
        Self { room, name }
    }
}

fn joined(words: &[String]) -> String {
    words.iter().fold("postroom".to_owned(), |line, word| format!("{line} {}", quoted(word)))
}

/// Text as one word of the shell.
pub fn quoted(text: &str) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '@' | ':' | '=' | ',');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_command_repeats_the_flags_that_it_needs() {
        let present = Present { root: Some("/r r".into()), acting: Some("al".into()), ..Present::default() };
        let line = |command: Command| Hint::from(command).line(&present);
        assert_eq!(line(Hint::run(&["check"])), "postroom --root '/r r' --as al check");
        assert_eq!(line(Hint::run(&["setup", "bo"])), "postroom --root '/r r' setup bo");
        assert_eq!(line(Hint::run(&["names", "--all"])), "postroom names --all");
        assert_eq!(line(Hint::run(&["check", "--all"])), "postroom --as al check --all");
        let failed = Hint::run(&["failed", "list", "--all"]);
        assert_eq!(line(failed), "postroom --root '/r r' --as al failed list --all");
        assert_eq!(line(Hint::run(&["trust", "/a"]).to("shows it")), "postroom trust /a  # shows it");
        let tmp = Hint::run(&["check"]).in_room("tmp").by("user");
        assert_eq!(line(tmp), "postroom --room tmp --as user check");
    }

    #[test]
    fn a_person_is_given_another_command() {
        let setup = Hint::run(&["setup"]).for_person(Hint::run(&["setup", "user"]).to("yours"));
        let line = |is_a_persons: Option<fn() -> bool>| {
            setup.line(&Present { root: Some("/r".into()), is_a_persons, ..Present::default() })
        };
        assert_eq!(line(Some(|| true)), "postroom --root /r setup user  # yours");
        assert_eq!(line(Some(|| false)), "postroom --root /r setup");
        assert_eq!(line(None), "postroom --root /r setup");
    }

    #[test]
    fn the_present_command_is_repeated_with_one_change() {
        let present =
            Present { typed: typed("--room x send reviewers -m it's"), verb: 2, ..Present::default() };
        let line = |command: Command| Hint::from(command).line(&present);
        let all = "--room x send reviewers -m 'it'\\''s'";
        assert_eq!(line(Hint::again_as("al")), format!("postroom --as al {all}"));
        assert_eq!(
            line(Hint::again_with("--allow-secrets")),
            "postroom --room x send --allow-secrets reviewers -m 'it'\\''s'"
        );
        let nested = Present { typed: typed("rooms relink a b"), ..Present::default() };
        assert_eq!(Hint::again_with("--force").line(&nested), "postroom rooms relink --force a b");
        let group = Hint::again_instead("reviewers", "@reviewers");
        assert_eq!(line(group), format!("postroom {}", all.replace("reviewers", "@reviewers")));
        for old in ["--as bo", "--as=bo"] {
            let typed = typed(&format!("{old} check"));
            let present = Present { typed, acting: Some("bo".into()), ..Present::default() };
            assert_eq!(Hint::again_as("al").line(&present), "postroom --as al check");
        }
    }

    #[test]
    fn a_long_command_is_not_repeated_and_neither_is_one_that_cannot_be_pasted() {
        for text in ["x".repeat(200), "a\u{1b}b".to_owned(), "two\nlines".to_owned()] {
            let present =
                Present { typed: vec!["send".into(), "bo".into(), "-m".into(), text], ..Present::default() };
            assert_eq!(Hint::again_as("al").line(&present), "the same with --as al");
        }
        let none = Present::default();
        assert_eq!(Hint::again_with("--force").to("does it").line(&none), "the same with --force: does it");
    }
}
