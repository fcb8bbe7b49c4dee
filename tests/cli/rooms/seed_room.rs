//! The room `tmp`, which is the seed's own root `/tmp/agent-mailbox`. The real one belongs to the user who runs the
//! tests, so each test has a `/tmp` of its own, in a namespace that ends with it.

use crate::support::room::{Ran, TestRoom};
use crate::support::until::skip;

/// Runs a script where `/tmp` is empty but for the directory of the test. `None`: no namespace is to be had.
fn in_own_tmp(room: &TestRoom, test: &str, script: &str) -> Option<Ran> {
    let around = "mkdir bin && cp \"$(command -v postroom)\" bin/ && unset POSTROOM_ROOT
        exec unshare --user --map-root-user --mount bash -c '
        here=$PWD; mount -t tmpfs none /tmp && mkdir -p \"$here\" && mount -c --bind . \"$here\" || exit 99
        cd \"$here\" && chmod 1777 /tmp && PATH=$here/bin:/usr/bin:/bin && eval \"$(postroom tools shell-init bash)\" && eval \"$SCRIPT\"'";
    let ran = room.bash(around).env("SCRIPT", script).ends();
    if ran.code == 99 || ran.err.contains("unshare") {
        skip(test, "no /tmp of our own can be mounted here");
        return None;
    }
    Some(ran)
}

#[test]
fn the_room_tmp_is_where_the_functions_deliver() {
    let room = TestRoom::empty();
    let script = "AGENT_MAILBOX_ID=agent-7 postroom --room tmp setup bob -q
        echo hello | AGENT_MAILBOX_ID=agent-8 mb_send \"$(mb_lookup bob | cut -f1)\" - greetings >/dev/null
        AGENT_MAILBOX_ID=agent-7 postroom --room tmp check | cut -d: -f2-
        postroom --room tmp --as bob whoami | grep room
        AGENT_MAILBOX_ID=agent-7 mb_wait 0 && ls /tmp/agent-mailbox";
    let Some(ran) = in_own_tmp(&room, "the_room_tmp_is_where_the_functions_deliver", script) else { return };
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        ran.out, " greetings\nroom: tmp (/tmp/agent-mailbox)\nREADME.md\nagent-7\nregistry.json\n",
        "{ran:?}"
    );
}

#[test]
fn an_empty_check_elsewhere_mentions_mail_in_the_room_tmp() {
    let room = TestRoom::empty();
    let script = "export AGENT_MAILBOX_ID=agent-7
        postroom --root room setup bob -q
        postroom --root room check; echo \"[$?]\"
        echo hello | mb_send agent-7 - greetings >/dev/null
        postroom --root room check; echo \"[$?]\"
        postroom --root room read; echo \"[$?]\"
        postroom --room tmp check | wc -l
        postroom --root room send bob -m here -q; postroom --root room check | wc -l";
    let Some(ran) = in_own_tmp(&room, "an_empty_check_elsewhere_mentions_mail_in_the_room_tmp", script)
    else {
        return;
    };
    assert_eq!(ran.out, "[1]\n[1]\n[1]\n1\n1\n", "{ran:?}");
    let mention = "postroom: 1 unread for bob in the room `tmp`\n  postroom --room tmp check\n";
    assert_eq!(ran.err, mention.repeat(2), "once for the check and once for the read");
}

#[test]
fn the_functions_say_once_that_their_root_is_not_there() {
    let room = TestRoom::empty();
    let script = "mb_list bob; mb_list bob; echo \"[$?]\"; mb_names; echo \"[$?]\"; mb_lookup bob; echo \"[$?]\"; mb_whois x; echo \"[$?]\"; ls /tmp/agent-mailbox 2>/dev/null";
    let Some(ran) = in_own_tmp(&room, "the_functions_say_once_that_their_root_is_not_there", script) else {
        return;
    };
    assert_eq!(ran.out, "[0]\n[0]\n[1]\n[1]\n", "{ran:?}");
    assert_eq!(ran.err.matches("/tmp/agent-mailbox does not exist").count(), 1, "{}", ran.err);
}
