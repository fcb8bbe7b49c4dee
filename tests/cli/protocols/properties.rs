//! What holds of any bytes whatever, asked with bytes that are nearly right. The fuzz targets ask the same
//! (`fuzz/src/lib.rs`), for longer and of bytes that nobody would think of.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::any_bytes;

/// Hands bytes of these tokens, and some of none, to a property.
fn holds(property: fn(&[u8]), starts: &[&str], tokens: &[&str]) {
    holds_in(1500, property, starts, tokens);
}

fn holds_in(cases: u32, property: fn(&[u8]), starts: &[&str], tokens: &[&str]) {
    let owned = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
    let part = prop_oneof![
        12 => prop::sample::select(owned(tokens)),
        1 => prop::collection::vec(any::<u8>(), 0..3),
        1 => "\\PC{0,3}".prop_map(String::into_bytes),
    ];
    let bytes = (prop::sample::select(owned(starts)), prop::collection::vec(part, 0..14));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let verdict = TestRunner::new(config).run(&bytes, |(start, parts)| {
        property(&[start, parts.concat()].concat());
        Ok(())
    });
    verdict.unwrap();
}

const FIELDS: [&str; 14] = [
    "---\n", "---\r\n", "\n", "\r", " ", ": ", "# c\n", "\u{feff}", "é", "\0", "body", "x: y\n", "  - z\n",
    "\"\"\n",
];

#[test]
fn messages_of_a_maildir() {
    let starts = ["", "\n \n---\n", "---\nfrom: a\nmsg_id: 1\n", "---\r\nmsg_id: 1\r\nfrom: a\r\n"];
    let own = [
        "from: a\n",
        "msg_id: 12345678\n",
        "subject: x: y\n",
        "to: b\r\n",
        "reply_to: 1\n",
        "channel:  c \n",
        "priority: high\n",
        "From: b\n",
        "Priority: P1\n",
        "Msg_ID: 2\n",
    ];
    holds(any_bytes::maildir, &starts, &[&FIELDS[..], &own].concat());
}

#[test]
fn messages_of_a_workspace() {
    let start = "---\nREQUEST_ID: 0123456789abcdef0123456789abcdef\nMESSAGE_TYPE: NEW\n\
                 RECEIVER_INBOX_PATH: /a/.mailbox/inbox/x.md\n";
    let own = [
        "REPLY_INBOX_PATH: /b/.mailbox/inbox/x.md\n",
        "CHANNEL_ID: c\n",
        "MESSAGE_TYPE: REPLY\n",
        "REQUEST_ID: 1\n",
        "Request_id: \"user:chat/14\" # c\n",
        "message_type: 'NEW'\n",
        "RECEIVER_INBOX_PATH: /a #1/x # c\n",
        "Priority: asap\n",
    ];
    holds(any_bytes::workspace, &["", start], &[&FIELDS[..], &own].concat());
}

#[test]
fn tasks_of_a_tree() {
    let start = "---\nid: 2026-01-01-001\nfrom: a\nto: b\nstatus: pending\ncreated: 2026-01-01T00:00:00Z\n\
                 priority: normal\n";
    let own = [
        "error: |\n  one\n",
        "context: 'it''s'\n",
        "step: 3\n",
        "workflow: \"a\\tb\"\n",
        "status: failed\n",
        "k: &a b\n",
        "l: *a\n",
        "m: {a: b}\n",
        "n: >-\n  t\n",
        "Status: In Progress\n",
        "STATUS: 'todo' # c\n",
        "context: fix: the parser\n",
        "priority: P1\n",
        "step: 1.5\n",
        "Error: old\n",
        "created: 2026-01-01\n",
    ];
    let bare = "\n---\nid: 2026-01-01-001\n";
    holds(any_bytes::tree, &["", bare, start], &[&FIELDS[..], &own].concat());
}

#[test]
fn names_and_ids() {
    let tokens = [
        "a",
        "B",
        ".",
        "-",
        "_",
        "/",
        "..",
        "é",
        "e\u{301}",
        "ß",
        "ẞ",
        "Σ",
        "ς",
        "İ",
        "ı",
        "ﬁ",
        "Å",
        "\u{212b}",
        "\u{200d}",
        "\u{202e}",
        "陳",
        "한",
        "\u{1112}\u{1161}",
        "0",
        "~",
        "@",
        "\u{1b}",
        "ǅ",
        "ᾳ",
        "\u{345}",
    ];
    holds(any_bytes::names, &["", "a", "bob", "0123abcd"], &tokens);
}

#[test]
fn settings_of_a_room_and_of_a_project() {
    let tokens = [
        "room = \"a\"\n",
        "[limits]\n",
        "body_bytes = 1\n",
        "[agents.a]\n",
        "preset = \"command\"\n",
        "time_limit = \"",
        "30m\"\n",
        "[dispatch]\n",
        "hops = 3\n",
        "back_off = 5\n",
        "\"",
        "'''",
        "[",
        "]",
        "=",
        "\n",
        "#",
        "-1",
        "1e999",
        "{",
        "}",
        ",",
        "é",
        "day_cost = nan\n",
        "back_off = \"99999999999999999999h\"\n",
    ];
    holds(any_bytes::settings, &["", "[dispatch]\n", "[agents.bob]\n"], &tokens);
}

#[test]
fn definitions_of_workflows() {
    let tokens = [
        "steps:\n",
        "  one:\n",
        "  two:\n",
        "    agent: x\n",
        "    agent: \"{{ item }}\"\n",
        "    prompt: y\n",
        "    prompt: \"{{ steps.one.result }}\"\n",
        "    needs: one\n",
        "    needs: [one, two]\n",
        "    when: inputs.a\n",
        "    foreach: range(3)\n",
        "    foreach: inputs.a\n",
        "    join: any\n",
        "    retry: 1\n",
        "    on_failure: continue\n",
        "    on_failure: {step: two, rounds: 2}\n",
        "    output: json\n",
        "    gate: {contains: a}\n",
        "    gate: {schema: {type: object, required: [a]}}\n",
        "    timeout: 0s\n",
        "inputs: {a: {type: list}}\n",
        "parallel: 1\n",
        "&a ",
        "{{",
        "[",
        "\t",
        "---\n",
        "é",
    ];
    let start = "steps:\n  one:\n    agent: x\n    prompt: y\n";
    let other = "inputs: {a: {type: list}}\nsteps:\n  two:\n    agent: x\n    prompt: y\n  one:\n    agent: x\n    prompt: \"{{ steps.two.result }}\"\n    needs: two\n";
    holds(any_bytes::definitions, &["", start, other], &tokens);
}

#[test]
fn requests_of_mcp() {
    let call = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":";
    let check = format!("{call}\"check\",\"arguments\":{{");
    let send = format!("{call}\"send\",\"arguments\":{{\"to\":[\"bob\"],\"text\":\"");
    let read = format!("{call}\"read\",\"arguments\":{{\"id\":\"0123abcd\"");
    let tokens = [
        "}}}",
        "\"}}}",
        ",",
        "\"limit\":",
        "\"from\":\"bob\"",
        "\"keep\":true",
        "-1",
        "1e99",
        "null",
        "\\u001b",
        "\\ud800",
        "\u{202e}",
        "[",
        "{",
        "\"",
        "x",
        "\",\"subject\":\"",
        "\",\"id\":\"deadbeef",
        "\",\"channel\":\"",
    ];
    // Each is a server of its own, and a look of the doctor.
    holds_in(150, any_bytes::mcp, &["", call, &check, &send, &read], &tokens);
}
