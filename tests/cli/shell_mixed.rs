//! The shell functions beside the commands and beside mail by hand, in one room; and what they refuse.

use crate::room::TestRoom;
use crate::shell::{says, shell};

#[test]
fn functions_and_commands_write_to_each_other() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (alice, bob) = (room.id("alice"), room.id("bob"));
    let script = format!(
        "echo hello | AGENT_MAILBOX_ID={alice} mb_send \"$(mb_lookup bob | cut -f1)\" - 'from the shell'"
    );
    shell(&room, &script).succeeds();
    let out = room.by("bob", ["check"]).succeeds().out;
    assert!(out.ends_with(" alice: from the shell\n"), "{out}");
    room.by("bob", ["reply", &out[..8], "-m", "from the command"]).succeeds();
    let out = shell(&room, &format!("cat $(AGENT_MAILBOX_ID={alice} mb_list)")).succeeds().out;
    assert!(
        out.contains(&format!("from: {bob}\n")) && out.contains("subject: re: from the shell\n"),
        "{out}"
    );
}

#[test]
fn a_name_in_the_environment_means_its_mailbox() {
    // AGENT_MAILBOX_ID is an id, else a name (protocols.md §1.5). Taken for an id, `bob` was a second, empty
    // mailbox, and from then on every command with that environment looked into it.
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hi");
    let ran =
        shell(&room, "export AGENT_MAILBOX_ID=bob; mb_wait 0; echo \"[$?]\"; mb_list | wc -l").succeeds();
    assert_eq!(ran.out, "[0]\n1\n");
    assert!(!room.root().join("bob").exists(), "no second mailbox is made");
    let seen = room.run(["check", "--count"]).env("AGENT_MAILBOX_ID", "bob").succeeds().out;
    assert_eq!(seen, "1\n");
}

#[test]
fn mail_by_hand_goes_both_ways() {
    let room = TestRoom::with(&["alice", "bob"]);
    // As format.md §9 says: find the id with sed, write into tmp, move into inbox.
    let script = "umask 077; cd \"$MB_TEST_ROOT\"
        id() { sed -n \"s/^ *\\\"$1\\\": {\\\"id\\\":\\\"\\([^\\\"]*\\)\\\".*/\\1/p\" registry.json; }
        b=$(id bob); a=$(id alice); n=20260101T000000Z-abcd1111-by-hand.md
        printf -- '---\\nfrom: %s\\nmsg_id: abcd1111-0000\\nsubject: by hand\\nto: %s\\n---\\n\\nhello\\n' $a $b > $b/tmp/$n
        mv $b/tmp/$n $b/inbox/$n";
    shell(&room, script).succeeds();
    room.by("bob", ["wait", "--timeout", "0"]).succeeds();
    assert!(room.by("bob", ["read", "abcd1111"]).succeeds().out.contains("\nhello\n"));
    room.by("bob", ["reply", "abcd1111", "-m", "thanks"]).succeeds();
    let script = "cd \"$MB_TEST_ROOT\"/alice-*; f=$(ls inbox); sed -n 's/^reply_to: //p' inbox/$f; sed '1,/^---$/d;1,/^---$/d' inbox/$f >/dev/null; tail -n 1 inbox/$f; echo; mv inbox/$f archive/$f";
    assert_eq!(shell(&room, script).succeeds().out, "abcd1111-0000\nthanks\n");
    room.by("alice", ["check"]).exits(1);
    assert!(room.by("alice", ["read", &room.files("alice", "archive")[0]]).succeeds().out.contains("thanks"));
}

#[test]
fn a_hostile_id_is_no_path() {
    let room = TestRoom::empty();
    shell(&room, "mb_ensure_inbox bob").succeeds();
    let before = room.tree();
    for id in ["../x", "/tmp/x", "..", "a b", "-rf", "$(id)"] {
        for call in [
            "mb_ensure_inbox \"$ID\"",
            "echo x | mb_send \"$ID\" -",
            "mb_wait 0 \"$ID\"",
            "mb_register eve \"$ID\"",
            "mb_list \"$ID\"",
            "AGENT_MAILBOX_ID=\"$ID\" mb_list",
        ] {
            let ran = shell(&room, call).env("ID", id).ends();
            assert!(ran.code != 0 && ran.out.is_empty(), "{call} {id}: {ran:?}");
        }
    }
    assert_eq!(says(&room, "mb_archive ../../x bob; mb_archive /etc/passwd bob"), "[0]\n");
    room.is_still(&before, "hostile ids");
    assert_eq!(std::fs::read_dir(room.around()).unwrap().count(), 1);
}

#[test]
fn a_secret_is_refused_without_advice_that_does_not_fit() {
    let room = TestRoom::empty();
    let key = format!("{}_{}", "ghp", "a1".repeat(18));
    let ran = shell(&room, "mb_send bob -").input(&key).ends();
    assert!(ran.code != 0 && ran.out.is_empty() && ran.err.contains("GitHub token"), "{ran:?}");
    assert!(!ran.err.contains("--allow-secrets"), "mb_send has no such option: {}", ran.err);
    assert!(!room.root().join("bob").exists(), "a refused message makes no mailbox");
}
