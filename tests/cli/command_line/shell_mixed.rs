//! The shell functions beside the commands and beside mail by hand, in one room; and what they refuse.

use crate::command_line::shell::{says, shell};
use crate::support::room::TestRoom;

/// Another engine of the protocol, in shell: it takes flock(1) on `.registry.lock`, makes the first registry in place,
/// reads it line by line, and replaces it with `mv`.
const OTHER_ENGINE: &str = r#"
other_register() { # NAME ID
    mkdir -p -m 700 "$MB_TEST_ROOT"
    (
        flock 9
        registry=$MB_TEST_ROOT/registry.json new=$MB_TEST_ROOT/.registry.tmp.$BASHPID
        [ -f "$registry" ] || echo '{}' > "$registry"
        {
            echo '{'
            sed -n 's/^ *\(".*": {.*}\),\{0,1\}$/  \1,/p' "$registry"
            printf '  "%s": {"id":"%s","harness":"shell","inbox":"%s","pid":%s,"created":"2026-06-11T21:10:03Z"}\n}\n' \
                "$1" "$2" "$MB_TEST_ROOT/$2/inbox" $$
        } > "$new"
        mv -f "$new" "$registry"
    ) 9> "$MB_TEST_ROOT/.registry.lock"
}
other_ensure() { mkdir -p -m 700 "$MB_TEST_ROOT/$1/tmp" "$MB_TEST_ROOT/$1/inbox" "$MB_TEST_ROOT/$1/archive"; }
"#;

/// One round: three of each engine begin at once on a root that is not there yet.
fn round(room: &TestRoom, other: &str, own: &str) {
    let script = format!(
        "{OTHER_ENGINE}
        for n in 1 2 3; do
            ( {other} ) &
            ( {own} ) > /dev/null &
        done; wait"
    );
    let ran = shell(room, &script).env("AGENT_HARNESS", "x").succeeds();
    let text = std::fs::read_to_string(room.root().join("registry.json")).unwrap();
    let registry: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    let names: std::collections::BTreeSet<&str> = registry.keys().map(String::as_str).collect();
    let all = ["other-1", "other-2", "other-3", "own-1", "own-2", "own-3"];
    assert_eq!(names.into_iter().collect::<Vec<_>>(), all, "{}", ran.err);
    assert_eq!(ran.err, "");
    assert_eq!(room.run(["names"]).succeeds().out.lines().count(), 6);
}

#[test]
fn two_engines_that_register_on_a_new_root_at_once_lose_no_name() {
    // 8 to 12 of 20 rounds lost one: the lock file that the other engine makes first was taken for something foreign.
    let own = [
        "mb_register own-$n p$n",
        "mb_ensure_inbox p$n; mb_register own-$n p$n",
        "AGENT_MAILBOX_ID=p$n postroom --root \"$MB_TEST_ROOT\" setup own-$n",
    ];
    let other = [
        "other_register other-$n s$n",
        "other_ensure s$n; other_register other-$n s$n",
        "other_register other-$n s$n; other_ensure s$n",
    ];
    for n in 0..50 {
        round(&TestRoom::empty(), other[n % 3], own[n / 3 % 3]);
    }
}

#[test]
fn a_name_that_is_registered_without_a_directory_gets_one() {
    let register = |room: &TestRoom| {
        shell(room, &format!("{OTHER_ENGINE} other_register bob id-bob; other_register carol id-carol"))
            .succeeds();
    };
    let has_folders = |room: &TestRoom, id: &str| {
        ["tmp", "inbox", "archive"].iter().all(|folder| room.root().join(id).join(folder).is_dir())
    };
    for arguments in [
        vec!["--as", "bob", "check"],
        vec!["--as", "id-bob", "check"],
        vec!["--as", "bob", "wait", "--timeout", "0"],
        vec!["--as", "carol", "send", "bob", "-m", "hi"],
        vec!["--as", "carol", "send", "id-bob", "-m", "hi"],
        vec!["--as", "carol", "send", "@all", "-m", "hi"],
        vec!["--as", "bob", "setup"],
        vec!["takeover", "bob"],
        vec!["names"],
    ] {
        let room = TestRoom::empty();
        register(&room);
        let ran = room.run(arguments.clone()).ends();
        assert!([0, 1].contains(&ran.code) && ran.err.is_empty(), "{arguments:?}: {ran:?}");
        assert!(has_folders(&room, "id-bob"), "{arguments:?}");
        let count = room.by("bob", ["check", "--count"]).ends();
        assert_eq!(count.out.trim(), if arguments.contains(&"hi") { "1" } else { "0" }, "{arguments:?}");
        room.run(["names"]).succeeds();
    }
    let room = TestRoom::empty();
    register(&room);
    room.run(["check", "--count"]).env("AGENT_MAILBOX_ID", "id-bob").exits(1);
    assert!(has_folders(&room, "id-bob") && !room.root().join("id-carol").exists(), "only the one that acts");
    room.by("dave", ["check"]).exits(3);
    room.by("bob", ["send", "dave", "-m", "x"]).exits(3);
    assert!(!room.root().join("dave").exists(), "a name that nobody registered gets none");
    room.run(["names"]).succeeds();
}

#[test]
fn a_mailbox_that_the_other_engine_made_in_part_is_completed() {
    // `mb_wait` of the seed makes only inbox/, its `mb_send` only tmp/ and inbox/.
    for parts in [&["inbox"][..], &["inbox", "tmp"], &["tmp"], &[]] {
        let room = TestRoom::with(&["alice"]);
        for part in parts {
            std::fs::create_dir_all(room.root().join("id-bob").join(part)).unwrap();
        }
        room.bash("chmod -R go-rwx \"$POSTROOM_ROOT\"").succeeds();
        shell(&room, &format!("{OTHER_ENGINE} other_register bob id-bob")).succeeds();
        room.send("alice", "bob", "hi");
        room.by("bob", ["read"]).succeeds();
        assert_eq!(room.files("bob", "archive").len(), 1, "{parts:?}");
    }
}

#[test]
fn names_that_the_other_engine_gave_one_id_are_kept() {
    let room = TestRoom::empty();
    let script = format!(
        "{OTHER_ENGINE} other_register bob id-1; other_register bobby id-1; mb_register rob id-1; mb_lookup bobby | cut -f1"
    );
    assert_eq!(shell(&room, &script).succeeds().out, "robid-1\n");
    room.by("bob", ["setup", "--about", "reviews"]).succeeds();
    for name in ["bob", "bobby", "rob"] {
        room.by(name, ["check"]).exits(1);
    }
}

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
