//! `ask`: send a question, wait for its answer, show it; and say where the question is when none came.

use std::process::Child;

use serde_json::Value;

use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::pasted::commands;
use crate::support::room::{Ran, TestRoom};
use crate::support::taken::claim;
use crate::support::until::{until, until_watching};

/// Starts a question and gives it once it sleeps, with the digits of its id.
fn asking(room: &TestRoom, from: &str, to: &str, text: &str, more: &[&str]) -> (Child, String) {
    let before = room.files(to, "inbox");
    let all = ["ask", to, "-m", text, "--timeout", "60"].into_iter().chain(more.iter().copied());
    let child = room.by(from, all).start();
    until_watching(&child);
    let new = room.files(to, "inbox").into_iter().find(|file| !before.contains(file)).unwrap();
    (child, new[17..25].to_owned())
}

#[test]
fn a_question_ends_with_its_answer() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (asking, id) = asking(&room, "alice", "bob", "why?", &[]);
    room.by("bob", ["reply", &id]).input("Because.\n").succeeds();
    let ran = Ran::end(asking);
    assert_eq!((ran.code, ran.err), (0, format!("postroom: bob is asked ({id}); waiting up to 1 min\n")));
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @r"
    <id> <age> bob (unverified): re: why?
    answers: <id>
    [<id>: 9 bytes]
    Because.
    [<id> end]
    ");
    room.by("alice", ["check"]).exits(1);
    assert_eq!(room.files("alice", "archive").len(), 1, "what was shown is archived");
}

#[test]
fn an_answer_by_done_is_one_too() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (asking, _) = asking(&room, "alice", "bob", "why?", &[]);
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["done", &token, "-m", "Because."]).succeeds();
    let ran = Ran::end(asking);
    assert!(ran.code == 0 && ran.out.contains("\nBecause.\n"), "{ran:?}");
}

#[test]
fn an_answer_by_hand_is_one_too() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (asking, id) = asking(&room, "alice", "bob", "why?", &[]);
    let whole = room.by("bob", ["read", &id, "--keep", "--json"]).json()["messages"][0]["id"].clone();
    let answer = by_hand(&room.id("bob"), "answer-abcd1234", "re: why?", "By hand.\n");
    let answer = answer.replacen("---\n\n", &format!("reply_to: {}\n---\n\n", whole.as_str().unwrap()), 1);
    room.place("alice", "answer.md", answer);
    let ran = Ran::end(asking);
    assert!(ran.code == 0 && ran.out.contains("By hand.\n"), "{ran:?}");
}

#[test]
fn other_mail_is_no_answer_and_stays_unread() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let other = room.send("alice", "carol", "another question");
    let (asking, id) = asking(&room, "alice", "bob", "why?", &[]);
    room.send("bob", "alice", "by the way");
    room.by("carol", ["reply", &other, "-m", "answer to the other"]).succeeds();
    room.by("bob", ["reply", &id, "-m", "the answer"]).succeeds();
    let ran = Ran::end(asking);
    assert!(ran.code == 0 && ran.out.contains("\nthe answer\n"), "{ran:?}");
    assert_eq!(room.by("alice", ["check", "--count"]).succeeds().out, "2\n");
}

#[test]
fn several_questions_of_one_mailbox_are_not_crossed() {
    let room = TestRoom::with(&["alice", "bob"]);
    let asked: Vec<_> =
        (0..5).map(|n| asking(&room, "alice", "bob", &format!("q{n}"), &["--json"])).collect();
    for (n, (_, id)) in asked.iter().enumerate().rev() {
        room.by("bob", ["reply", id, "-m", &format!("a{n}")]).succeeds();
    }
    for (n, (child, id)) in asked.into_iter().enumerate() {
        let told: Value = serde_json::from_str(&Ran::end(child).out).unwrap();
        assert_eq!(told["messages"][0]["body"], format!("a{n}").as_str());
        assert!(told["id"].as_str().unwrap().starts_with(&id) && told["timed_out"] == false, "{told}");
    }
    room.by("alice", ["check"]).exits(1);
}

