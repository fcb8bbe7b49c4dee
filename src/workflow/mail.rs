//! The mail of a run: what an incoming message means, and how the run writes notes to itself.
//!
//! The `reply_to` of an answer names its ask; a bounce is a failed answer. Other results (the exit of a command, a
//! timeout) are written into the run's own mailbox in the same form. A command about the whole run has the field
//! `control`.

use super::engine::{Answer, Control};
use super::repeat::Repeat;
use crate::message::{Envelope, Message};
use crate::name::MessageId;
use crate::post::{BOUNCE, FROM_ROOM, Letter};

/// The fields of a control message: the command, and its number. The body of a `retry` says what is repeated.
const CONTROL: &str = "control";
const NUMBER: &str = "number";
const LET_FINISH: &str = "let_finish";

/// What a message means to a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    Answer(MessageId, Answer),
    Control(u32, Control),
    Other,
}

/// Classifies the message in this file.
pub(super) fn arrived(message: Message, file: &str, run: &str) -> Arrived {
    let Message { envelope, body } = message;
    // An id of another room says nothing about who is called so here.
    if envelope.extra(FROM_ROOM).is_some() {
        return Arrived::Other;
    }
    // Only the run itself and its carriers write in its name.
    if let Some(control) = envelope.extra(CONTROL).filter(|_| envelope.from.as_str() == run) {
        let number = envelope.extra(NUMBER).and_then(|number| number.parse().ok());
        return match (control, number, Repeat::parse(&body)) {
            ("cancel", Some(number), _) => {
                let let_finish = envelope.extra(LET_FINISH) == Some("1");
                Arrived::Control(number, Control::Cancel { let_finish })
            }
            ("retry", Some(number), Some(repeat)) => Arrived::Control(number, Control::Retry(repeat)),
            _ => Arrived::Other,
        };
    }
    let Some(asked) = envelope.reply_to.clone() else { return Arrived::Other };
    let failed = failure(&envelope, &body);
    Arrived::Answer(
        asked,
        Answer { failed, from: envelope.from.to_string(), file: file.to_owned(), body, said: None },
    )
}

/// The reason, if the answer says that the work failed.
fn failure(envelope: &Envelope, body: &str) -> Option<String> {
    if envelope.extra(BOUNCE) != Some("1") {
        return None;
    }
    let body = body.trim();
    // A bounce begins with a line about itself; the reason follows.
    let reason = body.split_once("\nReason: ").map_or(body, |(_, reason)| reason);
    Some(if reason.is_empty() { "it failed, and gave no reason".to_owned() } else { reason.to_owned() })
}

/// A note of the run to itself: an answer without a sender.
pub(super) fn note(subject: &str, asked: &MessageId, body: &str, failed: bool) -> Letter {
    let extra = if failed { vec![(BOUNCE.to_owned(), "1".to_owned())] } else { vec![] };
    Letter {
        subject: Some(crate::message::envelope::subject_with("", subject)),
        body: if body.ends_with('\n') { body.to_owned() } else { format!("{body}\n") },
        reply_to: Some(asked.clone()),
        allow_secrets: true,
        allow_empty: true,
        extra,
        ..Letter::default()
    }
}

/// A command about the whole run.
pub(super) fn control(number: u32, control: &Control, why: &str) -> Letter {
    let (word, what) = match control {
        Control::Cancel { .. } => ("cancel", String::new()),
        Control::Retry(repeat) => ("retry", repeat.text()),
    };
    let mut extra = vec![(CONTROL.to_owned(), word.to_owned()), (NUMBER.to_owned(), number.to_string())];
    if matches!(control, Control::Cancel { let_finish: true }) {
        extra.push((LET_FINISH.to_owned(), "1".to_owned()));
    }
    let subject = Some(format!("{word} this run"));
    let body = format!("{why}\n{what}");
    Letter { subject, body, extra, allow_secrets: true, allow_empty: true, ..Letter::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Origin, Priority, ProtocolFields};

    fn message(
        from: &str,
        extra: Vec<(String, String)>,
        reply_to: Option<&MessageId>,
        body: &str,
    ) -> Message {
        let envelope = Envelope {
            id: MessageId::derived(b"x"),
            from: Origin::mailbox(from),
            to: "run-1".into(),
            subject: "s".into(),
            reply_to: reply_to.cloned(),
            priority: Priority::Normal,
            channel: None,
            extra,
            native: ProtocolFields::Maildir,
            doubts: vec![],
        };
        Message { envelope, body: body.into() }
    }

    #[test]
    fn a_control_counts_only_in_the_name_of_the_run() {
        let retry = Control::Retry(Repeat { steps: vec!["review".into()], parts: vec![] });
        let cancel = |let_finish| Control::Cancel { let_finish };
        for word in [retry, cancel(true), cancel(false)] {
            let letter = control(3, &word, "because");
            let from = |from| arrived(message(from, letter.extra.clone(), None, &letter.body), "f", "run-1");
            assert_eq!(from("run-1"), Arrived::Control(3, word.clone()));
            assert_eq!(from("mallory"), Arrived::Other);
        }
    }

    #[test]
    fn nothing_from_another_room_counts() {
        let asked = MessageId::derived(b"ask");
        let letter = control(3, &Control::Cancel { let_finish: false }, "because");
        for (from, extra, reply_to) in [("run-1", letter.extra, None), ("bob-1", vec![], Some(&asked))] {
            let count =
                |extra| arrived(message(from, extra, reply_to, "yes"), "f", "run-1") != Arrived::Other;
            let foreign = vec![(FROM_ROOM.to_owned(), "evil".to_owned())];
            assert!(count(extra.clone()) && !count([extra, foreign].concat()), "{from}");
        }
    }

    #[test]
    fn a_bounce_is_a_failure_with_its_reason() {
        let asked = MessageId::derived(b"ask");
        let bounce = vec![(BOUNCE.to_owned(), "1".to_owned())];
        let text = "Your message x to y was given up after 3 attempts.\nReason: it exited with 1\n";
        let Arrived::Answer(id, answer) = arrived(message("y", bounce, Some(&asked), text), "f", "run-1")
        else {
            panic!("no answer");
        };
        assert_eq!((id, answer.failed.as_deref()), (asked, Some("it exited with 1")));
    }
}
