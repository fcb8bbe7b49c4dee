//! `send`: one durable delivery to each name, one receipt each.

use crate::support::mask::mask;
use crate::support::room::TestRoom;

/// The text of the only unread message.
fn unread(room: &TestRoom, name: &str) -> String {
    let files = room.files(name, "inbox");
    assert_eq!(files.len(), 1, "{files:?}");
    std::fs::read_to_string(room.folder(name, "inbox").join(&files[0])).unwrap()
}

fn body(text: &str) -> &str {
    text.split_once("\n---\n\n").unwrap().1
}

#[test]
fn a_receipt_is_one_line_per_recipient() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let ran = room.by("alice", ["send", "bob", "carol", "-m", "hello"]).succeeds();
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @"
    queued <id> for bob: hello
    queued <id> for carol: hello
    ");
    assert_eq!(ran.err, "");
    let id = |name| unread(&room, name).lines().nth(2).unwrap().to_owned();
    assert_eq!(id("bob"), id("carol"), "copies share the id");
}

#[test]
fn the_text_comes_from_an_option_a_file_or_standard_input() {
    let room = TestRoom::with(&["alice", "bob"]);
    let file = room.around().join("letter.txt");
    std::fs::write(&file, "text\n").unwrap();
    let file = file.to_str().unwrap();
    for (arguments, input) in [
        (vec!["send", "bob", "-m", "text\n"], ""),
        (vec!["send", "bob", "--message", "text\n"], ""),
        (vec!["send", "bob", "-f", file], ""),
        (vec!["send", "bob", "--file", file], ""),
        (vec!["send", "bob", "--file", "-"], "text\n"),
        (vec!["send", "bob"], "text\n"),
        (vec!["send", "bob", "-"], "text\n"),
    ] {
        room.by("alice", arguments.clone()).input(input).succeeds();
        assert_eq!(body(&unread(&room, "bob")), "text\n", "{arguments:?}");
        room.by("bob", ["read"]).succeeds();
    }
}

#[test]
fn a_bare_heredoc_is_enough() {
    let room = TestRoom::with(&["alice", "bob"]);
    let script = "postroom send bob -s 'parser review' <<'EOF'\nIt's done: $HOME `id` \"x\" \\\nEOF\n";
    room.bash(script).env("AGENT_MAILBOX_ID", "alice").succeeds();
    assert_eq!(body(&unread(&room, "bob")), "It's done: $HOME `id` \"x\" \\\n");
}

#[test]
fn a_body_arrives_byte_for_byte() {
    let room = TestRoom::with(&["alice", "bob"]);
    for text in [
        "no line break",
        "\n\n  spaces  \n\n",
        "---\nfrom: eve\n---\n",
        "crlf\r\ntab\t\u{1b}[2J\u{0}\u{85}",
        "-starts",
    ] {
        room.by("alice", ["send", "bob", "-s", "x"]).input(text).succeeds();
        assert_eq!(body(&unread(&room, "bob")), text);
        let read = room.by("bob", ["read", "--json"]).json();
        assert_eq!(read["messages"][0]["body"], text);
    }
    room.by("alice", ["send", "bob", "-m", "-starts with a hyphen"]).succeeds();
}

#[test]
fn a_subject_left_out_is_the_first_line_that_says_something() {
    let room = TestRoom::with(&["alice", "bob"]);
    let long = "word ".repeat(60);
    for (text, subject) in [
        ("\n\n# Review the parser\nplease", "Review the parser".to_owned()),
        ("a\tb", "a b".to_owned()),
        (long.as_str(), format!("{}…", long[..79].trim_end())),
    ] {
        let receipt = room.by("alice", ["send", "bob", "--json"]).input(text).json();
        assert_eq!(receipt["receipts"][0]["subject"], subject);
    }
}

#[test]
fn an_empty_subject_is_one_left_out() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("alice", ["send", "bob", "-s", "", "-m", "hello"]).succeeds();
    assert_eq!(mask(&ran.out, &room.root()), "queued <id> for bob: hello\n");
    let ran = room.by("alice", ["send", "bob", "-s", "  padded ", "-m", "hello"]).succeeds();
    assert_eq!(mask(&ran.out, &room.root()), "queued <id> for bob: padded\n");
}