#[test]
fn when_the_time_is_over_it_says_where_the_question_is() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("alice", ["ask", "bob", "-m", "why?", "--timeout", "0.05"]).exits(1);
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @r"
    no answer within 50ms; the question <id> to bob is queued, unread
      postroom --root <room> --as alice wait --reply-to <uuid>
    ");
    assert_eq!(room.files("bob", "inbox").len(), 1, "it stays sent");
    // The line that is told works when it is pasted.
    let next = ran.out.lines().nth(1).unwrap().to_owned();
    room.by("bob", ["reply", &ran.out.split(' ').nth(6).unwrap()[..8], "-m", "late"]).succeeds();
    let waited = room.paste(&next).succeeds().out;
    assert!(waited.contains(": re: why?"), "{waited}");
}

#[test]
fn where_the_question_is_may_be_a_claim_or_the_archive() {
    let room = TestRoom::with(&["alice", "bob"]);
    for (arguments, state) in [
        (vec!["claim"], "is claimed by bob until "),
        (vec!["read"], "is shown "),
        (vec!["archive"], "is filed away unread "),
    ] {
        let child = room.by("alice", ["ask", "bob", "-m", state, "--timeout", "3"]).start();
        until_watching(&child);
        let id = room.files("bob", "inbox")[0][17..25].to_owned();
        let arguments: Vec<&str> =
            arguments.into_iter().chain((state.contains("filed")).then_some(id.as_str())).collect();
        room.by("bob", arguments.clone()).succeeds();
        let ran = Ran::end(child);
        assert!(ran.code == 1 && ran.out.contains(state), "{arguments:?}: {ran:?}");
        for token in room.files("bob", "claimed") {
            room.by("bob", ["done", &token]).succeeds();
        }
    }
}

#[test]
fn a_question_that_was_given_up_is_not_answered() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (asking, _) = asking(&room, "alice", "bob", "do it", &[]);
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["fail", &token, "--reason", "no such file"]).succeeds();
    let ran = Ran::end(asking);
    assert!(ran.out.contains("no such file"), "it is told at once: {ran:?}");
    assert_ne!(ran.code, 0, "and a script can tell it from an answer: {ran:?}");
}

#[test]
fn a_question_goes_to_one_name_that_exists() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.run(["group", "add", "team", "bob"]).succeeds();
    let before = room.tree();
    for (to, code, says) in [
        ("@team", 2, "a question goes to one name"),
        ("@all", 2, "a question goes to one name"),
        ("carol", 3, "names here: alice, bob"),
        ("a b", 4, "is not allowed"),
    ] {
        let ran = room.by("alice", ["ask", to, "-m", "x", "--timeout", "5"]).exits(code);
        assert!(ran.err.contains(says), "{to}: {}", ran.err);
    }
    for arguments in [
        vec!["ask", "bob", "carol", "-m", "x"],
        vec!["ask"],
        vec!["ask", "bob", "-m", "x", "--timeout", "soon"],
    ] {
        room.by("alice", arguments).exits(2);
    }
    room.by("alice", ["ask", "bob", "-m", " "]).exits(4);
    room.by("alice", ["ask", "bob", "-m", &format!("ghp_{}", "a1B2".repeat(9))]).exits(4);
    room.is_still(&before, "questions that were refused");
}

#[test]
fn a_question_that_could_not_be_delivered_does_not_wait() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.block("bob");
    let ran = room.by("alice", ["ask", "bob", "-m", "x", "--timeout", "60"]).exits(4);
    assert!(ran.err.contains("not delivered to bob"), "{}", ran.err);
    room.unblock("bob");
}

