//! Agents at work: which process an agent is, whether it lives, and which supervisor it has.

use std::path::Path;

use crate::support::room::TestRoom;
use crate::support::until::until;

/// The beginning of a script that says which process it is. It works in the directory around the room.
pub(crate) const SAYS_PID: &str = "echo $$ > pid.new; mv pid.new pid";

/// Returns the process of an agent whose script begins with [`SAYS_PID`], once it runs.
pub(crate) fn pid_of_agent(room: &TestRoom) -> String {
    let pid = room.around().join("pid");
    until("the agent runs", || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    std::fs::read_to_string(pid).unwrap().trim().to_owned()
}

/// The process above another: the supervisor of an agent.
pub(crate) fn parent_of(pid: &str) -> i32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:\t")).unwrap().parse().unwrap()
}

/// Whether a process of a run lives.
pub(crate) fn lives(pid: &str) -> bool {
    let environment = std::fs::read(Path::new("/proc").join(pid).join("environ")).unwrap_or_default();
    environment.windows(12).any(|part| part == b"POSTROOM_RUN")
}
