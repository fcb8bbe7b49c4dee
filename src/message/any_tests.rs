//! Messages of each protocol as one envelope, and back: kept, marked, folded and guessed parts.

use super::*;
use proptest::prelude::*;

fn sample(reply_to: Option<&str>) -> Envelope {
    Envelope {
        id: MessageId::parse_strict("3f2a9c1d-0000-4000-8000-00000000000a").unwrap(),
        from: Origin::mailbox("alice-1"),
        to: "carol-2".into(),
        subject: "the subject".into(),
        reply_to: reply_to.map(|id| MessageId::parse_strict(id).unwrap()),
        priority: Priority::High,
        channel: Some("build".into()),
        extra: vec![
            ("workflow".into(), "w".into()),
            ("step".into(), "2".into()),
            ("x-note".into(), "n".into()),
        ],
        native: ProtocolFields::Maildir,
        doubts: vec![],
    }
}

fn sorted(mut extra: Vec<(String, String)>) -> Vec<(String, String)> {
    extra.sort();
    extra
}

#[test]
fn an_envelope_comes_back_from_each_protocol() {
    for reply_to in [None, Some("11112222-0000-4000-8000-00000000000b")] {
        let sent = sample(reply_to);
        let request = sent.reply_to.as_ref().unwrap_or(&sent.id).request();
        let bytes =
            workspace::render(&to_request(&sent, "body\n", &request, "/c/inbox/x", Some("/a/inbox/x")))
                .unwrap();
        let came = parse(bytes.as_bytes()).unwrap();
        let mut task = to_task(&sent, "body\n", None);
        (task.id, task.created) = ("2026-11-15-001".into(), "2026-11-15T00:00:00Z".into());
        let filed = parse(tree::render(&task).unwrap().as_bytes()).unwrap();
        for message in [came, filed] {
            let got = message.envelope;
            assert_eq!(
                (got.id, got.subject, got.reply_to),
                (sent.id.clone(), sent.subject.clone(), sent.reply_to.clone())
            );
            assert_eq!(
                (got.priority, got.channel, message.body),
                (sent.priority, sent.channel.clone(), "body\n".into())
            );
            assert_eq!(sorted(got.extra), sorted(sent.extra.clone()), "{bytes}");
        }
    }
}

#[test]
fn hand_written_mail_needs_no_field_of_ours() {
    let request = "0123456789abcdef0123456789abcdef";
    let text = format!(
        "---\nREQUEST_ID: {request}\nMESSAGE_TYPE: NEW\nRECEIVER_INBOX_PATH: /b\n---\n\n# Build\nnow\n"
    );
    let new = parse(text.as_bytes()).unwrap().envelope;
    assert_eq!((new.id.request().as_str(), new.subject.as_str()), (request, "Build"));
    let reply = parse(text.replace("NEW", "REPLY").as_bytes()).unwrap().envelope;
    assert_eq!(reply.reply_to, Some(new.id.clone()));
    assert_ne!(reply.id, new.id);
    let task = "---\nid: 2025-01-01-001\nfrom: a\nto: b\nstatus: pending\ncreated: 2025-01-01T12:00:00Z\n---\n\n## Request\n\nCreate a skill.\n\n## Payload\n";
    let task = parse(task.as_bytes()).unwrap().envelope;
    assert_eq!((task.id.as_str(), task.subject.as_str()), ("2025-01-01-001@b", "Create a skill."));
}

#[test]
fn a_field_that_a_protocol_means_otherwise_is_marked() {
    let mut sent = sample(None);
    sent.extra = vec![("status".into(), "odd".into()), ("REQUEST_ID".into(), "x".into())];
    let mut task = to_task(&sent, "b", None);
    (task.id, task.created) = ("2026-11-15-001".into(), "2026-11-15T00:00:00Z".into());
    let filed = parse(tree::render(&task).unwrap().as_bytes()).unwrap().envelope;
    assert_eq!(filed.extra("x-status"), Some("odd"));
    let request = to_request(&sent, "b", &sent.id.request(), "/c", Some("/a"));
    assert_eq!(
        parse(workspace::render(&request).unwrap().as_bytes()).unwrap().envelope.extra("x-REQUEST_ID"),
        Some("x")
    );
}

