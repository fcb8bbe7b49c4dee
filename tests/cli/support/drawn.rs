//! Messages of each protocol as proptest draws them: of texts that every protocol can hold ([`clean`]), or of any texts
//! at all ([`any_texts`]).

use postroom::message::tree::{Status, Task};
use postroom::message::workspace::{Kind, Request};
use postroom::message::{Envelope, Origin, Priority, ProtocolFields, Step};
use postroom::name::MessageId;
use proptest::prelude::*;

/// A value as it may be written: one clean line without spaces at its ends.
fn value() -> impl Strategy<Value = String> + Clone {
    let tricky = prop::sample::select(vec![
        "~",
        "null",
        "yes",
        "a: b",
        "# c",
        "- x",
        "'",
        "\"",
        "\\n",
        "{a",
        "[",
        "&x",
        "*x",
        "!t",
        "%",
        "@",
        "`",
        "---",
        "...",
        "1",
        "0x1f",
        "a #b",
        "a:",
        ":",
        "re: x",
        "\u{85}",
        "é",
        "\u{feff}x",
        "?",
        "|",
        ">",
    ]);
    let any = "[^\\p{Cc}\\u{2028}\\u{2029}]{0,40}".prop_map(|text: String| text.trim().to_owned());
    prop_oneof![1 => tricky.prop_map(|t| t.trim().to_owned()), 3 => any]
        .prop_filter("a value of one clean line", |text| {
            postroom::message::envelope::check_value(text).is_ok()
        })
}

fn some_value() -> impl Strategy<Value = String> + Clone {
    value().prop_filter("it says something", |text| !text.is_empty())
}

/// Any text, most of all what could be read as something else.
pub(crate) fn wild() -> BoxedStrategy<String> {
    let tokens = prop::sample::select(vec![
        "\n",
        "\r\n",
        "\r",
        "---",
        "---\n",
        ": ",
        " #",
        "#",
        "\"",
        "'",
        " ",
        "\t",
        "\0",
        "\u{1b}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{fffe}",
        "é",
        "\u{10ffff}",
        "- ",
        "\\",
        "\\n",
        "a",
        "0",
        "~",
        "|",
        ">",
        "priority: urgent",
        "/",
    ]);
    let tokens = prop::collection::vec(tokens, 0..8).prop_map(|tokens| tokens.concat());
    prop_oneof![2 => tokens, 2 => "(?s).{0,30}", 4 => value(), 1 => "[ab ]{990,1010}"].boxed()
}

/// A key: mostly one that can be written.
pub(crate) fn key() -> BoxedStrategy<String> {
    let telling = prop::sample::select(vec![
        "from",
        "To",
        "id",
        "Status",
        "created",
        "priority",
        "REQUEST_ID",
        "request_id",
        "Message_Type",
        "subject",
        "Msg_ID",
        "channel",
        "error",
        "step",
        "x",
        "X",
        "x-x",
        "x-status",
    ]);
    prop_oneof![4 => "[A-Za-z_-][A-Za-z0-9_-]{0,9}", 2 => telling.prop_map(str::to_owned), 1 => wild()]
        .boxed()
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof!["(?s).{0,120}", "[-\n\r\t: #\u{feff}a]{0,60}"]
}

fn extra() -> BoxedStrategy<Vec<(String, String)>> {
    let map = prop::collection::btree_map("x-[a-z0-9_-]{1,9}", value(), 0..4);
    map.prop_map(|map| map.into_iter().collect()).boxed()
}

/// What the text fields and the extra fields of a message are drawn from.
#[derive(Clone)]
pub(crate) struct Texts {
    name: BoxedStrategy<String>,
    id: BoxedStrategy<String>,
    path: BoxedStrategy<String>,
    text: BoxedStrategy<String>,
    subject: BoxedStrategy<String>,
    extra: BoxedStrategy<Vec<(String, String)>>,
}

/// Texts that every protocol can hold.
pub(crate) fn clean() -> Texts {
    Texts {
        name: "[A-Za-z0-9][A-Za-z0-9._-]{0,12}".boxed(),
        id: "[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{3,5}(-response)?".boxed(),
        path: "/[a-z #]{0,9}/\\.mailbox/inbox/[0-9a-f]{32}".boxed(),
        text: some_value().boxed(),
        subject: value().boxed(),
        extra: extra(),
    }
}

/// Texts of which no protocol can hold all.
pub(crate) fn any_texts() -> Texts {
    let extra = prop::collection::vec((key(), wild()), 0..5).boxed();
    let mixed = |clean: BoxedStrategy<String>| prop_oneof![6 => clean, 1 => wild()].boxed();
    let clean = clean();
    Texts {
        name: mixed(clean.name),
        id: mixed(clean.id),
        path: mixed(clean.path),
        text: mixed(clean.text),
        subject: mixed(clean.subject),
        extra: prop_oneof![2 => clean.extra, 1 => extra].boxed(),
    }
}

pub(crate) fn task(from: Texts) -> impl Strategy<Value = Task> {
    let maybe = || prop::option::of(from.text.clone());
    let number = || prop::option::of(prop::num::u64::ANY);
    let step =
        prop::option::of("[0-9]{1,18}(\\.[0-9]{0,5}[1-9])?".prop_map(|step| step.parse::<Step>().unwrap()));
    let status = prop::sample::select(Status::ALL.to_vec());
    let name = from.name.clone();
    let head = (from.id.clone(), name.clone(), name, status, prop::option::of(from.id.clone()));
    let tail = (maybe(), maybe(), step, number(), maybe(), from.extra.clone(), body());
    (head, prop::sample::select(Priority::ALL.to_vec()), tail).prop_map(|(head, priority, tail)| {
        let (id, from, to, status, request_id) = head;
        let (context, workflow, step, duration_seconds, error, extra, body) = tail;
        Task {
            id,
            from,
            to,
            status,
            created: "2025-03-04T10:00:00Z".to_owned(),
            priority,
            context,
            workflow,
            step,
            request_id,
            duration_seconds,
            error,
            extra,
            body,
            doubts: vec![],
        }
    })
}

pub(crate) fn request(from: Texts) -> impl Strategy<Value = Request> {
    let kind = prop::sample::select(vec![Kind::New, Kind::Reply]);
    let path = from.path;
    (from.id, kind, prop::option::of(from.text), path.clone(), prop::option::of(path), from.extra, body())
        .prop_map(|(id, kind, channel, receiver, reply, extra, body)| Request {
            id,
            kind,
            channel,
            receiver,
            reply,
            extra,
            body,
            doubts: vec![],
        })
}

pub(crate) fn envelope(from: Texts) -> impl Strategy<Value = (Envelope, String)> {
    let id = || "[0-9a-f]{8}-[a-z0-9]{0,9}".prop_map(|id| MessageId::parse_strict(&id).unwrap());
    let priority = prop::sample::select(Priority::ALL.to_vec());
    let ids = (id(), prop::option::of(id()));
    let name = from.name;
    (ids, name.clone(), name, from.subject, priority, prop::option::of(from.text), from.extra, body())
        .prop_map(|((id, reply_to), from, to, subject, priority, channel, extra, body)| {
            let native = ProtocolFields::Maildir;
            let (from, doubts) = (Origin::mailbox(from), vec![]);
            (Envelope { id, from, to, subject, reply_to, priority, channel, extra, native, doubts }, body)
        })
}