#[test]
fn an_answer_that_nobody_can_see_is_not_consumed() {
    let room = TestRoom::with(&["alice", "bob"]);
    for nowhere in [">/dev/null", ">&-"] {
        let script = format!("postroom --as alice ask bob -m 'why?' --timeout 60 {nowhere}");
        let child = room.bash(&script).start();
        until("the question", || !room.files("bob", "inbox").is_empty() || over(&child));
        if let Some(file) = room.files("bob", "inbox").first() {
            room.by("bob", ["reply", &file[17..25], "-m", "the answer"]).succeeds();
        }
        assert_ne!(Ran::end(child).code, 0, "{nowhere}");
        assert!(
            room.files("alice", "archive").is_empty(),
            "{nowhere}: the answer was archived and nobody saw it"
        );
    }
}

/// Whether a process has ended already.
fn over(child: &Child) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
        .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('Z')))
}

#[test]
fn a_long_answer_is_cut_like_any_message_and_whole_with_full() {
    let room = TestRoom::with(&["alice", "bob"]);
    let text = "line of a long letter\n".repeat(2000);
    for (more, whole) in [(vec![], false), (vec!["--full"], true)] {
        let (asking, id) = asking(&room, "alice", "bob", "tell me", &more);
        room.by("bob", ["reply", &id]).input(&text).succeeds();
        let out = Ran::end(asking).out;
        assert_eq!(out.contains(&text), whole, "{} bytes", out.len());
        if let Some((_, rest)) = out.split_once("all of it: ") {
            assert!(std::path::Path::new(rest.split_once("]\n").unwrap().0).exists(), "{out:.400}");
        }
    }
}

#[test]
fn an_asker_is_alive_while_it_waits() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (asking, id) = asking(&room, "alice", "bob", "why?", &[]);
    crate::support::hand::age(&room.folder("alice", "seen"), 3600);
    let names = room.run(["names"]).succeeds().out;
    assert!(names.lines().any(|line| line.starts_with("alice ") && line.ends_with(" in session")), "{names}");
    room.by("bob", ["reply", &id, "-m", "x"]).succeeds();
    assert_eq!(Ran::end(asking).code, 0);
}

/// Ends a process as a terminal or a tool does.
fn signalled(child: &Child, signal: rustix::process::Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn an_interrupted_wait_leaves_the_question_and_says_how_to_wait_again() {
    use std::os::unix::process::ExitStatusExt;
    let room = TestRoom::with(&["alice", "bob"]);
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let (child, id) = asking(&room, "alice", "bob", &format!("why {signal:?}?"), &[]);
        signalled(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "as without a handler: {output:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains(&format!("\npostroom: the question {id} to bob stays;")), "{err}");
        let again = commands(&err).next().unwrap();
        room.by("bob", ["reply", &id, "-m", "Because."]).succeeds();
        assert!(room.paste(&again).succeeds().out.contains(": re: why "), "{again}");
    }
}

/// `ask` ignored both while it wrote its answer into a pipe that nobody read.
#[test]
fn a_signal_ends_it_also_while_it_writes_its_answer() {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    let room = TestRoom::with(&["alice", "bob"]);
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let (mut child, id) = asking(&room, "alice", "bob", &format!("why {signal:?}?"), &["--full"]);
        room.by("bob", ["reply", &id]).input("It is a long story.\n".repeat(20_000)).succeeds();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        signalled(&child, signal);
        let mut status = None;
        until("its end", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().signal(), Some(signal.as_raw()));
        assert_eq!(room.files("alice", "inbox").len(), 1, "the answer is still unread");
        room.by("alice", ["read"]).succeeds();
    }
}

