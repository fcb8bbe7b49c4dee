//! `compose` and `verify`: messages for clients that place files themselves, and what is wrong with a file.

use crate::support::hand::by_hand;
use crate::support::kinds_room::{REQUEST, task};
use crate::support::room::TestRoom;

const RECEIVER: &str = "/srv/b/.mailbox/inbox/0123456789abcdef0123456789abcdef";
const BACK: &str = "/srv/a/.mailbox/inbox/0123456789abcdef0123456789abcdef";

fn compose(room: &TestRoom, arguments: &[&str]) -> String {
    room.bare(["tools", "compose", "--protocol"].into_iter().chain(arguments.iter().copied())).succeeds().out
}

#[test]
fn the_bytes_of_each_protocol() {
    let room = TestRoom::empty();
    let id = "abcd1234-0000-4000-8000-000000000000";
    let native = compose(
        &room,
        &[
            "maildir",
            "--from",
            "alice-1",
            "--to",
            "bob-2",
            "--id",
            id,
            "-m",
            "hi\n",
            "--channel",
            "c",
            "--priority",
            "high",
        ],
    );
    assert_eq!(
        native,
        format!(
            "---\nfrom: alice-1\nmsg_id: {id}\nsubject: hi\nto: bob-2\npriority: high\nchannel: c\n---\n\nhi\n"
        )
    );
    let request = compose(
        &room,
        &[
            "workspace",
            "--receiver",
            RECEIVER,
            "--reply-path",
            BACK,
            "--id",
            REQUEST,
            "--channel",
            "c",
            "-m",
            "hi",
        ],
    );
    assert_eq!(
        request,
        format!(
            "---\nREQUEST_ID: {REQUEST}\nMESSAGE_TYPE: NEW\nCHANNEL_ID: c\nRECEIVER_INBOX_PATH: {RECEIVER}\nREPLY_INBOX_PATH: {BACK}\n---\n\nhi"
        )
    );
    let reply = compose(
        &room,
        &["workspace", "--receiver", BACK, "--reply-path", RECEIVER, "--reply-to", "any-id", "-m", "\"\"\n"],
    );
    assert_eq!(
        reply,
        format!(
            "---\nREQUEST_ID: any-id\nMESSAGE_TYPE: REPLY\nRECEIVER_INBOX_PATH: {BACK}\nREPLY_INBOX_PATH: {RECEIVER}\n---\n\n\"\"\n"
        )
    );
    let task = compose(
        &room,
        &[
            "tree",
            "--from",
            "user",
            "--to",
            "explore",
            "--id",
            "2026-01-01-007",
            "-s",
            "Say: \"hi\"",
            "--workflow",
            "w",
            "--step",
            "2",
            "-m",
            "## Request\n",
        ],
    );
    let created = task.lines().find(|l| l.starts_with("created: ")).unwrap();
    assert_eq!(
        task,
        format!(
            "---\nid: 2026-01-01-007\nfrom: user\nto: explore\nstatus: pending\n{created}\ncontext: \"Say: \\\"hi\\\"\"\nworkflow: w\nstep: 2\n---\n\n## Request\n"
        )
    );
    let response = compose(
        &room,
        &["tree", "--from", "explore", "--to", "user", "--reply-to", "2026-01-01-007", "-m", "done"],
    );
    assert!(response.starts_with("---\nid: 2026-01-01-007-response\nrequest_id: 2026-01-01-007\nfrom: explore\nto: user\nstatus: completed\n"), "{response}");
    assert!(!room.root().exists(), "no room is needed");
}

#[test]
fn what_is_left_out_is_fresh_and_what_is_composed_is_valid_and_read() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.workspace("carol");
    room.agents(&["explore"]);
    let (alice, bob) = (room.id("alice"), room.id("bob"));
    let twice = || compose(&room, &["maildir", "--from", &alice, "--to", &bob, "-m", "hi"]);
    assert_ne!(twice(), twice());
    let id = "abcd1111-0000-4000-8000-000000000000";
    let native = compose(&room, &["maildir", "--from", &alice, "--to", &bob, "-m", "hi", "--id", id]);
    room.place("bob", "20260101T000000Z-abcd1111-x.md", native);
    assert_eq!(room.header("bob")["from"]["name"], "alice");
    let inbox = room.of_workspace("carol", "inbox");
    let (receiver, back) = (inbox.0.join(REQUEST), room.folder("alice", "inbox").join("x.md"));
    let (receiver, back) = (receiver.display().to_string(), back.display().to_string());
    let request = compose(&room, &["workspace", "--receiver", &receiver, "--reply-path", &back, "-m", "hi"]);
    inbox.put(REQUEST, request);
    assert_eq!(room.header("carol")["from"]["name"], "alice");
    let task =
        compose(&room, &["tree", "--from", "alice", "--to", "explore", "-m", "hi", "--priority", "urgent"]);
    room.of_agent("inboxes", "explore").put("2026-01-01-001.md", task);
    assert_eq!(
        (room.header("explore")["from"]["name"].as_str(), room.header("explore")["priority"].as_str()),
        (Some("alice"), Some("urgent"))
    );
}

