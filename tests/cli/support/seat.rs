//! A person's seat: a command at a pseudo-terminal of its own, below nobody but init, whatever runs the tests. What the
//! command asks at its terminal is answered as a person who agrees would.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::thread::JoinHandle;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Waits until its parent has ended, so that no process above the command is one of the tests.
const SCRIPT: &str = r#"read -r go; from=$1; code=$2; shift 2; "$@" <"$from"; echo $? >"$code""#;

/// A command that was started at a seat.
pub(crate) struct Seated {
    pub(crate) out: ChildStdout,
    err: ChildStderr,
    code: PathBuf,
    person: JoinHandle<()>,
    _place: tempfile::TempDir,
}

/// A new terminal, from the side of the person, and the name of its other side.
pub(crate) fn terminal() -> (OwnedFd, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, vec![]).unwrap().into_string().unwrap();
    (terminal, name)
}

/// Opens what is to be the input of a command; a terminal does not become that of this process.
pub(crate) fn open(path: &Path) -> File {
    opened(File::options().read(true), path)
}

/// Opens a terminal to read from it and to write to it; it does not become that of this process.
pub(crate) fn open_both_ways(path: &Path) -> File {
    opened(File::options().read(true).write(true), path)
}

fn opened(options: &mut OpenOptions, path: &Path) -> File {
    let flags = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap();
    options.custom_flags(flags).open(path).unwrap()
}

/// A command that has no terminal, although the person who runs the tests may sit at one.
pub(crate) fn apart(command: Command) -> Command {
    static AT_TERMINAL: LazyLock<bool> = LazyLock::new(|| File::open("/dev/tty").is_ok());
    if !*AT_TERMINAL {
        return command;
    }
    let mut alone = Command::new("/usr/bin/setsid");
    alone.arg("--wait");
    like(&mut alone, &command);
    alone
}

/// Lets a command start another one, as that one would be started.
pub(crate) fn like(starter: &mut Command, command: &Command) {
    starter.arg(command.get_program()).args(command.get_args()).env_clear();
    starter.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.get_current_dir().map(|dir| starter.current_dir(dir));
}

/// Starts a command; its standard input is a file. `agrees`: what the person answers.
pub(crate) fn start(command: &Command, input: &Path, agrees: bool) -> Seated {
    start_with(command, input, move |terminal| attend(terminal, agrees, std::io::sink()))
}

/// Starts a command whose terminal, with this many columns, is shown to somebody else too.
pub(crate) fn start_shown(
    command: &Command,
    input: &Path,
    columns: u16,
    shows: impl Write + Send + 'static,
) -> Seated {
    start_with(command, input, move |terminal| {
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();
        attend(terminal, true, shows);
    })
}

/// Starts a command at whose terminal somebody else sits: `attend` gets it, and has to begin with a line.
pub(crate) fn start_with(
    command: &Command,
    input: &Path,
    attend: impl FnOnce(File) + Send + 'static,
) -> Seated {
    let (terminal, name) = terminal();
    let slave = open(Path::new(&name));
    let place = tempfile::tempdir().unwrap();
    let code = place.path().join("code");
    let mut seated = Command::new("/usr/bin/setsid");
    seated.args(["--fork", "--ctty", "/bin/sh", "-c", SCRIPT, "sh"]).arg(input).arg(&code);
    like(&mut seated, command);
    let mut child = seated.stdin(slave).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(seated);
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    assert!(child.wait().unwrap().success());
    let person = std::thread::spawn(move || attend(File::from(terminal)));
    Seated { out, err, code, person, _place: place }
}

impl Seated {
    /// Returns when the command has ended.
    pub(crate) fn ends(self) {
        self.person.join().unwrap();
    }
}

/// Runs a command to its end: its exit code and what it printed.
pub(crate) fn run(command: &Command, input: &[u8], agrees: bool) -> (i32, String, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), input).unwrap();
    let mut seated = start(command, file.path(), agrees);
    let (mut out, mut err) = (String::new(), String::new());
    let errors = std::thread::spawn(move || {
        seated.err.read_to_string(&mut err).unwrap();
        err
    });
    seated.out.read_to_string(&mut out).unwrap();
    let err = errors.join().unwrap();
    seated.person.join().unwrap();
    let code = std::fs::read_to_string(&seated.code).unwrap();
    (code.trim().parse().unwrap(), out, err)
}

/// What the person does at the terminal, until nobody has it any more.
fn attend(mut terminal: File, agrees: bool, mut shows: impl Write) {
    terminal.write_all(b"go\n").unwrap();
    let (mut seen, mut bytes) = (String::new(), [0; 4096]);
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        // Nobody may be looking any more.
        let _ = shows.write_all(&bytes[..count]);
        let named = seen.rsplit_once("Type ").and_then(|(_, rest)| rest.strip_suffix(" to go on: "));
        let answer = match named {
            _ if !agrees && seen.ends_with(' ') => "no".to_owned(),
            Some(name) => name.to_owned(),
            None if seen.ends_with("[y/N] ") => "y".to_owned(),
            None => continue,
        };
        seen.clear();
        let _ = writeln!(terminal, "{answer}");
    }
}
