//! A text on standard input beside one that an option gives: a file is refused, bytes in a pipe get a remark, and nothing
//! is ever waited for.

use crate::support::room::TestRoom;
use crate::support::taken::taken;

const REMARK: &str = "standard input is not sent (--file - sends it)";

#[test]
fn a_file_beside_a_given_text_is_refused_before_anything_is_sent() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("bob", "alice", "question");
    std::fs::write(room.around().join("text"), "from the file\n").unwrap();
    std::fs::write(room.around().join("empty"), "").unwrap();
    let before = room.tree();
    for line in ["send bob -m hi", "send bob --file text", "ask bob -m hi", &format!("reply {id} -m hi")] {
        let ran = room.bash(&format!("postroom --as alice {line} <text")).exits(2);
        assert!(ran.err.contains("a text on standard input"), "{line}: {}", ran.err);
    }
    room.is_still(&before, "a text that is given twice");
    for input in ["</dev/null", "<empty", "<&-"] {
        let ran = room.bash(&format!("postroom --as alice send bob -m hi {input}")).succeeds();
        assert_eq!(ran.err, "", "{input}");
    }
    // A loop over a file, whose next lines are no text of a message.
    let list = "while read -r name; do postroom --as alice send \"$name\" -m hi; done <names";
    std::fs::write(room.around().join("names"), "bob\nbob\nbob\n").unwrap();
    let ran = room.bash(list).succeeds();
    assert_eq!((ran.out.lines().count(), ran.err.as_str()), (3, ""));
}

/// The next lines of a script or a list are in the pipe too, so that a refusal would break loops.
#[test]
fn bytes_in_a_pipe_get_a_remark_and_an_open_pipe_is_not_waited_for() {
    let room = TestRoom::with(&["alice", "bob"]);
    let pipe = "rm -f pipe; mkfifo pipe; exec 3<>pipe; ";
    let ran = room.bash(&format!("{pipe} postroom --as alice send bob -m hi <&3")).succeeds();
    assert_eq!(ran.err, "", "a pipe without bytes that never ends");
    let ran = room.bash(&format!("{pipe} echo text >&3; postroom --as alice send bob -m hi <&3")).succeeds();
    assert!(ran.err.contains(REMARK) && ran.out.starts_with("queued "), "{ran:?}");
    assert_eq!(room.by("bob", ["check", "--count"]).succeeds().out, "2\n");
}

#[test]
fn done_without_an_answer_does_not_lose_one() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    std::fs::write(room.around().join("text"), "the answer\n").unwrap();
    let before = room.tree();
    let ran = room.bash(&format!("postroom --as bob done {token} <text")).exits(2);
    assert!(ran.err.contains("no answer is given, but there is a text"), "{}", ran.err);
    room.is_still(&before, "an answer that would be lost");
    room.bash(&format!("postroom --as bob done {token} --file - <text")).succeeds();
    assert!(room.by("alice", ["read"]).succeeds().out.contains("the answer"));
}
