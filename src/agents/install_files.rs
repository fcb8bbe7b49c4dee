//! Pieces: the files that a program gets in one place, with their content. Pure; built from the table.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::change::{Change, Language, What};
use super::programs::{Content, Entry, Event, File, Hook, Program, Wake};
use super::texts;

/// Where a program is set up, and with what.
#[derive(Debug, Clone)]
pub struct Site {
    pub home: PathBuf,
    /// The program's own settings directory.
    pub config: PathBuf,
    /// Whether it is not in the default place.
    pub moved: bool,
    /// The project, if the installation is for that alone.
    pub project: Option<PathBuf>,
    /// How hooks call postroom; in a project by name, because others have it at another path.
    pub postroom: String,
    /// The directories that must be writable: those of all rooms and of the sessions, and a room outside them.
    pub roots: Vec<PathBuf>,
    /// The fixed mailbox name of its sessions.
    pub name: Option<String>,
    /// The longest body that a notice brings along, in bytes.
    pub bodies: Option<usize>,
    /// Whether the program is known to have the hook that wakes.
    pub wakes: bool,
    /// Whether the person allowed typing into its terminal to wake it.
    pub types: bool,
    /// The directory of one start, if these files are for that alone.
    pub start: Option<PathBuf>,
    /// Whether the MCP server is registered.
    pub mcp: bool,
    /// The path by which its shell calls postroom, if it does not find it by name.
    pub called: Option<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub path: PathBuf,
    pub form: Form,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// Changes of settings.
    Settings(Language, Vec<Change>),
    /// A file that is wholly ours.
    Whole(String),
}

impl Site {
    /// All files of a program here.
    pub fn install_files(&self, program: &Program) -> Vec<Piece> {
        let files = if self.project.is_some() { program.project } else { program.user };
        self.pieces(program, files)
    }

    /// Whether the user's skill for this program is there, by this installation or by that of another program.
    pub fn has_skill(&self, program: &Program) -> bool {
        let skills = program.user.iter().filter(|file| matches!(file.content, Content::Skill));
        skills.flat_map(|file| self.piece(program, file)).next().is_some_and(|page| page.path.is_file())
    }

    pub(super) fn pieces(&self, program: &Program, files: &[File]) -> Vec<Piece> {
        files.iter().flat_map(|file| self.piece(program, file)).collect()
    }

    fn piece(&self, program: &Program, file: &File) -> Vec<Piece> {
        let path = self.path(file.path);
        let changes = |entries: &[Entry]| entries.iter().flat_map(|e| self.changes(program, e)).collect();
        let form = match file.content {
            Content::Json(entries) => Form::Settings(Language::Json, changes(entries)),
            Content::Strict(entries) => Form::Settings(Language::Strict, changes(entries)),
            Content::Commented(entries) => Form::Settings(Language::Commented, changes(entries)),
            Content::Toml(entries) => Form::Settings(Language::Toml, changes(entries)),
            Content::Whole(word) => Form::Whole(self.filled(&texts::whole(word))),
            Content::Hooks(frame) => Form::Whole(self.hook_file(program, frame)),
            Content::Skill => {
                let page = |(name, text): &(&str, &str)| Piece {
                    path: path.join(name),
                    form: Form::Whole((*text).to_owned()),
                };
                return texts::SKILL.iter().map(page).collect();
            }
        };
        match &form {
            Form::Settings(_, changes) if changes.is_empty() => vec![],
            _ => vec![Piece { path, form }],
        }
    }

    fn path(&self, template: &str) -> PathBuf {
        let (word, rest) = template.split_once('/').unwrap_or((template, ""));
        let base: &Path = match word {
            "{config}" => &self.config,
            // Claude Code keeps one file beside its directory, unless that was moved.
            "{beside}" if self.moved => &self.config,
            "{project}" => self.project.as_deref().unwrap_or(&self.home),
            "{start}" => self.start.as_deref().unwrap_or(&self.home),
            _ => &self.home,
        };
        base.join(rest)
    }