#[test]
fn the_head_tells_what_is_needed() {
    let text = b"---\nREQUEST_ID: a\nMESSAGE_TYPE: NEW\nRECEIVER_INBOX_PATH: /b\n---\n\nbody";
    assert!(matches!(parse_head(text, false), Ok(Head::ReadAll)));
    assert!(matches!(parse_head(text, true), Ok(Head::Envelope(_))));
    assert!(matches!(parse_head(b"---\nfrom: a\n", false), Ok(Head::ReadOn)));
}

#[test]
fn the_last_words_of_an_agent_set_no_field() {
    let text = "---\nid: 2026-11-15-001-response\nfrom: a\nto: b\nstatus: failed\ncreated: 2026-11-15T00:00:00Z\n\
                error: \"exit 1\\nchannel: injected\\npriority: urgent\"\ncontext: \"one\\ntwo\"\n\"a key: x\": v\n---\n\nbody";
    let envelope = parse(text.as_bytes()).unwrap().envelope;
    assert_eq!(envelope.subject, "one two");
    let native = maildir::render(&to_maildir(&envelope), "body").unwrap();
    let request = to_request(&envelope, "body", &envelope.id.request(), "/b/x", Some("/a/x"));
    for written in [native, workspace::render(&request).unwrap()] {
        let got = parse(written.as_bytes()).unwrap().envelope;
        assert_eq!((got.priority, got.channel.as_deref()), (Priority::Normal, None), "{written}");
        assert_eq!(got.extra("error"), Some("exit 1 channel: injected priority: urgent"));
        assert_eq!(got.extra("x-a-key--x"), Some("v"));
    }
}

#[test]
fn a_file_without_frontmatter_is_a_message_from_unknown() {
    let message = bare("\u{feff}\n# Fix the parser\nplease\n".as_bytes()).unwrap();
    let envelope = message.envelope;
    assert_eq!((envelope.from.as_str(), envelope.subject.as_str()), ("unknown", "Fix the parser"));
    assert_eq!(message.body, "\n# Fix the parser\nplease\n");
    assert_eq!(envelope.doubts, ["it has no frontmatter; the sender is unknown"]);
    assert_eq!(bare(b""), Err(ParseError::Empty));
    assert_eq!(bare(b" \n\t"), Err(ParseError::Empty));
    assert_eq!(bare(b"---\nfrom: a\n"), Err(ParseError::Unclosed));
    assert!(matches!(bare(b"a\xff"), Err(ParseError::NotUtf8 { at: 1 })));
    assert_eq!(bare(b"---\nfrom: a\nmsg_id: b\n---\n"), parse(b"---\nfrom: a\nmsg_id: b\n---\n"));
}

#[test]
fn a_doubt_about_a_message_is_in_its_envelope() {
    let text =
        "---\nREQUEST_ID: user:chat/14\nMESSAGE_TYPE: NEW\nRECEIVER_INBOX_PATH: /b\nPriority: P0\n---\n\nhi";
    let envelope = parse(text.as_bytes()).unwrap().envelope;
    assert_eq!(
        (envelope.priority, envelope.doubts),
        (Priority::Urgent, vec!["`priority: P0` is read as urgent".to_owned()])
    );
    assert_eq!(envelope.id.as_str(), "user:chat/14");
}

#[test]
fn keys_are_marked_and_never_lost() {
    let extra = |keys: &[&str]| -> Vec<(String, String)> {
        keys.iter().map(|key| ((*key).to_owned(), "v".to_owned())).collect()
    };
    let keys = |of: &[&str], protocol| -> Vec<String> {
        foreign(&extra(of), protocol).into_iter().map(|(key, _)| key).collect()
    };
    assert_eq!(
        keys(&["Status", "x-Status", "a b", "a", "a"], Protocol::Maildir),
        ["x-x-Status", "x-Status", "x-a-b", "a", "x-a"]
    );
    assert_eq!(keys(&["Message_Type", ""], Protocol::Maildir), ["x-Message_Type", "x-"]);
    assert_eq!(keys(&["a b", "Error"], Protocol::Tree), ["a b", "x-Error"]);
}

proptest! {
    #[test]
    fn nothing_panics(text in "(?s)---\n(REQUEST_ID: [a-f0-9-]{0,40}\n)?(id: .{0,9}\n)?(status: [a-z]{0,9}\n)?(.{0,9}: .{0,9}\n){0,4}---\n.{0,20}") {
        let _ = parse(text.as_bytes());
        let _ = parse_head(text.as_bytes(), false);
    }
}