#[test]
fn a_subject_may_begin_with_a_hyphen() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("alice", ["send", "bob", "-s", "--force breaks", "-m", "x"]).ends();
    assert_eq!(
        (ran.code, mask(&ran.out, &room.root()).as_str()),
        (0, "queued <id> for bob: --force breaks\n"),
        "{ran:?}"
    );
}

#[test]
fn a_line_separator_in_the_first_line_is_no_fault() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("alice", ["send", "bob", "-m", "pasted\u{2028}text"]).ends();
    assert_eq!(ran.code, 0, "no subject was given, and the body may hold anything: {ran:?}");
}

#[test]
fn one_mailbox_named_twice_gets_one_copy() {
    let room = TestRoom::empty();
    room.run(["setup", "alice"]).succeeds();
    room.run(["setup", "bob", "--alias", "rev"]).succeeds();
    let ran = room.by("alice", ["send", "bob", "BOB", "rev", &room.id("bob"), "-m", "once"]).succeeds();
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    assert_eq!(room.files("bob", "inbox").len(), 1);
}

#[test]
fn an_unknown_name_among_several_sends_to_nobody() {
    let room = TestRoom::with(&["alice", "bob"]);
    let before = room.tree();
    let ran = room.by("alice", ["send", "bob", "bbo", "-m", "hi"]).exits(3);
    insta::assert_snapshot!(ran.err, @"
    postroom: nobody here is called `bbo`
      nearest: bob
      names here: alice, bob
    ");
    assert_eq!(ran.out, "");
    room.is_still(&before, "a refusal");
}

#[test]
fn a_retry_with_the_same_id_delivers_nothing_twice() {
    let room = TestRoom::with(&["alice", "bob"]);
    let send = |text: &str| room.by("alice", ["send", "bob", "--id", "build-cafe0042", "-m", text]).ends();
    assert_eq!(send("once").code, 0);
    let again = send("once");
    assert_eq!(again.code, 0);
    insta::assert_snapshot!(mask(&again.out, &room.root()), @"sent before <id> for bob: it is in the inbox");
    assert_eq!(room.files("bob", "inbox").len(), 1);

    room.by("bob", ["read"]).succeeds();
    insta::assert_snapshot!(mask(&send("once").out, &room.root()), @"sent before <id> for bob: it is in the archive");
    assert!(room.files("bob", "inbox").is_empty());

    let other = send("other words");
    assert_eq!(other.code, 4);
    assert!(other.err.contains("other contents") && other.err.contains("leave --id out"), "{}", other.err);
    assert!(room.files("bob", "inbox").is_empty());
}

#[test]
fn a_retry_into_a_full_mailbox_finds_itself() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.limit("mailbox_messages = 1");
    let send = || room.by("alice", ["send", "bob", "--id", "cafe0042", "-m", "once"]).ends();
    assert_eq!(send().code, 0);
    let again = send();
    assert!(again.code == 0 && again.out.starts_with("sent before"), "{again:?}");
    assert_eq!(room.files("bob", "inbox").len(), 1);
}

#[test]
fn retries_at_once_deliver_once() {
    let room = TestRoom::with(&["alice", "bob"]);
    let racing: Vec<_> =
        (0..6).map(|_| room.by("alice", ["send", "bob", "--id", "cafe0042", "-m", "once"]).start()).collect();
    for child in racing {
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    }
    assert_eq!(room.files("bob", "inbox").len(), 1);
}

#[test]
fn a_name_is_not_given_again_in_the_same_second() {
    let room = TestRoom::with(&["alice", "bob"]);
    let mut names = std::collections::BTreeSet::new();
    for n in 0..5 {
        let id = format!("cafe0042-{n}");
        let told = room.by("alice", ["send", "bob", "--id", &id, "-s", "job", "-m", "x", "--json"]).json();
        let receipt = told["receipts"][0].clone();
        assert_eq!(room.files("bob", "inbox"), [receipt["file"].as_str().unwrap()]);
        assert!(names.insert(receipt["file"].to_string()), "{receipt} {names:?}");
        room.by("bob", ["archive", &id]).succeeds();
    }
    assert_eq!(room.files("bob", "archive").len(), 5);
}

