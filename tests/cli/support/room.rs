//! A throw-away room for one test: runs the real binary in it, with an empty environment.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::support::hand::{age, tighten};
use crate::support::picture::{Tree, tree};
use crate::support::{pasted, schemas, seat};

/// A room in a directory of its own. On drop the doctor looks at it and must find nothing.
pub(crate) struct TestRoom {
    temp: tempfile::TempDir,
    strict: bool,
}

/// A command in the making.
pub(crate) struct Run {
    command: Command,
    input: Vec<u8>,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    /// With `--json`: the names of the documents that it printed, each of which fits its schema.
    pub(crate) documents: Vec<String>,
}

impl TestRoom {
    /// A room with these mailboxes.
    pub(crate) fn with(names: &[&str]) -> Self {
        let room = Self::empty();
        for name in names {
            // The person's mailbox is made for the person.
            let child = (*name == "user").then_some("--child");
            room.run(["setup"].into_iter().chain(child).chain([*name])).succeeds();
        }
        room
    }

    /// A place for a room, without one.
    pub(crate) fn empty() -> Self {
        Self { temp: tempfile::tempdir().unwrap(), strict: true }
    }

    /// The test leaves something that the doctor rightly complains of.
    pub(crate) fn leaves_faults(mut self) -> Self {
        self.strict = false;
        self
    }

    /// The directory around the room, for files of the test.
    pub(crate) fn around(&self) -> &Path {
        self.temp.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().join("room")
    }

    /// The id of a named mailbox, out of the registry.
    pub(crate) fn id(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.root().join("registry.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json[name]["id"].as_str().unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
    }

    /// A folder of a named mailbox.
    pub(crate) fn folder(&self, name: &str, folder: &str) -> PathBuf {
        self.root().join(self.id(name)).join(folder)
    }

    /// The names of the files in a folder, sorted; a missing folder has none.
    pub(crate) fn files(&self, name: &str, folder: &str) -> Vec<String> {
        let Ok(list) = std::fs::read_dir(self.folder(name, folder)) else {
            return vec![];
        };
        let mut names: Vec<_> = list.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Places a file by hand in a mailbox's inbox, old enough to be judged.
    pub(crate) fn place(&self, name: &str, file: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder(name, "inbox").join(file);
        std::fs::write(&path, content).unwrap();
        tighten(&path);
        age(&path, 60);
        path
    }

    /// Everything that is in the room, for a comparison of before and after.
    pub(crate) fn tree(&self) -> Tree {
        tree(&self.root())
    }

    /// Insists that the room is what it was.
    #[track_caller]
    pub(crate) fn is_still(&self, before: &Tree, after_what: &str) {
        let now = self.tree();
        let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let was = |what: Option<&String>| {
            what.map_or("nothing".into(), |w| w.chars().take(200).collect::<String>())
        };
        let changes: Vec<_> = paths
            .into_iter()
            .filter(|path| before.get(*path) != now.get(*path))
            .map(|path| format!("{path}: {} -> {}", was(before.get(path)), was(now.get(path))))
            .collect();
        assert!(changes.is_empty(), "{after_what}: {changes:#?}");
    }

    /// Puts a file where a mailbox stages its messages: nothing can be delivered to it until that is taken away.
    pub(crate) fn block(&self, name: &str) {
        let tmp = self.folder(name, "tmp");
        std::fs::remove_dir(&tmp).unwrap();
        std::fs::write(tmp, "").unwrap();
    }

    pub(crate) fn unblock(&self, name: &str) {
        std::fs::remove_file(self.folder(name, "tmp")).unwrap();
        self.by(name, ["check"]).ends();
    }

    /// Leaves a mailbox as a prune does that is killed before the name is gone.
    pub(crate) fn prune_in_part(&self, name: &str) {
        let id = self.id(name);
        let bag = format!(".trash/20990101T000000Z-{:08x}/mailboxes", std::process::id());
        self.bash(&format!("umask 077; cd \"$POSTROOM_ROOT\" && mkdir -p {bag} && mv {id} {bag}/{id}"))
            .succeeds();
    }

    /// Gives all messages of a folder names of long ago.
    pub(crate) fn backdate(&self, name: &str, folder: &str) {
        for file in self.files(name, folder) {
            let folder = self.folder(name, folder);
            std::fs::rename(folder.join(&file), folder.join(format!("20260101T000000Z{}", &file[16..])))
                .unwrap();
        }
    }

    /// Sets the limits of the room.
    pub(crate) fn limit(&self, line: &str) {
        let path = self.root().join("postroom.toml");
        std::fs::write(&path, format!("[limits]\n{line}\n")).unwrap();
        tighten(&path);
    }

    /// A command in this room.
    pub(crate) fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Run {
        let root = self.root();
        let mut run = self.bare([]);
        // An agent may make this room too, because the person started it so.
        run.command.env("POSTROOM_ROOT", &root).arg("--root").arg(root).args(arguments);
        run
    }

    /// A line of bash around the binary, which stands there as `postroom` and knows the room by POSTROOM_ROOT.
    pub(crate) fn bash(&self, script: &str) -> Run {
        let binary = Path::new(env!("CARGO_BIN_EXE_postroom"));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.parent().unwrap().display());
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-c", script])
            .env_clear()
            .current_dir(self.around())
            .env("HOME", self.around().join("home"))
            .env("PATH", path)
            .env("POSTROOM_ROOT", self.root());
        Run { command, input: vec![] }
    }

    /// A line as a person pastes it into a shell, which knows nothing of the room.
    pub(crate) fn paste(&self, line: &str) -> Run {
        let mut run = self.bash(line);
        run.command.env_remove("POSTROOM_ROOT");
        run
    }

    /// A command as one of the mailboxes.
    pub(crate) fn by<'a>(&self, name: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Run {
        self.run(["--as", name].into_iter().chain(arguments))
    }