    pub(super) fn changes(&self, program: &Program, entry: &Entry) -> Vec<Change> {
        let project = self.project.as_deref().unwrap_or(&self.home).display().to_string();
        let keys = |at: &[&str]| at.iter().map(|key| key.replace("{project}", &project)).collect::<Vec<_>>();
        match entry {
            Entry::Hooks(key) => {
                let hook = |hook: &Hook| Change {
                    at: vec![(*key).to_owned(), hook.name.to_owned()],
                    what: What::Add {
                        value: self.hook(program, hook),
                        mark: Some(format!(" hook {} {}", program.word, hook.event.as_str())),
                    },
                };
                self.hooks(program).map(hook).collect()
            }
            Entry::WithServer(entry) if self.mcp => self.changes(program, entry),
            Entry::WithServer(_) => vec![],
            Entry::Put { at, key, value } => self.for_roots(key, |root| Change {
                at: keys(at),
                what: What::Put {
                    key: key.replace("{root}", root).replace("{skill}", &self.skill()),
                    value: self.value(value, root),
                },
            }),
            Entry::Add { at, value } => self.for_roots(value, |root| Change {
                at: keys(at),
                what: What::Add { value: self.value(value, root), mark: None },
            }),
        }
    }

    /// One change for each root, if the template mentions one.
    fn for_roots(&self, template: &str, change: impl Fn(&str) -> Change) -> Vec<Change> {
        match template.contains("{root}") {
            true => self.roots.iter().map(|root| change(&root.display().to_string())).collect(),
            false => vec![change("")],
        }
    }

    pub(super) fn hooks(&self, program: &Program) -> impl Iterator<Item = &'static Hook> {
        let wakes = self.wakes;
        program.hooks.iter().filter(move |hook| wakes || !matches!(hook.event, Event::Mail | Event::Watch))
    }

    pub(super) fn hook(&self, program: &Program, hook: &Hook) -> Value {
        let command = self.command(program, hook.event);
        serde_json::from_str(&hook.entry.replace("{command}", &quoted(&command))).unwrap_or(Value::Null)
    }

    /// The command line of a hook: it does nothing where postroom is missing, and leaves no shell behind.
    pub fn command(&self, program: &Program, event: Event) -> String {
        let postroom = word(&self.postroom);
        let there = match self.postroom.contains('/') {
            true => format!("test -x {postroom}"),
            false => format!("command -v {postroom} >/dev/null 2>&1"),
        };
        let options: String =
            self.options(program).iter().map(|option| format!(" {}", word(option))).collect();
        // Files of one start may be where other sessions read them too.
        let only = self.start.as_ref().map_or("", |_| "test -n \"$POSTROOM_START\" || exit 0; ");
        format!("{only}{there} || exit 0; exec {postroom} hook {} {}{options}", program.word, event.as_str())
    }

    /// The options of every hook of a program.
    fn options(&self, program: &Program) -> Vec<String> {
        let name = self.name.iter().flat_map(|name| ["--name".to_owned(), name.clone()]);
        let bodies = self.bodies.iter().flat_map(|bytes| ["--bodies".to_owned(), bytes.to_string()]);
        let types = (self.types && program.wake == Wake::Typed).then(|| "--type-into-tmux".to_owned());
        let called = self.called.iter().flat_map(|path| ["--called".to_owned(), path.clone()]);
        name.chain(bodies).chain(types).chain(called).collect()
    }

    fn hook_file(&self, program: &Program, frame: &str) -> String {
        let mut lists = Map::new();
        for hook in self.hooks(program) {
            let list = lists.entry(hook.name).or_insert_with(|| Value::Array(vec![]));
            list.as_array_mut().into_iter().for_each(|list| list.push(self.hook(program, hook)));
        }
        let whole = frame.replace("{hooks}", &Value::Object(lists).to_string());
        let value: Value = serde_json::from_str(&whole).unwrap_or(Value::Null);
        serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
    }

    pub(super) fn value(&self, template: &str, root: &str) -> Value {
        let start = self.start.as_deref().map(in_address).unwrap_or_default();
        let filled = template.replace("{postroom}", &quoted(&self.postroom)).replace("{root}", &quoted(root));
        let filled = filled.replace("{start}", &start);
        serde_json::from_str(&filled).unwrap_or(Value::Null)
    }

    /// One of our texts with its placeholders filled in.
    fn filled(&self, text: &str) -> String {
        let name = self.name.iter().flat_map(|name| ["--name".to_owned(), name.clone()]);
        let bodies = self.bodies.iter().flat_map(|bytes| ["--bodies".to_owned(), bytes.to_string()]);
        let options: Vec<String> = name.chain(bodies).map(|option| quoted(&option)).collect();
        let called = self.called.as_deref().unwrap_or("postroom");
        text.replace("\"{postroom}\"", &quoted(&self.postroom))
            .replace("{called}", &quoted(called))
            .replace("{name}", &options.join(", "))
            .replace("{skill}", &self.skill())
            .replace("\"{start}\"", &self.brought())
    }

    /// What a plugin itself adds to the settings, as JSON: nothing, unless it is for one start.
    fn brought(&self) -> String {
        let brought = |start: &PathBuf| json!({"skills": start.join("skills"), "roots": self.roots});
        self.start.as_ref().map_or(Value::Null, brought).to_string()
    }

    /// The directory of the skill that most programs read. In a project it is named from there.
    fn skill(&self) -> String {
        let below = Path::new(".agents/skills/mailbox");
        let whole = if self.project.is_some() { below.to_owned() } else { self.home.join(below) };
        whole.display().to_string()
    }
}

