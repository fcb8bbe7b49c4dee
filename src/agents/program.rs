//! What Postroom knows of an agent program: its hooks and when it calls them, how it takes an answer, its files, and
//! how an idle session is woken. Types only; `programs` has the values.

/// A moment in the life of a session at which a program calls a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Start,
    Prompt,
    ToolEnd,
    Stop,
    /// A file arrived in a watched directory. The answer may wake the session.
    Mail,
    /// A file arrived, told at once. The answer may only say what to watch from now on.
    Watch,
    End,
}

impl Event {
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Start, "session-start"),
        (Self::Prompt, "prompt"),
        (Self::ToolEnd, "tool-end"),
        (Self::Stop, "stop"),
        (Self::Mail, "mail"),
        (Self::Watch, "watch"),
        (Self::End, "session-end"),
    ];

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(event, _)| *event)
    }

    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(event, _)| *event == self).map_or("", |(_, word)| word)
    }
}

/// Where a program accepts text for its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// `hookSpecificOutput.additionalContext`, with the name of the event.
    Nested,
    /// `additionalContext` at the top.
    Top,
    /// `{"text":…,"watch":[…]}`, read by our own plugin.
    Plugin,
}

/// How a program is kept from stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// By context: then it shows no error.
    Context,
    /// `{"decision":"block","reason":…}`.
    Block,
}

/// How an idle session is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// By a hook on arriving files that exits with 2, in sessions with a person.
    Rewake,
    /// By `postroom waker`, with a command that queues a message for a session.
    Queue,
    /// By `postroom waker`, with a line that is typed into tmux, if the person allowed it.
    Typed,
    /// By our plugin, which watches and prompts.
    Plugin,
}

/// One hook: when, the program's name for it, and its settings entry with `{command}`.
#[derive(Debug, Clone, Copy)]
pub struct Hook {
    pub event: Event,
    pub name: &'static str,
    pub entry: &'static str,
}

/// The content of a file.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// Comments and trailing commas are allowed.
    Json(&'static [Entry]),
    /// Comments are allowed.
    Commented(&'static [Entry]),
    /// JSON as the standard has it: a program does not load anything else here.
    Strict(&'static [Entry]),
    Toml(&'static [Entry]),
    Whole(&'static str),
    /// All hooks as one file, in this frame with `{hooks}`.
    Hooks(&'static str),
    /// The skill with its pages, below the path.
    Skill,
}

/// One change; values are JSON with placeholders such as `{postroom}` and `{root}`.
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    /// All hooks, each in the list of its name below this key.
    Hooks(&'static str),
    Put {
        at: &'static [&'static str],
        key: &'static str,
        value: &'static str,
    },
    Add {
        at: &'static [&'static str],
        value: &'static str,
    },
    /// Only where the MCP server is registered.
    WithServer(&'static Entry),
}

/// A file that a program gets; its path begins with `{config}`, `{home}`, `{beside}`, `{project}` or, for one start,
/// `{start}`.
#[derive(Debug, Clone, Copy)]
pub struct File {
    pub path: &'static str,
    pub content: Content,
}

/// How a program gets all this for one start, without an installation (`postroom claude`). Words may have the
/// placeholders `{start}` (the directory of this start), `{config}`, `{postroom}` and `{root}` (then they are repeated
/// for each root).
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    /// What the program reads in this start. A file below `{start}` is ours; any other is in the directories of the
    /// program, and the ledger takes it out when the last start that uses it is over.
    pub files: &'static [File],
    pub arguments: &'static [Argument],
    pub position: Position,
    pub variables: &'static [Variable],
    /// First words that are commands of the program and open no session.
    pub commands: &'static [&'static str],
    /// First words that open a session without a terminal.
    pub headless: &'static [&'static str],
    pub resume: Resume,
    /// Words by which a person goes on with an earlier session.
    pub resumes: &'static [&'static str],
}

/// Words on the command line of a start.
#[derive(Debug, Clone, Copy)]
pub enum Argument {
    /// In every start.
    Always(&'static [&'static str]),
    /// Unless `postroom install` has brought it.
    Kit(&'static [&'static str]),
    /// As `Kit`, if the files of this start hold the skill.
    Skill(&'static [&'static str]),
    /// As `Kit`, unless the person gave this option too.
    Unless(&'static str, &'static [&'static str]),
    /// In a terminal.
    Attended(&'static [&'static str]),
    /// `-c KEY=VALUE`, the value in JSON. As `Kit`.
    Setting(&'static str, &'static str),
    /// The hooks as settings on the command line, with the trust in them, unless the installed ones are trusted.
    Hooks,
    /// The rooms, writable in the sandbox of Codex: the option, and the path of the list in its settings. As `Kit`.
    Writable(&'static str, [&'static str; 2]),
}

/// Where our words stand among those of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At the front, behind a first word of `headless`.
    Front,
    /// At the end, before a `--`: an option of the program would swallow the words behind it.
    End,
}

/// A variable of one start, which keeps what the person set.
#[derive(Debug, Clone, Copy)]
pub enum Variable {
    /// Settings in JSON, with these changes. As `Argument::Kit`.
    Settings(&'static str, &'static [Entry]),
    /// A list with commas, with one more item.
    Listed(&'static str, &'static str),
}

/// How a session is resumed by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// By an option with the id.
    Option(&'static str),
    /// By a word and the id, in front or behind a first word of `headless`.
    Word(&'static str),
}

/// One agent program.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    pub word: &'static str,
    pub title: &'static str,
    /// The version that all this was verified with.
    pub tested: [u32; 3],
    /// The variable that moves its settings, and their default path below the home directory.
    pub config: (&'static str, &'static str),
    pub hooks: &'static [Hook],
    pub context: Context,
    pub hold: Hold,
    pub wake: Wake,
    /// The variable with the session id in the commands it starts, if it sets one.
    pub session: Option<&'static str>,
    /// A variable in those commands that only identifies the program.
    pub mark: Option<&'static str>,
    /// The variable with its process id.
    pub process: Option<&'static str>,
    /// The variable that is 1 where a person attends the session.
    pub attended: Option<&'static str>,
    /// How to allow a write to `{root}` that its sandbox forbade.
    pub forbidden: &'static str,
    /// Whether it runs commands in a login shell, which has its own search path.
    pub login_shell: bool,
    /// Whether each session has its own process, so that its end is the end of the session. If not, only those that no
    /// daemon runs have one.
    pub own_process: bool,
    pub user: &'static [File],
    pub project: &'static [File],
    /// Files that it reads and obeys in its working directory and above: a file, or with a `/` at the end a whole
    /// directory.
    pub reads: &'static [&'static str],
    /// Arguments that open it in a terminal; `{prompt}` is its first prompt.
    pub open: &'static [&'static str],
    pub launch: Launch,
    /// What the person still has to do after the installation.
    pub then: &'static str,
}

impl Program {
    /// Whether a session is known by its process, or by the one with its terminal. Sessions of a plugin share theirs.
    pub fn is_known_by_process(&self) -> bool {
        self.context != Context::Plugin
    }

    /// Whether the person may go on with a new session in the same process without the program saying so: Codex and
    /// Copilot CLI name it like one that begins with the program.
    pub fn begins_silently(&self) -> bool {
        self.wake == Wake::Queue || self.context == Context::Top
    }
}
