//! An opener: what shows another command to a person, beside the present one. A pane or a window of tmux or zellij if we
//! are inside of one, else a window of the terminal that is there, else nothing, and then it says why.
//!
//! Words reach the command as they are: none passes through a shell. The environment is looked up by the caller.

use std::path::Path;
use std::process::{Command, Stdio};

/// A command to show.
#[derive(Debug, Clone)]
pub struct Shown<'a> {
    /// The title of its pane or window.
    pub title: &'a str,
    pub directory: &'a Path,
    pub variables: &'a [(String, String)],
    pub words: &'a [String],
}

/// How much of the screen it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A window of its own, in the background where that is possible.
    Window,
    /// A part of the window that is there.
    Pane,
}

/// Something that opens panes or windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    Tmux,
    Zellij,
    Terminal(&'static Terminal),
}

/// A terminal program: its name, the variable that shows that we are in it, and its words before a command.
#[derive(Debug, PartialEq, Eq)]
pub struct Terminal {
    name: &'static str,
    /// Empty: it opens a window on any display.
    inside: &'static str,
    /// `{title}` and `{directory}` are filled in.
    words: &'static [&'static str],
}

/// Those that answer to a command from inside come first.
static TERMINALS: [Terminal; 9] = [
    Terminal {
        name: "kitty",
        inside: "KITTY_LISTEN_ON",
        words: &["@", "launch", "--type=os-window", "--title", "{title}", "--cwd", "{directory}"],
    },
    Terminal {
        name: "wezterm",
        inside: "WEZTERM_PANE",
        words: &["cli", "spawn", "--new-window", "--cwd", "{directory}", "--"],
    },
    Terminal {
        name: "gnome-terminal",
        inside: "",
        words: &["--title", "{title}", "--working-directory", "{directory}", "--"],
    },
    Terminal { name: "konsole", inside: "", words: &["--workdir", "{directory}", "-e"] },
    Terminal {
        name: "alacritty",
        inside: "",
        words: &["--title", "{title}", "--working-directory", "{directory}", "-e"],
    },
    Terminal {
        name: "foot",
        inside: "",
        words: &["--title", "{title}", "--working-directory", "{directory}"],
    },
    Terminal { name: "kitty", inside: "", words: &["--title", "{title}", "--directory", "{directory}"] },
    Terminal { name: "xterm", inside: "", words: &["-T", "{title}", "-e"] },
    Terminal { name: "x-terminal-emulator", inside: "", words: &["-e"] },
];

impl Opener {
    /// The one that is there. `Err`: why there is none. `has`: whether a variable is set; `finds`: whether a program is
    /// on the search path.
    pub fn find(has: impl Fn(&str) -> bool, finds: impl Fn(&str) -> bool) -> Result<Self, String> {
        for (variable, program, opener) in [("TMUX", "tmux", Self::Tmux), ("ZELLIJ", "zellij", Self::Zellij)]
        {
            if has(variable) {
                return match finds(program) {
                    true => Ok(opener),
                    false => Err(format!("{program} is around, but no `{program}` is on the search path")),
                };
            }
        }
        let inside = |terminal: &&Terminal| !terminal.inside.is_empty() && has(terminal.inside);
        let display = has("DISPLAY") || has("WAYLAND_DISPLAY");
        let any = |terminal: &&Terminal| terminal.inside.is_empty() && display;
        let mut known = TERMINALS.iter().filter(inside).chain(TERMINALS.iter().filter(any));
        match known.find(|terminal| finds(terminal.name)) {
            Some(terminal) => Ok(Self::Terminal(terminal)),
            None if display => Err("no terminal program that is known here is on the search path".to_owned()),
            None => Err("there is no tmux or zellij around, and no display".to_owned()),
        }
    }

    /// What it opens, for a sentence.
    pub fn noun(self, extent: Extent) -> String {
        match (self, extent) {
            (Self::Tmux, Extent::Window) => "the window".to_owned(),
            (Self::Tmux | Self::Zellij, _) => "the pane".to_owned(),
            (Self::Terminal(terminal), _) => format!("a window of {}", terminal.name),
        }
    }

