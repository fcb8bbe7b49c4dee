//! The closure of the three codecs: what one protocol read, another one can always write, and it is read there without a
//! doubt. No field appears on the way, no value of one line changes, and a second passage changes nothing more.
//!
//! Asked by `conversions.rs` in every test run, and by P4 of the torture battery for longer.

use postroom::message::envelope::check_value;
use postroom::message::{Envelope, Message, Protocol, Step, any, maildir, tree, workspace};
use proptest::prelude::*;

use super::drawn::{any_texts, envelope, request, task};

/// One message of each protocol, of any texts.
pub(crate) fn drawn_messages() -> impl Strategy<Value = Vec<Message>> {
    let strategy = (envelope(any_texts()), request(any_texts()), task(any_texts()));
    strategy.prop_map(|((envelope, body), request, task)| {
        // What a tree holds is the widest: values of several lines, keys with anything in them.
        let bytes = workspace::render(&request).unwrap_or_default();
        vec![Message { envelope, body }, any::of_request(request, bytes.as_bytes()), any::of_task(task)]
    })
}

/// Carries a message into every protocol, and from there into every other.
pub(crate) fn comes_through_every_pair(first: &Message) -> Result<(), TestCaseError> {
    for from in Protocol::ALL {
        let read = carried(first, from)?;
        for to in Protocol::ALL {
            let again = carried(&read, to)?;
            if from == to {
                let values = |message: &Message| {
                    let Envelope { id, subject, reply_to, priority, channel, extra, .. } =
                        message.envelope.clone();
                    (id, subject, reply_to, priority, channel, extra)
                };
                prop_assert_eq!(values(&again), values(&read), "a second passage changed {:?}", first);
            }
        }
    }
    Ok(())
}

/// The message as bytes of a protocol.
fn written(message: &Message, protocol: Protocol) -> Result<String, TestCaseError> {
    let Message { envelope, body } = message;
    let written = match protocol {
        Protocol::Maildir => maildir::render(&any::to_maildir(envelope), body),
        Protocol::Workspace => {
            let asked = envelope.reply_to.as_ref().unwrap_or(&envelope.id).request();
            let request =
                any::to_request(envelope, body, &asked, "/b/.mailbox/inbox/x", Some("/a/.mailbox/inbox/x"));
            workspace::render(&request)
        }
        Protocol::Tree => {
            let mut task = any::to_task(envelope, body, None);
            (task.id, task.created) = ("2026-11-15-001".into(), "2026-11-15T00:00:00Z".into());
            tree::render(&task)
        }
    };
    written.map_err(|e| TestCaseError::fail(format!("{e}: {message:?}")))
}

/// The message as a reader of that protocol gets it.
fn carried(message: &Message, protocol: Protocol) -> Result<Message, TestCaseError> {
    let text = written(message, protocol)?;
    let read = any::parse(text.as_bytes()).map_err(|e| TestCaseError::fail(format!("{e}: {text:?}")))?;
    prop_assert_eq!(read.envelope.native.protocol(), protocol, "{:?}", text);
    prop_assert_eq!(&read.envelope.doubts, &Vec::<String>::new(), "{:?}", text);
    same_or_folded(&message.envelope, &read.envelope)?;
    prop_assert_eq!(&read.body, &message.body);
    Ok(read)
}

/// Whether the text can stand in every protocol as it is.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && check_value(text).is_ok()
}

fn same_or_folded(before: &Envelope, after: &Envelope) -> Result<(), TestCaseError> {
    prop_assert_eq!(
        (&after.id, &after.reply_to, after.priority),
        (&before.id, &before.reply_to, before.priority)
    );
    if is_plain(&before.subject) {
        prop_assert_eq!(&after.subject, &before.subject);
    }
    match before.channel.as_deref() {
        Some(channel) if is_plain(channel) => prop_assert_eq!(after.channel.as_deref(), Some(channel)),
        Some(_) => {}
        None => prop_assert_eq!(&after.channel, &None),
    }
    prop_assert!(
        after.extra.len() <= before.extra.len(),
        "a field appeared: {:?}, {:?}",
        before.extra,
        after.extra
    );
    let mut values: Vec<&str> = after.extra.iter().map(|(_, value)| value.as_str()).collect();
    for (key, value) in before.extra.iter().filter(|(_, value)| is_plain(value)) {
        // Under its own key or a marked one, but each value once.
        // A step is a number: 00 is written as 0.
        let step = value.parse::<Step>().ok().filter(|_| key == "step");
        let is_same = |found: &&str| found == value || step.is_some() && found.parse().ok() == step;
        let at = values.iter().position(is_same);
        let Some(at) = at else {
            return Err(TestCaseError::fail(format!("{key}: {value} is lost: {:?}", after.extra)));
        };
        values.remove(at);
    }
    for (key, value) in &after.extra {
        let is_own = |other: &(String, String)| {
            key.ends_with(&other.0) || key.starts_with("x-") && other.1.len() >= value.len()
        };
        prop_assert!(before.extra.iter().any(is_own), "{} appeared: {:?}", key, before.extra);
    }
    Ok(())
}
