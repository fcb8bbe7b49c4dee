//! What L1 and L2 ask of the ways by which agent programs hear of mail: MCP and hooks.

use std::fs;

use serde_json::{Value, json};

use postroom::message::visible::piped;

use crate::l_fence::{Draws, apart, attack};
use crate::lab::{Findings, Lab};
use crate::m_server::Server;
use crate::place::{Place, ago, names_in, set_time};

/// The longest text that a hook adds (docs/guides/programs.md).
const LONGEST: usize = 600;

/// L1 over MCP: the text and the values of `read` each give the body back. Gives how many were read.
pub(crate) fn bodies_over_mcp(lab: &Lab, draws: &mut Draws, findings: &Findings) -> usize {
    const BODIES: usize = 6;
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let server = Server::start(&place);
    for number in 0..BODIES {
        let body = format!("{number} {}", attack(draws, "0123456789abcdef"));
        let letter = place.base.join("letter");
        fs::write(&letter, &body).expect("a letter");
        let file = letter.display().to_string();
        place.ok(&["--as", "bob", "send", "alice", "-s", &format!("attack {number}"), "--file", &file]);
        let (status, said) = server.calls("read", &json!({}));
        let result = said.lines().filter_map(|line| line.strip_prefix("data: ")).find_map(|line| {
            let answer: Value = serde_json::from_str(line).ok()?;
            answer.get("result").cloned()
        });
        let result = result.unwrap_or_default();
        for shown in [&result["content"][0]["text"], &result["structuredContent"]["text"]] {
            let inside = apart(shown.as_str().unwrap_or_default()).map(|(_, body)| body);
            findings.check(inside.as_deref() == Ok(piped(&body).as_ref()), || {
                format!("MCP: {inside:?}, not {body:?}; {status} {said:?}")
            });
        }
    }
    BODIES
}

/// L2 by hooks: a session is told in at most 600 bytes, a line for each message, with no byte of a body. Gives how many
/// were told.
pub(crate) fn notices_by_hooks(lab: &Lab, findings: &Findings) -> usize {
    let mut draws = Draws::new(3);
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let mut told = 0;
    for (number, program) in
        ["claude", "codex", "gemini", "opencode", "copilot"].iter().cycle().take(10).enumerate()
    {
        let mails = 1 + number % 4;
        for mail in 0..mails {
            let text = attack(&mut draws, "0123456789abcdef").replace(['\n', '\r'], " ");
            let text = if mail == 0 { text.repeat(30) } else { text };
            let id = format!("{number:04x}{mail:04x}");
            let (from, subject) =
                if mail % 2 == 0 { ("alice", text.as_str()) } else { (text.as_str(), "plain") };
            let head = format!("from: {from}\nto: bob\nmsg_id: {id}\nsubject: {subject}");
            let file = place.folder("bob", "inbox").join(format!("20260101T000000Z-{id}-x.md"));
            fs::write(&file, format!("---\n{head}\n---\n\nBODY-BYTES {text}\n")).expect("a message by hand");
            set_time(&file, ago(3600));
        }
        let input = place.base.join("input");
        let said = json!({"session_id": format!("s{number}"), "tool_response": {"stdout": "x"}});
        fs::write(&input, said.to_string()).expect("the input of a hook");
        // The hook that comes first tells it, and the other is silent.
        let mut events = ["prompt", "stop"];
        events.rotate_left(number % 2);
        for (place_of_event, event) in events.iter().enumerate() {
            let run = place.command(&["hook", program, event, "--name", "bob"]).stdin(&input);
            let ended = run.env("AGENT_MAILBOX_ID", "bob").end();
            let value: Value = serde_json::from_slice(&ended.out).unwrap_or_default();
            let texts = [
                &value["hookSpecificOutput"]["additionalContext"],
                &value["additionalContext"],
                &value["reason"],
                &value["text"],
            ];
            let text = texts.iter().find_map(|text| text.as_str()).unwrap_or_default();
            let at = || format!("{program} {event}: {}", ended.shown());
            if place_of_event > 0 {
                findings.check(ended.ok() && text.is_empty(), || format!("told twice: {}", at()));
                continue;
            }
            findings
                .check(ended.ok() && text.starts_with("postroom: "), || format!("nothing told: {}", at()));
            findings.check(text.len() <= LONGEST, || format!("{} bytes: {}", text.len(), at()));
            // A line before, one for each message or for how many more there are, one after.
            findings.check((3..=mails + 2).contains(&text.lines().count()), || format!("{text:?}"));
            let plain = |c: char| c == '\n' || !c.is_control() && !postroom::message::visible::is_unsafe(c);
            findings.check(text.chars().all(plain), || format!("a control: {text:?}"));
            findings.check(!text.contains("BODY-BYTES"), || format!("a body: {text:?}"));
            told += 1;
        }
        // A mailbox belongs to one session at a time.
        let end = place.command(&["hook", program, "session-end", "--name", "bob"]).stdin(&input).end();
        findings.check(end.ok() && end.out.is_empty(), || format!("{program} session-end: {}", end.shown()));
        let inbox = place.folder("bob", "inbox");
        names_in(&inbox).iter().for_each(|name| fs::remove_file(inbox.join(name)).expect("a message"));
    }
    told
}