/// Text as a JSON string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A path within an address that begins with `file://`.
fn in_address(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    let step = |byte: &u8| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    path.as_os_str().as_bytes().iter().map(step).collect()
}

/// Text as one shell word.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::super::programs::PROGRAMS;
    use super::*;

    fn site(project: Option<&str>) -> Site {
        Site {
            home: "/h".into(),
            config: "/h/.x".into(),
            moved: false,
            project: project.map(Into::into),
            postroom: "/opt/it's/postroom".to_owned(),
            roots: vec!["/h/mail".into(), "/h/sessions".into()],
            name: Some("bob".to_owned()),
            bodies: None,
            wakes: true,
            types: false,
            start: None,
            mcp: true,
            called: None,
        }
    }

    #[test]
    fn nothing_is_left_to_fill_in_and_every_value_is_one() {
        for program in &PROGRAMS {
            for piece in
                site(None).install_files(program).into_iter().chain(site(Some("/p")).install_files(program))
            {
                assert!(piece.path.is_absolute() && !piece.path.to_string_lossy().contains('{'));
                match &piece.form {
                    Form::Whole(text) => {
                        assert!(!text.contains("{postroom}") && !text.contains("{name}"), "{text}")
                    }
                    Form::Settings(_, changes) => {
                        let text = serde_json::to_string(changes).unwrap();
                        assert!(!text.contains("null,\"mark") && !text.contains("{root}"), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_command_disables_itself_and_quotes_its_path() {
        let line = site(None).command(&PROGRAMS[0], Event::Stop);
        assert_eq!(
            line,
            "test -x '/opt/it'\\''s/postroom' || exit 0; exec '/opt/it'\\''s/postroom' hook claude stop --name bob"
        );
    }

    #[test]
    fn the_length_of_bodies_is_an_option_of_every_hook() {
        let site = Site { bodies: Some(500), ..site(None) };
        assert!(
            site.command(&PROGRAMS[0], Event::Stop).ends_with(" hook claude stop --name bob --bodies 500")
        );
        assert_eq!(site.filled("[{name}]"), r#"["--name", "bob", "--bodies", "500"]"#);
    }

    #[test]
    fn without_the_server_no_file_speaks_of_it() {
        for program in &PROGRAMS {
            for project in [None, Some("/p")] {
                let pieces = Site { mcp: false, ..site(project) }.install_files(program);
                for Piece { path, form } in &pieces {
                    let Form::Settings(_, changes) = form else { continue };
                    let text = serde_json::to_string(changes).unwrap();
                    assert!(!changes.is_empty() && !text.contains("mcp"), "{}: {text}", path.display());
                }
                assert!(pieces.len() <= site(project).install_files(program).len());
            }
        }
    }

    #[test]
    fn a_shell_that_does_not_find_postroom_is_given_its_path() {
        let there = Site { called: Some("/opt/p".to_owned()), ..site(None) };
        assert!(there.command(&PROGRAMS[1], Event::Start).ends_with(" --called /opt/p"));
        let rules = there.install_files(&PROGRAMS[1]);
        let rules = rules.iter().find(|piece| piece.path.ends_with("postroom.rules")).unwrap();
        assert!(matches!(&rules.form, Form::Whole(text) if text.contains("[\"/opt/p\"]")), "{rules:?}");
    }

    #[test]
    fn an_older_claude_gets_no_hook_that_it_does_not_know() {
        let older = Site { wakes: false, ..site(None) };
        let text = |site: &Site| format!("{:?}", site.install_files(&PROGRAMS[0]));
        assert!(text(&site(None)).contains("FileChanged") && !text(&older).contains("FileChanged"));
    }
}