#[test]
fn the_same_question_is_not_sent_twice_while_it_is_open() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let (child, id) = asking(&room, "alice", "bob", "why?", &[]);
    signalled(&child, rustix::process::Signal::KILL);
    child.wait_with_output().unwrap();
    let again = |more: &[&str]| {
        let all = ["ask", "bob", "-m", "why?", "--timeout", "60"];
        room.by("alice", all.into_iter().chain(more.iter().copied())).start()
    };
    let waiting = again(&[]);
    until_watching(&waiting);
    assert_eq!(room.files("bob", "inbox").len(), 1, "it waits for the first");
    // One that was read is still open.
    room.by("bob", ["read", &id]).succeeds();
    let second = again(&[]);
    until_watching(&second);
    assert_eq!(room.files("bob", "inbox").len(), 0);
    room.by("bob", ["reply", &id, "-m", "Because."]).succeeds();
    for child in [waiting, second] {
        let ran = Ran::end(child);
        assert!(
            ran.err.starts_with(&format!("postroom: bob was asked this before ({id}); waiting")),
            "{ran:?}"
        );
        assert!(ran.code == 0 && ran.out.contains("\nBecause.\n"), "{ran:?}");
    }
    // An answered one is asked anew, and so is one by another asker, to another name, or with another text or urgency.
    for (from, to, more) in [
        ("alice", "bob", vec![]),
        ("carol", "bob", vec![]),
        ("alice", "carol", vec![]),
        ("alice", "bob", vec!["-s", "why not?"]),
        ("alice", "bob", vec!["--priority", "high"]),
        ("alice", "bob", vec!["--channel", "c"]),
    ] {
        let before = room.files(to, "inbox").len();
        let all = ["ask", to, "-m", "why?", "--timeout", "0"];
        room.by(from, all.into_iter().chain(more.iter().copied())).exits(1);
        assert_eq!(room.files(to, "inbox").len(), before + 1, "{from} {to} {more:?}");
    }
}

#[test]
fn an_answer_that_another_command_read_is_shown_as_well() {
    use rustix::process::Signal;
    let room = TestRoom::with(&["alice", "bob"]);
    for until in [&["ask", "bob", "-m", "why?"][..], &["send", "bob", "-m", "x", "--wait-for", "reply"]] {
        let child = room.by("alice", until.iter().copied().chain(["--timeout", "60"])).start();
        until_watching(&child);
        let id = room.files("bob", "inbox")[0][17..25].to_owned();
        // It looks again only when the answer is in the archive.
        signalled(&child, Signal::STOP);
        room.by("bob", ["reply", &id, "-m", "Because."]).succeeds();
        room.by("alice", ["read"]).succeeds();
        signalled(&child, Signal::CONT);
        let ran = Ran::end(child);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.out.contains("\nBecause.\n"), until[0] == "ask", "{ran:?}");
    }
}

#[test]
fn an_answer_that_came_after_the_wait_is_shown_to_who_asks_again() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (child, id) = asking(&room, "alice", "bob", "why?", &[]);
    signalled(&child, rustix::process::Signal::KILL);
    child.wait_with_output().unwrap();
    room.by("bob", ["reply", &id, "-m", "Because."]).succeeds();
    let ran = room.by("alice", ["ask", "bob", "-m", "why?"]).succeeds();
    assert!(ran.out.contains("\nBecause.\n") && room.files("bob", "inbox").is_empty(), "{ran:?}");
}

#[test]
fn a_question_is_asked_again_when_its_wait_is_over_or_nobody_works_on_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ask = ["ask", "bob", "-m", "why?", "--timeout", "0"];
    room.by("alice", ask).exits(1);
    room.backdate("bob", "inbox");
    room.by("alice", ["ask", "bob", "-m", "why?", "--timeout", "0.05"]).exits(1);
    assert_eq!(room.files("bob", "inbox").len(), 2, "the first is from long ago");
    for end in [vec!["done"], vec!["fail", "--reason", "no"]] {
        room.by("bob", ["archive", "--all"]).ends();
        let (child, _) = asking(&room, "alice", "bob", end[0], &[]);
        signalled(&child, rustix::process::Signal::KILL);
        child.wait_with_output().unwrap();
        let token = claim(&room, "bob", &[]);
        room.by("bob", end.iter().copied().chain([token.as_str()])).succeeds();
        let before = room.files("bob", "inbox").len();
        room.by("alice", ["ask", "bob", "-m", end[0], "--timeout", "0"]).ends();
        assert_eq!(room.files("bob", "inbox").len(), before + 1, "{end:?}");
    }
}