#[test]
fn output_is_a_new_file_and_never_replaces_one() {
    let room = TestRoom::empty();
    let arguments = [
        "tools",
        "compose",
        "--protocol",
        "maildir",
        "--from",
        "a",
        "--to",
        "b",
        "-m",
        "hi",
        "--output",
        "draft.md",
    ];
    let ran = room.bare(arguments).succeeds();
    assert_eq!(ran.out, "");
    let path = room.around().join("draft.md");
    let first = std::fs::read_to_string(&path).unwrap();
    assert!(first.ends_with("---\n\nhi"), "{first}");
    let ran = room.bare(arguments).exits(4);
    assert!(ran.err.contains("draft.md is there already"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
    std::os::unix::fs::symlink("elsewhere", room.around().join("link")).unwrap();
    room.bare(arguments[..10].iter().copied().chain(["--output", "link"])).exits(4);
    room.bare(arguments[..10].iter().copied().chain(["--output", "no/such/file"])).exits(5);
    assert!(!room.around().join("elsewhere").exists());
    let left =
        std::fs::read_dir(room.around()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["draft.md", "link"], "nothing is left of a refusal");
}

#[test]
fn what_cannot_be_composed_is_told_by_its_option() {
    let room = TestRoom::empty();
    let paths = ["--receiver", RECEIVER, "--reply-path", BACK];
    for (arguments, code, why) in [
        (vec!["maildir", "--to", "b"], 4, "maildir messages need --from"),
        (vec!["maildir", "--from", "a"], 4, "maildir messages need --to"),
        (vec!["tree", "--from", "a", "--to", "../b"], 4, "--to: "),
        (vec!["tree", "--from", "a", "--to", "b", "--receiver", "/x"], 4, "tree messages have no --receiver"),
        (vec!["workspace", "--receiver", RECEIVER], 4, "workspace messages need --reply-path"),
        (vec!["workspace", "--receiver", "b/x", "--reply-path", BACK], 4, "--receiver: not an absolute path"),
        (
            vec!["workspace", "--receiver", RECEIVER, "--reply-path", "/a/../x"],
            4,
            "--reply-path: not an absolute path",
        ),
        ([&["workspace", "--from", "a"], &paths[..]].concat(), 4, "workspace messages have no --from"),
        ([&["workspace", "--id", "not-hex"], &paths[..]].concat(), 4, "--id: not 32 lower-case hex digits"),
        ([&["workspace", "--reply-to", "a b"], &paths[..]].concat(), 4, "--reply-to: "),
        ([&["workspace", "--reply-to", "x", "--id", REQUEST], &paths[..]].concat(), 4, "have no --id"),
        (
            vec!["maildir", "--from", "a", "--to", "b", "-s", "two\nlines"],
            4,
            "--subject: it holds a line break",
        ),
        (
            vec!["maildir", "--from", "a", "--to", "b", "--id", "short"],
            4,
            "--id: it has fewer than eight hex digits",
        ),
        (vec!["maildir", "--from", "a", "--to", "b", "--priority", "asap"], 2, "--priority"),
        (vec!["telegram"], 2, "one of maildir, workspace, tree"),
    ] {
        let ran = room
            .bare(["tools", "compose", "-m", "hi", "--protocol"].into_iter().chain(arguments.clone()))
            .exits(code);
        assert!(ran.err.contains(why), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}

#[test]
fn verify_names_the_protocol_or_line_and_field() {
    let room = TestRoom::empty();
    let put = |name: &str, text: &str| std::fs::write(room.around().join(name), text).unwrap();
    let request = compose(&room, &["workspace", "--receiver", RECEIVER, "--reply-path", BACK, "-m", "hi"]);
    put("1", &by_hand("a", "abcd1234", "x", "hi"));
    put("2", &request);
    put("3", &task("2026-01-01-001", "a", "b", "hi\n"));
    put("4", &request.replace("NEW", "reply"));
    put("5", &task("2026-01-01-001", "a", "b", "hi\n").replace("status: pending", "status: waiting"));
    put("6", &by_hand("a", "abcd1234", "x", "hi").replace("subject: x", "from: b"));
    put("7", "hello\n");
    put("8", "---\nfrom: a\n");
    put("9", &task("2026-01-01-001", "a", "b", "x\n").replace("to: b\n", "to: b\npriority: soon\n"));
    let good = room.bare(["tools", "verify", "1", "2", "3"]).succeeds().out;
    assert_eq!(good, "1: valid maildir\n2: valid workspace\n3: valid tree\n");
    let all = room.bare(["tools", "verify", "1", "4", "5", "6", "7", "8", "9", "missing"]).exits(4).out;
    insta::assert_snapshot!(all, @"
    1: valid maildir
    4: not valid: workspace: line 3: `MESSAGE_TYPE`: not NEW or REPLY, in upper case
    5: not valid: tree: line 5: `status`: not one of pending, in_progress, completed, failed
    6: not valid: maildir: line 4: the field `from` is there twice
    7: not valid: line 1: it does not begin with `---`
    8: not valid: the frontmatter is not closed by a line `---`
    9: valid tree (`priority: soon` is read as normal)
    missing: not valid: there is no such file
    ");
    let json = room.bare(["tools", "verify", "--json", "1", "4"]).json();
    assert_eq!(
        (json["files"][0]["valid"].as_bool(), json["files"][1]["valid"].as_bool()),
        (Some(true), Some(false))
    );
    assert_eq!(json["files"][1]["protocol"], "workspace");
    assert_eq!(room.bare(["tools", "verify", "-q", "4"]).exits(4).out, "");
    room.bare(["tools", "verify"]).exits(2);
}

#[test]
fn verify_opens_no_link_and_waits_on_no_fifo() {
    let room = TestRoom::empty();
    std::os::unix::fs::symlink("/etc/passwd", room.around().join("link")).unwrap();
    std::fs::create_dir(room.around().join("folder")).unwrap();
    room.bash("mkfifo pipe").succeeds();
    let ran = room.bare(["tools", "verify", "link", "folder", "pipe", "no\nname"]).exits(4).out;
    assert_eq!(ran.lines().count(), 4, "{ran}");
    assert!(ran.contains("link: not valid: ") && ran.contains("is a symbolic link"), "{ran}");
    assert!(ran.contains("is a FIFO") && ran.contains("is a directory"), "{ran}");
}
