//! The displayed form of a message: facts about it, then its body between two fences. Short, because a model pays for
//! every byte.
//!
//! Both fences contain a nonce that does not occur in the body, so no body can end itself and continue as an envelope.
//! It is drawn when the message is shown, so nobody can write a body that contains it. The first fence says how long the
//! body is; if that does not end with a line break, one follows it.
//! The sender is *claimed*: any process that may write into the directory may write any `from`. The wording is factual,
//! because the text of a message is never an instruction of the user.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::envelope::{Envelope, Priority};
use super::{Attachment, visible};

/// The facts shown around a body.
#[derive(Debug)]
pub struct ShownMessage<'a> {
    pub envelope: &'a Envelope,
    /// The short name of the message, by which every command knows it.
    pub called: &'a str,
    /// The sender's name if the registry knows one, else its id.
    pub sender: &'a str,
    /// How long ago it was sent.
    pub age: &'a str,
    /// Remarks on this copy: shown before, addressed to another mailbox.
    pub remarks: &'a [String],
    /// Its attachments, one line each.
    pub attachments: &'a [String],
    /// What the reader may do next, or has to know about it, and its heading.
    pub next: Option<(&'a str, &'a str)>,
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

/// Eight hex digits that do not occur in the body, from numbers that the caller draws.
pub fn nonce(body: &str, mut draw: impl FnMut() -> u64) -> String {
    loop {
        let nonce = format!("{:08x}", draw() >> 32);
        if !body.contains(&nonce) {
            return nonce;
        }
    }
}

/// The message as text for an agent.
pub fn render(facts: &ShownMessage<'_>, body: &str, nonce: &str, extent: Extent<'_>) -> String {
    head(facts) + &fenced(body, nonce, extent, false)
}

/// A body between its fences, for an agent, or for a person's terminal if `for_terminal`. Each of its lines is one line.
pub fn fenced(body: &str, nonce: &str, extent: Extent<'_>, for_terminal: bool) -> String {
    let mut out = String::with_capacity(body.len() + 64);
    let (part, whole) = match extent {
        Extent::Whole => (body, None),
        Extent::Head { bytes, path } => (&body[..body.floor_char_boundary(bytes)], Some(path)),
    };
    let shown = match for_terminal {
        true => Cow::Owned(visible::text(part)),
        false => visible::piped(part),
    };
    // A program may take as many bytes as the fence says. A person sees how large the message is.
    let bytes = if for_terminal { part.len() } else { shown.len() };
    let changed = if shown == part { "" } else { ", with controls as text" };
    let _ = match whole {
        None => writeln!(out, "[{nonce}: {bytes} bytes{changed}]"),
        Some(path) => {
            let (all, path) = (body.len(), visible::line(path));
            writeln!(out, "[{nonce}: {bytes} bytes{changed}, the first of {all}; all: {path}]")
        }
    };
    out.push_str(&shown);
    close(&mut out, &shown, nonce);
    out.push('\n');
    out
}

/// A text of others inside another text, between the same fences, without a line break after it.
pub fn enclosed(text: &str, nonce: &str) -> String {
    let shown = visible::piped(text);
    let changed = if shown == text { "" } else { ", with controls as text" };
    let mut out = format!("[{nonce}: {} bytes{changed}]\n{shown}", shown.len());
    close(&mut out, &shown, nonce);
    out
}

/// Ends a fence. An empty text is an empty line, so that every text ends with a line break.
fn close(out: &mut String, shown: &str, nonce: &str) {
    if !shown.ends_with('\n') {
        out.push('\n');
    }
    let _ = write!(out, "[{nonce} end]");
}

/// A piece of a text: what its writer wrote, or what stands between fences in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    Own(&'a str),
    Enclosed(&'a str),
}

/// The pieces of a text with enclosed ones in it ([`enclosed`]). A fence that says another length than its text has, or that
/// does not end, is part of the text.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut found, mut own, mut at) = (vec![], 0, 0);
    while let Some(open) = text[at..].find('[').map(|open| at + open) {
        at = open + 1;
        let Some((inside, end)) = enclosure(text, open) else { continue };
        found.extend(Some(&text[own..open]).filter(|own| !own.is_empty()).map(Piece::Own));
        found.push(Piece::Enclosed(inside));
        (own, at) = (end, end);
    }
    found.extend(Some(&text[own..]).filter(|own| !own.is_empty()).map(Piece::Own));
    found
}

/// The text between the fences that begin here, and where they end.
fn enclosure(text: &str, open: usize) -> Option<(&str, usize)> {
    let rest = &text[open + 1..];
    let (nonce, rest) =
        rest.split_at_checked(8).filter(|(nonce, _)| nonce.bytes().all(|b| b.is_ascii_hexdigit()))?;
    let (line, _) = rest.split_once('\n')?;
    let bytes: usize = line.strip_prefix(": ")?.strip_suffix(']')?.split_once(" bytes")?.0.parse().ok()?;
    let start = open + 1 + nonce.len() + line.len() + 1;
    let inside = text.get(start..start.checked_add(bytes)?)?;
    let close = if inside.ends_with('\n') { format!("[{nonce} end]") } else { format!("\n[{nonce} end]") };
    let end = start + bytes;
    text[end..].starts_with(&close).then(|| (inside, end + close.len()))
}

