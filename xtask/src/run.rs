//! One command, run with its command line printed before it.
//!
//! Output goes straight to the terminal, so that a person sees progress. `teed` also hands the lines of standard output
//! back, for the caller that has to know what was said.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Runs a command; anything but exit code 0 is an error that names the command.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let line = announce(command);
    let status = command.status().map_err(|source| format!("cannot run `{line}`: {source}"))?;
    judge(&line, status)
}

/// Like [`run`], but silent while all goes well: the output is printed only after a failure.
pub(crate) fn quietly(command: &mut Command) -> Result<(), String> {
    let line = announce(command);
    let output = command.output().map_err(|source| format!("cannot run `{line}`: {source}"))?;
    if !output.status.success() {
        print!("{}", String::from_utf8_lossy(&output.stdout));
        print!("{}", String::from_utf8_lossy(&output.stderr));
    }
    judge(&line, output.status)
}

/// Like [`run`], and returns what it says on standard output instead of printing it.
pub(crate) fn unseen(command: &mut Command) -> Result<String, String> {
    let line = announce(command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| format!("cannot run `{line}`: {source}"))?;
    judge(&line, output.status).map(|()| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Like [`run`], and returns the lines of standard output beside the verdict.
pub(crate) fn teed(command: &mut Command) -> (Vec<String>, Result<(), String>) {
    let line = announce(command);
    let mut lines = Vec::new();
    let verdict = tee(command, &mut lines)
        .map_err(|source| format!("cannot run `{line}`: {source}"))
        .and_then(|status| judge(&line, status));
    (lines, verdict)
}

fn tee(command: &mut Command, lines: &mut Vec<String>) -> std::io::Result<ExitStatus> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    if let Some(stdout) = child.stdout.take() {
        for bytes in BufReader::new(stdout).split(b'\n') {
            let text = String::from_utf8_lossy(&bytes?).into_owned();
            println!("{text}");
            lines.push(text);
        }
    }
    child.wait()
}

/// Whether the command can be started and succeeds; says nothing.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}

/// Where a program is. The system directories count too: they are missing from the PATH of ordinary users on Debian.
pub(crate) fn find_program(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    find_in(program, env::split_paths(&path).chain(system))
}

fn find_in(program: &str, directories: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    directories.into_iter().map(|directory| directory.join(program)).find(|path| path.is_file())
}

fn announce(command: &Command) -> String {
    let line = command_line(command);
    println!("    $ {line}");
    line
}

/// The command as a person would type it: the program by its name, arguments with spaces in quotes.
fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut line = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let quote = if argument.is_empty() || argument.contains(char::is_whitespace) { "'" } else { "" };
        line.push_str(&format!(" {quote}{argument}{quote}"));
    }
    line
}

fn judge(line: &str, status: ExitStatus) -> Result<(), String> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(format!("`{line}` exited with {code}")),
        None => Err(format!("`{line}` was ended by a signal ({status})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failure_names_the_command_and_its_exit_code() {
        assert_eq!(run(&mut shell("exit 0")), Ok(()));
        assert_eq!(run(&mut shell("exit 7")), Err("`sh -c 'exit 7'` exited with 7".to_owned()));
        assert_eq!(quietly(&mut shell("exit 8")), Err("`sh -c 'exit 8'` exited with 8".to_owned()));
    }

    #[test]
    fn a_signal_is_a_failure() {
        let why = run(&mut shell("kill -9 $$")).unwrap_err();
        assert!(why.contains("ended by a signal"), "{why}");
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_failure() {
        let missing = "/nonexistent/program";
        assert!(run(&mut Command::new(missing)).unwrap_err().starts_with("cannot run `program`"));
        assert!(!succeeds(&mut Command::new(missing)));
    }

    #[test]
    fn teed_returns_the_lines_also_of_a_failure() {
        let (lines, verdict) = teed(&mut shell("echo one; printf two; exit 3"));
        assert_eq!(lines, ["one", "two"]);
        assert!(verdict.is_err());
    }

    #[test]
    fn a_program_is_found_in_the_given_directories_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("strace");
        std::fs::write(&path, "").unwrap();
        let directories = || [directory.path().to_owned()];
        assert_eq!(find_in("strace", directories()), Some(path));
        assert_eq!(find_in("mkfs.ext4", directories()), None);
    }
}
