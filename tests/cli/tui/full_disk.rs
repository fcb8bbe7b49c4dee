//! A draft that cannot be kept: its text is never lost without a word.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::room::TestRoom;
use crate::support::until::{skip, until};
use crate::tui::person::seated;

const SOON: Duration = Duration::from_secs(30);

/// The client, whose own directory is a full disk.
const SCRIPT: &str = "mkdir -p home/.local/state/postroom/tui && chmod -R 700 home
    unshare --user --map-root-user --mount bash -c '
        mount -t tmpfs -o size=64k,mode=700 none home/.local/state/postroom/tui || exit 99
        head -c 100000 /dev/zero > home/.local/state/postroom/tui/full 2> /dev/null
        echo $$ > pid.new && mv pid.new pid
        exec postroom tui 2> said'
    echo $? > code.new && mv code.new code";

#[test]
fn a_signal_with_a_draft_and_a_full_disk_says_what_is_lost() {
    let test = "a_signal_with_a_draft_and_a_full_disk_says_what_is_lost";
    let room = TestRoom::with(&["alice"]);
    room.run(["setup", "user"]).by_person().with(0);
    let probe = "mkdir -p probe && unshare --user --map-root-user --mount mount -t tmpfs none probe";
    if room.bash(probe).ends().code != 0 {
        return skip(test, "no disk of our own can be mounted here");
    }
    let around = room.around().to_owned();
    seated(room.bash(SCRIPT), "true", move |screen| {
        screen.types("c");
        screen.sees("Write a message", SOON).unwrap();
        screen.types("alice\r\rA text worth keeping\x1b");
        screen.sees("the draft is kept", SOON).unwrap();
        screen.types("q");
        screen.sees("your draft cannot be kept", SOON).unwrap();
        let pid = std::fs::read_to_string(around.join("pid")).unwrap();
        kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap(), Signal::TERM).unwrap();
    });
    let read = |file: &str| std::fs::read_to_string(room.around().join(file)).unwrap_or_default();
    until("its end", || !read("code").is_empty());
    assert_eq!(read("code").trim(), "143", "it ends by the signal: {}", read("said"));
    let said = read("said");
    assert!(said.contains("your message to alice could not be kept: "), "{said}");
    assert!(said.contains("No space left") && said.contains("\nA text worth keeping\n"), "{said}");
}