/// The lines before the body.
pub fn head(facts: &ShownMessage<'_>) -> String {
    let envelope = facts.envelope;
    let mut out = String::with_capacity(512);
    let (called, age) = (visible::line(facts.called), facts.age);
    let (sender, subject) = (visible::word(facts.sender), visible::line(&envelope.subject));
    // Only the courier sets the network, after it checked the signature of the room.
    let proof = match envelope.extra(super::FROM_NETWORK) {
        Some(_) => "verified room, unverified sender",
        None => "unverified",
    };
    let _ = writeln!(out, "{called} {age} {sender} ({proof}): {subject}");
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(out, "{key}: {}", visible::line(value));
    };
    if let Some(id) = &envelope.reply_to {
        line("answers", &id.brief().unwrap_or_else(|| id.to_string()));
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
    if let Some((heading, next)) = facts.next {
        line(heading, next);
    }
    out
}

/// Extracts the body from a rendered message, as a careful reader of the text would.
pub fn body_of(rendered: &str) -> Option<&str> {
    let open_at = rendered.find("\n[")? + 1;
    let open = &rendered[open_at..];
    let (fence, rest) = open.split_once('\n')?;
    let nonce = fence.get(1..9).filter(|n| n.bytes().all(|b| b.is_ascii_hexdigit()))?;
    let length: usize = fence.get(11..)?.split(' ').next()?.parse().ok()?;
    let body = rest.get(..length)?;
    let end = rest[length..].strip_prefix('\n').unwrap_or(&rest[length..]);
    end.starts_with(&format!("[{nonce} end]\n")).then_some(body)
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
        let facts = ShownMessage {
            envelope: &envelope,
            called: "3f2a9c1d",
            sender: "bob",
            age: "2m",
            remarks: &[],
            attachments: &[],
            next: None,
        };
        render(&facts, body, nonce, Extent::Whole)
    }

    #[test]
    fn a_text_is_taken_apart_at_its_fences_and_nowhere_else() {
        let all =
            format!("Before\n{} and {}", enclosed("one\n\n[two]", "0123abcd"), enclosed("", "89abcdef"));
        assert_eq!(
            pieces(&all),
            [
                Piece::Own("Before\n"),
                Piece::Enclosed("one\n\n[two]"),
                Piece::Own(" and "),
                Piece::Enclosed("")
            ]
        );
        for plain in [
            "",
            "[x]",
            "[0123abcd: 5 bytes]\nabc\n[0123abcd end]",
            "[0123abcd: 3 bytes]\nabc",
            "é[é: 9 bytes]\n",
        ] {
            let own: Vec<Piece<'_>> = if plain.is_empty() { vec![] } else { vec![Piece::Own(plain)] };
            assert_eq!(pieces(plain), own);
        }
    }

    #[test]
    fn the_form() {
        assert_eq!(
            shown("hi", "text\n", "000000aa"),
            "3f2a9c1d 2m bob (unverified): hi\n[000000aa: 5 bytes]\ntext\n[000000aa end]\n"
        );
        assert!(shown("hi", "text", "000000aa").ends_with("\n[000000aa: 4 bytes]\ntext\n[000000aa end]\n"));
    }

    #[test]
    fn a_changed_body_says_so_and_is_as_long_as_it_says() {
        let text = shown("hi", "a\u{1b}[2Jb\t\u{8}\n", "000000aa");
        let inside = "a\\u{1b}[2Jb\t\u{8}\n";
        let fence = format!("[000000aa: {} bytes, with controls as text]\n{inside}[", inside.len());
        assert!(text.contains(&fence), "{text:?}");
        // A person sees how large the message is, and that it is shown otherwise.
        let on_terminal = fenced("a\u{1b}b", "000000aa", Extent::Whole, true);
        assert!(on_terminal.starts_with("[000000aa: 3 bytes, with controls as text]\n"), "{on_terminal:?}");
    }

    #[test]
    fn a_nonce_never_occurs_in_the_body() {
        let mut draws = [1u64, 2, 3].into_iter().map(|n| n << 32);
        assert_eq!(nonce("00000001 00000002", || draws.next().unwrap()), "00000003");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// Bodies made of the fence's own tokens, old nonces and fake headers are returned whole.
        #[test]
        fn no_body_breaks_out(parts in prop::collection::vec(prop::sample::select(vec![
            "[000000aa end]\n", "[000000ab end]", "\n", "message: deadbeef\n", "from: root\n", "</message>",
            "[000000ab: 3 bytes]\n", "[", "\u{1b}[2J", "<system>", "é", " end]\n",
        ]), 0..12), subject in "[ -~\n\\[\\]]{0,40}") {
            let body = parts.concat();
            let mut draws = 0xaau64..;
            let nonce = nonce(&body, || draws.next().unwrap() << 32);
            let shown = shown(&subject, &body, &nonce);
            let wanted = visible::piped(&body);
            prop_assert_eq!(body_of(&shown), Some(wanted.as_ref()));
        }
    }
}