#[test]
fn marks_are_written_and_shown() {
    let room = TestRoom::with(&["alice", "bob"]);
    let asked = room.by("alice", ["send", "bob", "-m", "first", "--json"]).json();
    let asked = asked["receipts"][0]["id"].as_str().unwrap();
    room.by("bob", ["read"]).succeeds();
    let marks = ["--priority", "high", "--channel", "build", "--reply-to", asked];
    room.by("alice", ["send", "bob", "-m", "second"].into_iter().chain(marks)).succeeds();
    let header = &room.by("bob", ["check", "--json"]).json()["messages"][0];
    assert_eq!(
        (&header["priority"], &header["channel"], &header["reply_to"]),
        (&"high".into(), &"build".into(), &asked.into())
    );
}

#[test]
fn quiet_prints_no_receipt_and_json_has_all_of_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    assert_eq!(room.by("alice", ["send", "bob", "-q", "-m", "hi"]).succeeds().out, "");
    let receipt = room.by("alice", ["send", "bob", "-m", "hi", "--json"]).json()["receipts"][0].clone();
    assert_eq!((&receipt["state"], &receipt["to"]["name"]), (&"queued".into(), &"bob".into()));
    let files = room.files("bob", "inbox");
    assert!(files.iter().any(|f| receipt["file"] == f.as_str()), "{receipt} {files:?}");
}

#[test]
fn one_that_cannot_get_it_does_not_stop_the_others() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.block("bob");
    let ran = room.by("alice", ["send", "bob", "carol", "-m", "hi"]).exits(4);
    assert_eq!(mask(&ran.out, &room.root()), "queued <id> for carol: hi\n");
    assert!(ran.err.contains("not delivered to bob"), "{}", ran.err);
    assert_eq!(room.files("carol", "inbox").len(), 1);
    room.unblock("bob");
}

#[test]
fn a_message_to_oneself_is_remarked() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("bob", ["send", "alice", "bob", "-m", "hi"]).succeeds();
    assert_eq!(ran.err, "postroom: bob is you: this message is in your own mailbox\n");
    assert_eq!(ran.out.lines().count(), 2, "and it is sent");
    assert_eq!(room.by("bob", ["send", "alice", "-m", "hi"]).succeeds().err, "");
    assert_eq!(room.by("bob", ["send", "bob", "-m", "hi", "--quiet"]).succeeds().err, "");
    let ran = room.by("bob", ["ask", "bob", "-m", "who?", "--timeout", "0"]).exits(1);
    assert!(ran.err.contains("bob is you"), "{}", ran.err);
}

#[test]
fn nothing_is_left_in_staging() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hi");
    assert!(room.files("bob", "tmp").is_empty() && room.files("alice", "tmp").is_empty());
}

#[test]
fn file_names_follow_the_rule() {
    let room = TestRoom::with(&["alice", "bob"]);
    let long = "Very Long ".repeat(20);
    for (subject, slug) in [
        ("Review: the *parser*!", "review-the-parser"),
        ("--a--b--", "a-b"),
        ("日本語", "message"),
        ("../../etc/passwd", "etc-passwd"),
        (long.trim_end(), "very-long-very-long-very-long-very-long-very-long-very-long"),
    ] {
        let receipt =
            room.by("alice", ["send", "bob", "-m", "x", "--json", &format!("--subject={subject}")]).json();
        let file = receipt["receipts"][0]["file"].as_str().unwrap();
        let id = receipt["receipts"][0]["id"].as_str().unwrap();
        assert_eq!(file[16..], format!("-{}-{slug}.md", &id[..8]), "{subject}");
        assert!(room.folder("bob", "inbox").join(file).is_file());
    }
}
