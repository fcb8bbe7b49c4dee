//! What an agent program is to postroom: which hooks it calls and when, how it takes an answer, which files it reads, and
//! how an idle session of it is woken. Words only; `programs` says what holds for each.

/// A moment in the life of a session at which a program calls a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Start,
    Prompt,
    ToolEnd,
    Stop,
    /// A file arrived in a watched directory.
    Mail,
    End,
}

impl Event {
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Start, "session-start"),
        (Self::Prompt, "prompt"),
        (Self::ToolEnd, "tool-end"),
        (Self::Stop, "stop"),
        (Self::Mail, "mail"),
        (Self::End, "session-end"),
    ];

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(event, _)| *event)
    }

    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(event, _)| *event == self).map_or("", |(_, word)| word)
    }
}

/// Where a program takes text that is meant for its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// `hookSpecificOutput.additionalContext`, with the name of the event.
    Nested,
    /// `additionalContext` at the top.
    Top,
    /// `{"text":…,"watch":[…]}`: our own plugin reads it.
    Plugin,
}

/// How a program is kept from stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// By context: it then shows no error.
    Context,
    /// `{"decision":"block","reason":…}`.
    Block,
}

/// How an idle session is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// By a hook on arriving files that ends with 2, in sessions that a person attends.
    Rewake,
    /// By a command that queues a message for a session.
    Queue,
    /// By our plugin, which watches and prompts.
    Plugin,
    /// Not at all: it hears of mail at its next prompt.
    NextPrompt,
}

/// One hook: when, the program's name for it, and the entry in its settings with `{command}` in it.
#[derive(Debug, Clone, Copy)]
pub struct Hook {
    pub event: Event,
    pub name: &'static str,
    pub entry: &'static str,
}

/// What stands in a file of settings, or that the file is wholly ours.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    Json(&'static [Entry]),
    Toml(&'static [Entry]),
    Whole(&'static str),
    /// Every hook as one file of its own, in this frame with `{hooks}` in it.
    Hooks(&'static str),
    /// The skill with its pages, below the path.
    Skill,
}

/// One change; values are JSON with `{postroom}`, `{root}` and the like in them.
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    /// Every hook, each in the list of its name below this key.
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
}

/// A file that a program gets; `{config}`, `{home}`, `{beside}` and `{project}` begin its path.
#[derive(Debug, Clone, Copy)]
pub struct File {
    pub path: &'static str,
    pub content: Content,
}

/// One agent program.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    pub word: &'static str,
    pub title: &'static str,
    /// The version all this was verified with.
    pub tested: [u32; 3],
    /// The variable that moves its settings, and where they are without it, below the home directory.
    pub config: (&'static str, &'static str),
    pub hooks: &'static [Hook],
    pub context: Context,
    pub hold: Hold,
    pub wake: Wake,
    /// The variable by which it tells the commands it starts their session, if it does.
    pub session: Option<&'static str>,
    /// A variable of those commands that says no more than which program it is.
    pub mark: Option<&'static str>,
    /// The variable with the number of its process.
    pub process: Option<&'static str>,
    /// The variable that is 1 where a person sits before the session.
    pub attended: Option<&'static str>,
    /// What allows a write to `{root}` that its sandbox forbade.
    pub forbidden: &'static str,
    /// Whether a session has a process to itself, so that its end is the end of the session.
    pub own_process: bool,
    pub user: &'static [File],
    pub project: &'static [File],
    /// What it reads where it runs and in the directories above, and obeys: a file, or with a `/` at the end all below.
    pub reads: &'static [&'static str],
    /// Arguments that open it in a terminal; `{prompt}` is its first prompt.
    pub open: &'static [&'static str],
    /// Arguments that make it say what it knows of our server.
    pub witness: &'static [&'static str],
    /// What the person still has to do.
    pub then: &'static str,
}
