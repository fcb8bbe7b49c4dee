//! The person's editor: it has the terminal until it ends, and gives its text back.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus};

use rustix::event::{PollFd, PollFlags, poll};

use super::Client;
use crate::tui::{screen, signals};

/// The longest text that is taken back from an editor.
const TEXT: u64 = 16 * 1024 * 1024;

impl Client {
    pub(super) fn edit(&mut self, text: &str) -> Result<String, String> {
        let (dir, name) =
            self.memory.write_draft(text).map_err(|why| format!("no draft could be written: {why}"))?;
        screen::give_back();
        let path = dir.path().join(&name);
        // Only the person's own words and a path of ours are on this line.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("exec {} \"$1\"", self.editor), "sh"]).arg(&path);
        let edited = match self.attend(&mut command) {
            Ok(status) if status.success() => {
                dir.read(&name, TEXT).map_err(|e| e.to_string()).and_then(|bytes| {
                    String::from_utf8(bytes.unwrap_or_default())
                        .map_err(|_| "the text is not UTF-8".to_owned())
                })
            }
            Ok(status) => Err(format!("the editor ended with {status}; the draft is as it was")),
            Err(e) => Err(format!("{} could not be started: {e}", self.editor)),
        };
        let _ = dir.remove(&name);
        edited
    }

    /// Waits for a program that has the terminal. If it sleeps, so does this, and the shell has its turn.
    fn attend(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        let mut child = command.spawn()?;
        let (ended, end) = io::pipe()?;
        let waiting = std::thread::spawn(move || {
            let status = child.wait();
            drop(end);
            status
        });
        loop {
            let mut all = [ended.as_fd(), self.signals.pipe.as_fd()]
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            let _ = poll(&mut all, None);
            let is_over = !all[0].revents().is_empty();
            if self.remember_end() && !is_over {
                signals::sleep();
            }
            if is_over {
                return waiting.join().unwrap_or_else(|_| Err(io::Error::other("the wait for it failed")));
            }
        }
    }
}
