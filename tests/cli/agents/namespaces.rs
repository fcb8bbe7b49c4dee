//! A session in a private PID namespace, as in a container: its process cannot be seen from outside, but its lock can.

use crate::support::room::TestRoom;
use crate::support::until::{skip, until};

#[test]
fn a_session_in_a_pid_namespace_is_alive_until_its_program_ends() {
    let test = "a_session_in_a_pid_namespace_is_alive_until_its_program_ends";
    let room = TestRoom::with(&["alice"]);
    let at = |name: &str| room.around().join(name);
    // The program is not the first process there, which stays.
    let program = "printf '{\"session_id\":\"s\",\"hook_event_name\":\"SessionStart\"}' | CLAUDE_PID=$$ postroom hook claude session-start
        CLAUDE_CODE_SESSION_ID=s postroom setup bob; touch begun; until test -e go; do sleep 0.05; done";
    std::fs::write(at("program"), program).unwrap();
    let script = "unshare -pf --mount-proc bash -c 'bash program; until test -e over; do sleep 0.05; done'";
    let mut child = room.bash(script).start();
    let mut refused = false;
    until("the session", || {
        refused = child.try_wait().unwrap().is_some();
        refused || at("begun").exists()
    });
    if refused {
        return skip(test, "unshare is not allowed here");
    }
    let listed = || room.run(["names"]).succeeds().out;
    let is_there = || listed().lines().any(|line| line.starts_with("bob ") && line.ends_with(" in session"));
    until("its lock", is_there);
    let takes = || room.run(["takeover", "bob"]).env("CODEX_THREAD_ID", "t");
    let refusal = takes().exits(4).err;
    assert!(refusal.contains("its process exists"), "{refusal}");
    std::fs::write(at("go"), "").unwrap();
    until("its end", || !is_there());
    takes().succeeds();
    std::fs::write(at("over"), "").unwrap();
    child.wait().unwrap();
}
