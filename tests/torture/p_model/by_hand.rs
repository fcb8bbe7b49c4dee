//! What people and scripts write by hand, as docs/reference/protocols.md shows it: where a file goes, and what is in it.

use crate::p_model::step::{Protocol, Who, chosen_id, protocol, workspace_of};

pub(crate) fn by_hand(from: Who, to: Who, key: &str, home: bool) -> (String, String) {
    let body = format!("$(body {key})");
    let id = chosen_id(key);
    match protocol(to) {
        Protocol::Workspace if !home => {
            let request = id.replace('-', "");
            let back = match protocol(from) {
                Protocol::Workspace => format!("$base/{}/.mailbox/inbox/{request}", workspace_of(from)),
                _ => format!("$base/room/$(mailbox {from})/.mailbox/inbox/{request}"),
            };
            let path = format!("$base/{}/.mailbox/inbox/{request}", workspace_of(to));
            let head = format!(
                "REQUEST_ID: {request}\nMESSAGE_TYPE: NEW\nRECEIVER_INBOX_PATH: {path}\nREPLY_INBOX_PATH: {back}"
            );
            (path, format!("---\n{head}\n---\n\n{body}"))
        }
        Protocol::Tree if !home => {
            let number: u32 = key[1..].parse().expect("a key is a letter and a number");
            // High numbers, which a sequence of a short history does not come to.
            let id = format!("2026-01-02-{}", 500 + number);
            let sender =
                if protocol(from) == Protocol::Tree { from.to_owned() } else { format!("$(mailbox {from})") };
            let head = format!(
                "id: {id}\nfrom: {sender}\nto: {to}\nstatus: pending\ncreated: 2026-01-02T03:04:05Z\ncontext: by hand"
            );
            (format!("$base/site/.claude/inboxes/{to}/{id}.md"), format!("---\n{head}\n---\n\n{body}"))
        }
        _ => {
            let head =
                format!("from: $(mailbox {from})\nmsg_id: {id}\nsubject: by hand\nto: $(mailbox {to})");
            let path = format!("$base/room/$(mailbox {to})/inbox/{key}.md");
            (path, format!("---\n{head}\n---\n\n{body}"))
        }
    }
}

pub(crate) fn answer_by_hand(who: Who, key: &str, answer: &str) -> (String, String) {
    let body = format!("$(body {answer})");
    let field = |name: &str| format!("$(field {name} {key} {who})");
    match protocol(who) {
        Protocol::Maildir => {
            let (from, subject) = (field("from"), field("subject"));
            let head = format!(
                "from: $(mailbox {who})\nmsg_id: {}\nsubject: re: {subject}\nreply_to: {}\nto: {from}",
                chosen_id(answer),
                field("msg_id")
            );
            (format!("$base/room/{from}/inbox/{answer}.md"), format!("---\n{head}\n---\n\n{body}"))
        }
        Protocol::Workspace => {
            let (here, back) = (field("RECEIVER_INBOX_PATH"), field("REPLY_INBOX_PATH"));
            let head = format!(
                "REQUEST_ID: {}\nMESSAGE_TYPE: REPLY\nRECEIVER_INBOX_PATH: {back}\nREPLY_INBOX_PATH: {here}",
                field("REQUEST_ID")
            );
            (back.clone(), format!("---\n{head}\n---\n\n{body}"))
        }
        Protocol::Tree => {
            let (id, to) = (field("id"), field("from"));
            let head = format!(
                "id: {id}-response\nrequest_id: {id}\nfrom: {who}\nto: {to}\nstatus: completed\ncreated: 2026-01-02T03:04:06Z"
            );
            let path = format!("$base/site/.claude/outboxes/{who}/{id}-response.md");
            (path, format!("---\n{head}\n---\n\n{body}"))
        }
    }
}