    /// Opens it. `Err`: why not, in the words of the program.
    pub fn open(self, shown: &Shown<'_>, extent: Extent) -> Result<(), String> {
        let mut command = self.command(shown, extent);
        command.stdin(Stdio::null());
        if let Self::Terminal(Terminal { inside: "", .. }) = self {
            // It stays with its window, so nobody waits for its end.
            command.envs(shown.variables.iter().map(|(name, value)| (name, value)));
            command.current_dir(shown.directory).stdout(Stdio::null()).stderr(Stdio::null());
            return command.spawn().map(|_| ()).map_err(|e| e.to_string());
        }
        match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                Err(if said.is_empty() { output.status.to_string() } else { said })
            }
            Err(e) => Err(e.to_string()),
        }
    }

    /// Shares the space evenly among all panes.
    pub fn arrange(self) {
        if self == Self::Tmux {
            let _ = Command::new("tmux").args(["select-layout", "tiled"]).stdin(Stdio::null()).output();
        }
    }

    fn command(self, shown: &Shown<'_>, extent: Extent) -> Command {
        let directory = shown.directory.display().to_string();
        let assigned = || shown.variables.iter().map(|(name, value)| format!("{name}={value}"));
        let mut command = match self {
            Self::Tmux => {
                let mut command = Command::new("tmux");
                match extent {
                    Extent::Window => command.args(["new-window", "-d", "-n", &ended(shown.title)]),
                    Extent::Pane => command.args(["split-window", "-d"]),
                };
                command.args(["-c", &ended(&directory)]);
                for variable in assigned() {
                    command.args(["-e", &ended(&variable)]);
                }
                command.arg("--").args(shown.words.iter().map(|word| ended(word)));
                return command;
            }
            Self::Zellij => {
                let mut command = Command::new("zellij");
                command.args(["run", "--close-on-exit", "--name", shown.title, "--cwd", &directory, "--"]);
                command
            }
            Self::Terminal(terminal) => {
                let fill =
                    |word: &&str| word.replace("{title}", shown.title).replace("{directory}", &directory);
                let mut command = Command::new(terminal.name);
                command.args(terminal.words.iter().map(fill));
                if terminal.inside.is_empty() {
                    command.args(shown.words);
                    return command;
                }
                command
            }
        };
        // These start it in the environment of another process.
        command.arg("env").args(assigned()).args(shown.words);
        command
    }
}

/// A word for tmux, which reads a semicolon at the end of a word as the end of a command.
fn ended(word: &str) -> String {
    match word.strip_suffix(';') {
        Some(start) => format!("{start}\\;"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(opener: Opener, extent: Extent) -> Vec<String> {
        let variables = [("PATH".to_owned(), "/b;".to_owned())];
        let all = ["/p/postroom", "claude", "--as", "it's; odd;"].map(str::to_owned);
        let shown = Shown { title: "ada", directory: Path::new("/a b"), variables: &variables, words: &all };
        let command = opener.command(&shown, extent);
        std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(|w| w.to_str().unwrap().to_owned())
            .collect()
    }

    fn found(set: &[&str], there: &[&str]) -> Result<Opener, String> {
        Opener::find(|name| set.contains(&name), |name| there.contains(&name))
    }

    #[test]
    fn the_nearest_opener_is_used_and_its_lack_is_explained() {
        let all = ["tmux", "zellij", "xterm", "kitty"];
        assert_eq!(found(&["TMUX", "ZELLIJ", "DISPLAY"], &all), Ok(Opener::Tmux));
        assert_eq!(found(&["ZELLIJ", "DISPLAY"], &all), Ok(Opener::Zellij));
        assert_eq!(found(&["DISPLAY"], &["xterm"]).unwrap().noun(Extent::Pane), "a window of xterm");
        assert_eq!(found(&["KITTY_LISTEN_ON"], &all).unwrap().noun(Extent::Window), "a window of kitty");
        assert!(found(&["ZELLIJ"], &["tmux"]).unwrap_err().contains("no `zellij` is on the search path"));
        assert!(found(&["DISPLAY"], &["tmux"]).unwrap_err().contains("no terminal program"));
        assert!(found(&[], &all).unwrap_err().contains("no display"));
    }

    #[test]
    fn no_word_is_read_as_anything_else() {
        let tmux = ["-c", "/a b", "-e", "PATH=/b\\;", "--", "/p/postroom", "claude", "--as", "it's; odd\\;"];
        assert_eq!(words(Opener::Tmux, Extent::Pane), [&["tmux", "split-window", "-d"], &tmux[..]].concat());
        assert_eq!(words(Opener::Tmux, Extent::Window)[..5], ["tmux", "new-window", "-d", "-n", "ada"]);
        let zellij = words(Opener::Zellij, Extent::Pane).join("|");
        assert!(
            zellij.ends_with("|--cwd|/a b|--|env|PATH=/b;|/p/postroom|claude|--as|it's; odd;"),
            "{zellij}"
        );
        let xterm = words(Opener::Terminal(&TERMINALS[7]), Extent::Window).join("|");
        assert_eq!(xterm, "xterm|-T|ada|-e|/p/postroom|claude|--as|it's; odd;");
    }
}