    /// A command that is not told where the room is.
    pub(crate) fn bare<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_postroom"));
        command
            .args(arguments)
            .env_clear()
            .current_dir(self.around())
            .env("HOME", self.around().join("home"));
        Run { command, input: vec![] }
    }

    /// Sends `text` from one mailbox to another and gives the eight digits of its id.
    pub(crate) fn send(&self, from: &str, to: &str, text: &str) -> String {
        let ran = self.by(from, ["send", to, "-m", text]).succeeds();
        ran.out.split(' ').nth(1).unwrap_or_else(|| panic!("{ran:?}")).to_owned()
    }
}

impl Drop for TestRoom {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.root().exists() {
            return;
        }
        let arguments: &[&str] = if self.strict { &["doctor", "--strict"] } else { &["doctor"] };
        let ran = self.run(arguments.iter().copied()).ends();
        if self.strict {
            assert_eq!(ran.code, 0, "the doctor found: {}{}", ran.out, ran.err);
        } else {
            assert!([0, 4].contains(&ran.code), "the doctor failed: {ran:?}");
        }
    }
}

impl Run {
    pub(crate) fn input(mut self, text: impl AsRef<[u8]>) -> Self {
        self.input = text.as_ref().to_vec();
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// One more argument, which need not be text.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn within(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// The command, for a test that starts it itself.
    pub(crate) fn command(self) -> Command {
        self.command
    }

    /// Starts it and goes on; for commands that wait.
    pub(crate) fn start(self) -> Child {
        seat::apart(self.command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Starts it with an output whose reader has gone before the first byte.
    pub(crate) fn closed_pipe(self) -> Child {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        seat::apart(self.command).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn ends(self) -> Ran {
        let arguments = self.arguments();
        let mut command = seat::apart(self.command);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = self.input;
        // Written beside the reading: a command that refuses early leaves the pipe full.
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran::of_output(&arguments, output)
    }

    fn arguments(&self) -> Vec<String> {
        self.command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect()
    }

    /// Runs it to its end at a terminal, as a person does.
    pub(crate) fn by_person(self) -> Ran {
        let (code, out, err) = seat::run(&self.command, &self.input, true);
        Ran::of(&self.arguments(), code, out, err)
    }

    /// Runs it at the terminal of a person who says no to every question.
    pub(crate) fn by_doubter(self) -> Ran {
        let (code, out, err) = seat::run(&self.command, &self.input, false);
        Ran::of(&self.arguments(), code, out, err)
    }

    /// Starts it at a terminal that the test attends.
    pub(crate) fn seated(self, attend: impl FnOnce(std::fs::File) + Send + 'static) -> seat::Seated {
        seat::start_with(&self.command, Path::new("/dev/null"), attend)
    }

    /// Runs it and insists on exit 0.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Ran {
        self.exits(0)
    }

    /// Runs it and insists on this exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Ran {
        self.ends().with(code)
    }

    /// Runs it with `--json` already among its arguments and gives the document.
    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        let ran = self.ends();
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
    }
}

impl Ran {
    /// What a command did that was started before.
    #[track_caller]
    pub(crate) fn end(child: Child) -> Self {
        Self::of_output(&[], child.wait_with_output().unwrap())
    }

    #[track_caller]
    fn of_output(arguments: &[String], output: Output) -> Self {
        let code = output.status.code().unwrap_or_else(|| panic!("ended by a signal: {}", output.status));
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Self::of(arguments, code, out, err)
    }

    #[track_caller]
    fn of(arguments: &[String], code: i32, out: String, err: String) -> Self {
        pasted::insist(arguments, &out, &err);
        let documents = schemas::insist(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), &out);
        Self { code, out, err, documents }
    }

    /// Insists on this exit code.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}
