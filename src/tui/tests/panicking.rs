//! A panic gives the terminal back. The test starts itself at a terminal of its own, where it panics on purpose.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::tui::screen::{Screen, give_back_on_panic};

const CHILD: &str = "POSTROOM_TEST_PANICS";

/// Only as the child of the other test.
#[test]
fn on_the_other_screen() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut screen = Screen::new().unwrap();
    give_back_on_panic();
    // In a thread, as one that reads the room would.
    let panics = std::thread::spawn(|| panic!("on purpose"));
    assert!(panics.join().is_err());
    let mut cells = Screen::empty((80, 24));
    cells.set_string(0, 0, "over the shell", ratatui::style::Style::new());
    screen.paint(cells, None).unwrap();
    std::process::exit(7);
}

#[test]
fn a_panic_of_any_thread_gives_the_terminal_back() {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, vec![]).unwrap();
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let side = || Stdio::from(File::options().read(true).write(true).open(path).unwrap());
    let held = File::options().read(true).write(true).open(path).unwrap();
    let before = tcgetattr(held.as_fd()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tui::panicking::on_the_other_screen", "--nocapture"]).env(CHILD, "1");
    let mut child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
    // It holds the sides of the terminal, too.
    drop(command);
    let mut reader = File::from(terminal);
    let written = std::thread::spawn(move || {
        let (mut all, mut bytes) = (vec![], [0; 4096]);
        while let Ok(count @ 1..) = reader.read(&mut bytes) {
            all.extend_from_slice(&bytes[..count]);
        }
        String::from_utf8_lossy(&all).into_owned()
    });
    assert_eq!(child.wait().unwrap().code(), Some(7));
    let after = tcgetattr(held.as_fd()).unwrap();
    assert!(after.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    assert_eq!(after.local_modes, before.local_modes);
    drop((held, child));
    let written = written.join().unwrap();
    let (entered, left) = (written.find("\x1b[?1049h").unwrap(), written.find("\x1b[?1049l").unwrap());
    let report = written.find("on purpose").unwrap();
    // The report is on the first screen, where it can be read.
    assert!(entered < left && left < report, "{written:?}");
    assert_eq!(written.matches("\x1b[?1049l").count(), 1);
    assert!(!written.contains("over the shell"));
}
