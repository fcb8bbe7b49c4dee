//! The displayed form of a message: facts about it, then its body between two fences.
//!
//! Both fences contain a nonce that does not occur in the body, so no body can end itself and continue as an envelope.
//! The sender is *claimed*: any process that may write into the directory may write any `from`. The wording is factual,
//! because the text of a message is never an instruction of the user.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::envelope::{Envelope, Priority};
use super::{Attachment, visible};
use crate::clock::Timestamp;

/// The facts shown around a body.
#[derive(Debug)]
pub struct ShownMessage<'a> {
    pub envelope: &'a Envelope,
    /// The sender's name if the registry knows one, else its id.
    pub sender: &'a str,
    pub time: Timestamp,
    /// Remarks on this copy: shown before, addressed to another mailbox.
    pub remarks: &'a [String],
    /// Its attachments, one line each.
    pub attachments: &'a [String],
    /// The command that the reader may type next, and its purpose.
    pub next: (&'a str, &'a str),
}

/// How much of the body is shown.
#[derive(Debug, Clone, Copy)]
pub enum Extent<'a> {
    Whole,
    /// The first bytes (at a character boundary), and the path of the whole.
    Head {
        bytes: usize,
        path: &'a str,
    },
}

/// Sixteen hex digits that do not occur in the body, from numbers that the caller draws.
pub fn nonce(body: &str, mut draw: impl FnMut() -> u64) -> String {
    loop {
        let nonce = format!("{:016x}", draw());
        if !body.contains(&nonce) {
            return nonce;
        }
    }
}

/// The message as text for an agent, or for a person's terminal if `for_terminal`.
pub fn render(
    facts: &ShownMessage<'_>,
    body: &str,
    nonce: &str,
    extent: Extent<'_>,
    for_terminal: bool,
) -> String {
    let mut out = head(facts);
    let (part, whole) = match extent {
        Extent::Whole => (body, None),
        Extent::Head { bytes, path } => (&body[..body.floor_char_boundary(bytes)], Some(path)),
    };
    let shown = match for_terminal {
        true => Cow::Owned(visible::text(part)),
        false => visible::piped(part),
    };
    // A program may take as many bytes as the fence says. A person sees how large the message is.
    let (bytes, changed) = match for_terminal || shown == part {
        true => (part.len(), ""),
        false => (shown.len(), ", with controls as text"),
    };
    let _ = match whole {
        None => writeln!(out, "[{nonce} body: {bytes} bytes{changed}]"),
        Some(path) => {
            let (all, path) = (body.len(), visible::line(path));
            writeln!(out, "[{nonce} body: first {bytes} of {all} bytes{changed}; all of it: {path}]")
        }
    };
    out.push_str(&shown);
    if shown.ends_with('\n') {
        let _ = writeln!(out, "[{nonce} end]");
    } else {
        let _ = writeln!(out, "\n[{nonce} end, no line break before it]");
    }
    out
}

fn head(facts: &ShownMessage<'_>) -> String {
    let envelope = facts.envelope;
    let mut out = String::with_capacity(512);
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(out, "{key}: {}", visible::line(value));
    };
    line("message", envelope.id.as_str());
    line("from", &format!("{} (unverified)", facts.sender));
    line("subject", &envelope.subject);
    line("time", &facts.time.to_string());
    if let Some(id) = &envelope.reply_to {
        line("answers", id.as_str());
    }
    if envelope.priority != Priority::Normal {
        line("priority", envelope.priority.as_str());
    }
    if let Some(channel) = &envelope.channel {
        line("channel", channel);
    }
    for (key, value) in envelope.extra.iter().filter(|(key, value)| Attachment::parse(key, value).is_none()) {
        line(&format!("field {}", visible::line(key)), value);
    }
    for attachment in facts.attachments {
        line("attachment", attachment);
    }
    for remark in facts.remarks {
        line("note", remark);
    }
    for doubt in &envelope.doubts {
        line("doubtful", doubt);
    }
    line(facts.next.0, facts.next.1);
    out
}

/// Extracts the body from a rendered message, as a careful reader of the text would.
pub fn body_of(rendered: &str) -> Option<&str> {
    let open_at = rendered.find("\n[")? + 1;
    let open = &rendered[open_at..];
    let (fence, rest) = open.split_once('\n')?;
    let nonce = fence.get(1..17).filter(|n| n.bytes().all(|b| b.is_ascii_hexdigit()))?;
    if let Some(at) = rest.find(&format!("\n[{nonce} end, no line break before it]\n")) {
        return Some(&rest[..at]);
    }
    let end = format!("[{nonce} end]\n");
    let at = rest.find(&end)?;
    (at == 0 || rest.as_bytes()[at - 1] == b'\n').then_some(&rest[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Origin;
    use crate::message::envelope::ProtocolFields;
    use crate::name::MessageId;
    use proptest::prelude::*;

    fn shown(subject: &str, body: &str, nonce: &str) -> String {
        let envelope = Envelope {
            id: MessageId::parse_strict("3f2a9c1d").unwrap(),
            from: Origin::mailbox("bob-1"),
            to: "alice-2".into(),
            subject: subject.into(),
            reply_to: None,
            priority: Priority::Normal,
            channel: None,
            extra: vec![],
            native: ProtocolFields::Maildir,
            doubts: vec![],
        };
        let time = Timestamp::from_parts(0, 0);
        let facts = ShownMessage {
            envelope: &envelope,
            sender: "bob",
            time,
            remarks: &[],
            attachments: &[],
            next: ("to answer", "postroom reply 3f2a9c1d"),
        };
        render(&facts, body, nonce, Extent::Whole, false)
    }

    #[test]
    fn the_form() {
        assert_eq!(
            shown("hi", "text\n", "00000000000000aa"),
            "message: 3f2a9c1d\nfrom: bob (unverified)\nsubject: hi\ntime: 1970-01-01T00:00:00Z\n\
             to answer: postroom reply 3f2a9c1d\n[00000000000000aa body: 5 bytes]\ntext\n[00000000000000aa end]\n"
        );
    }

    #[test]
    fn a_changed_body_says_so_and_is_as_long_as_it_says() {
        let text = shown("hi", "a\u{1b}[2Jb\t\u{8}\n", "00000000000000aa");
        let inside = "a\\u{1b}[2Jb\t\u{8}\n";
        let fence =
            format!("[00000000000000aa body: {} bytes, with controls as text]\n{inside}[", inside.len());
        assert!(text.contains(&fence), "{text:?}");
    }

    #[test]
    fn a_nonce_never_occurs_in_the_body() {
        let mut draws = [1u64, 2, 3].into_iter();
        assert_eq!(nonce("0000000000000001 0000000000000002", || draws.next().unwrap()), "0000000000000003");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// Bodies made of the fence's own tokens, old nonces and fake headers are returned whole.
        #[test]
        fn no_body_breaks_out(parts in prop::collection::vec(prop::sample::select(vec![
            "[00000000000000aa end]\n", "[00000000000000ab end]", "\n", "message: deadbeef\n", "from: root\n", "</message>",
            "[00000000000000ab body: 3 bytes]\n", ", no line break before it]\n", "[", "\u{1b}[2J", "<system>", "é", " end]\n",
        ]), 0..12), subject in "[ -~\n\\[\\]]{0,40}") {
            let body = parts.concat();
            let mut draws = 0xaau64..;
            let nonce = nonce(&body, || draws.next().unwrap());
            let shown = shown(&subject, &body, &nonce);
            let wanted = visible::piped(&body);
            prop_assert_eq!(body_of(&shown), Some(wanted.as_ref()));
        }
    }
}
