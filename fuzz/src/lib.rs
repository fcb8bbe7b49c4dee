//! What holds of any bytes whatever. The fuzz targets call these with what libFuzzer finds, and the property tests of
//! `tests/cli/protocols/properties.rs` with what proptest draws, so that both ask the same.
//!
//! Each takes any bytes and panics if something is wrong. A new format of Postroom gets a function here, a target in
//! `fuzz_targets/`, a directory in `corpus/` and a line in the property tests.

mod served;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, Path};
use std::sync::Arc;

use postroom::message::tree::Status;
use postroom::message::unwritable::Why;
use postroom::message::{Envelope, Head, Message, any, fence, maildir, protocol, tree, visible, workspace};
use postroom::name::{MailboxId, MessageId, Name, fold};
use postroom::settings::{Project, RoomSettings};
use postroom::workflow::definition::Kind;
use postroom::workflow::engine::{Answer, Engine, RunFacts};
use postroom::workflow::{graph, inputs, reading};
pub use served::mcp;

/// A message of a maildir: its head says the same as the whole, its body is the end of the bytes, what can be written is
/// read back, and its conversion can always be written.
pub fn maildir(bytes: &[u8]) {
    let head = maildir::parse_head(bytes, true);
    let Ok(message) = maildir::parse(bytes) else { return };
    assert_eq!(
        head,
        Ok(Head::Envelope(Box::new(message.envelope.clone()))),
        "the head differs from the whole"
    );
    assert!(bytes.ends_with(message.body.as_bytes()), "the body is not the end of the bytes");
    let undoubted = Envelope { doubts: vec![], ..message.envelope.clone() };
    if let Ok(written) = maildir::render(&undoubted, &message.body) {
        let again = maildir::parse(written.as_bytes()).expect("what is written can be read");
        assert_eq!((&again.envelope, &again.body), (&undoubted, &message.body), "not read back");
    }
    converted(&message);
    shown(&message.body);
    let _ = (any::parse(bytes), any::bare(bytes), protocol::verify(bytes));
}

/// A message of a workspace: what was read is read again from what is written of it.
pub fn workspace(bytes: &[u8]) {
    let Ok(request) = workspace::parse(bytes) else { return };
    assert!(bytes.ends_with(request.body.as_bytes()), "the body is not the end of the bytes");
    if let Ok(written) = workspace::render(&request) {
        assert_eq!(workspace::parse(written.as_bytes()).as_ref(), Ok(&request), "not read back");
    }
    let name = workspace::file_name_of(&request.id);
    assert!(MailboxId::parse(&name).is_ok(), "{name:?} is a path");
    if let Some(answer) = request.answer("an answer\n") {
        assert_eq!((&answer.id, Some(&answer.receiver)), (&request.id, request.reply.as_ref()));
    }
    converted(&any::of_request(request, bytes));
}

/// A task of a tree: a change of its status changes that alone, and at its end the error of an earlier try goes.
pub fn tree(bytes: &[u8]) {
    let Ok(task) = tree::parse(bytes) else { return };
    let text = str::from_utf8(bytes).expect("what was parsed is UTF-8");
    for status in [Status::InProgress, Status::Completed] {
        let Ok(changed) = tree::set_status(text, status) else { continue };
        let after = tree::parse(changed.as_bytes()).expect("what was changed can be read");
        assert_eq!(after.status, status);
        let same = tree::Task { status: task.status, doubts: task.doubts.clone(), ..after };
        assert_eq!(same, task, "more than the status changed");
    }
    if let Ok(done) = tree::change(text, Status::Completed, None) {
        let after = tree::parse(done.as_bytes()).expect("what was completed can be read");
        let error = if after.error.is_none() { None } else { task.error.clone() };
        let wanted = tree::Task { status: Status::Completed, error, doubts: vec![], ..task.clone() };
        assert_eq!(tree::Task { doubts: vec![], ..after }, wanted, "more than the error went");
    }
    let undoubted = tree::Task { doubts: vec![], ..task.clone() };
    if let Ok(written) = tree::render(&undoubted) {
        assert_eq!(tree::parse(written.as_bytes()), Ok(undoubted), "not read back");
    }
    converted(&any::of_task(task));
}

/// A message of any protocol can be written in every other, and is then read without a doubt.
fn converted(message: &Message) {
    let Message { envelope, body } = message;
    let native = any::to_maildir(envelope);
    let request = any::to_request(envelope, body, &envelope.id.request(), "/b/inbox/x", Some("/a/inbox/x"));
    let mut task = any::to_task(envelope, body, None);
    (task.id, task.created) = ("2026-11-15-001".into(), "2026-11-15T00:00:00Z".into());
    let written = [maildir::render(&native, body), workspace::render(&request), tree::render(&task)];
    for written in written {
        let written = match written {
            // What filled a header to its end may be too long where fields are marked or quoted.
            Err(e) if e.why == Why::HeaderTooLong => continue,
            other => other.expect("what was converted can be written"),
        };
        let read = any::parse(written.as_bytes()).expect("what was converted can be read");
        assert_eq!((read.envelope.doubts.len(), &read.body), (0, body), "{written:?}");
        assert_eq!((&read.envelope.id, read.envelope.priority), (&envelope.id, envelope.priority));
        assert!(read.envelope.extra.len() <= envelope.extra.len(), "a field appeared: {written:?}");
    }
}

/// Names and ids: what is accepted is a name for ever, and an id is one plain component of a path.
pub fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(name) = Name::parse(&text) {
        assert_eq!(Name::parse(name.as_str()).as_ref(), Ok(&name), "a name is not what it is");
        assert!(!name.as_str().chars().any(|c| c.is_control() || c.is_whitespace() || visible::is_unsafe(c)));
        let folded = fold(name.as_str());
        assert_eq!(fold(&folded), folded, "folding twice differs from folding once");
        assert_eq!(fold(&text), folded, "two forms of a name fold differently");
        let id = MailboxId::mint(&name, "0123abcd").expect("every name has an id");
        assert_eq!(MailboxId::parse(id.as_str()).as_ref(), Ok(&id));
    }
    for id in [
        MailboxId::parse(&text).map(|id| id.to_string()),
        MessageId::parse_strict(&text).map(|id| id.to_string()),
    ]
    .into_iter()
    .flatten()
    {
        let components: Vec<Component<'_>> = Path::new(&id).components().collect();
        assert!(matches!(components[..], [Component::Normal(one)] if one == id.as_str()), "{id:?} is a path");
    }
    let _ = MessageId::parse_lenient(&text).map(|id| (id.short(), id.brief(), id.request()));
    let line = visible::line(&text);
    assert!(!line.chars().any(char::is_control), "{line:?}");
    assert_eq!(visible::line(&line), line, "shown twice");
    assert!(visible::cut(&text, 40).len() <= 40);
}

/// A `postroom.toml` is read or refused in words.
pub fn settings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for told in
        [Project::parse(&text, "f").err(), RoomSettings::parse(&text, "f").err()].into_iter().flatten()
    {
        assert!(told.to_string().starts_with("f: "), "{told}");
    }
}

/// The definition of a workflow: what is wrong has its place in the file; what is right can be drawn, and a run of it
/// has the same result on each computation.
pub fn definitions(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let definition = match reading::parse(&text, "f") {
        Ok(definition) => definition,
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a reason");
            let lines = text.split(['\n', '\r']).count();
            for problem in problems {
                let (line, column) = (problem.place.line, problem.place.column);
                assert!((1..=lines + 1).contains(&line) && column >= 1, "{problem} is not in {text:?}");
                assert!(!problem.message.is_empty());
            }
            return;
        }
    };
    let _ = (graph::mermaid(&definition), graph::drawn(&definition));
    for step in &definition.steps {
        assert!(step.needs.iter().all(|need| definition.steps[*need].level < step.level), "{}", step.name);
    }
    let value = |kind: Kind| match kind {
        Kind::Number => "1",
        Kind::Boolean => "true",
        Kind::List => "[1, \"two\"]",
        Kind::Text | Kind::Json => "{\"a\": null}",
    };
    let given: Vec<(String, String)> =
        definition.inputs.iter().map(|input| (input.name.clone(), value(input.kind).to_owned())).collect();
    let inputs = inputs::resolve(&definition, &given).expect("what fits is taken");
    let facts = RunFacts {
        run: "f-1".into(),
        inputs,
        results: "/results".into(),
        body_bytes: 100_000,
        persons: vec![],
    };
    let definition = Arc::new(definition);
    let start =
        |answers, asked| Engine::new(Arc::clone(&definition), facts.clone(), answers, BTreeMap::new(), asked);
    let (mut engine, mut answers) = (start(HashMap::new(), HashSet::new()), HashMap::new());
    let mut asked = HashSet::new();
    for number in 0..200 {
        // Whatever is open has been sent by now.
        asked.extend(engine.open().keys().cloned());
        let Some(ask) = engine.open().values().min_by_key(|ask| ask.id.to_string()).cloned() else { break };
        let failed = (number % 5 == 4).then(|| "no".to_owned());
        let answer =
            Answer { body: "{\"a\": [1]}".into(), failed, from: "a".into(), file: "x".into(), said: None };
        assert!(engine.accept(&ask.id, answer.clone()), "an open question takes no answer");
        answers.insert(ask.id, answer);
    }
    let again = start(answers, asked);
    assert_eq!(
        (again.steps(), again.status()),
        (engine.steps(), engine.status()),
        "a run depends on its way"
    );
}

/// What is shown of a body gives it back, byte for byte, whatever it holds.
fn shown(body: &str) {
    let mut draws = 0u64..;
    let nonce = fence::nonce(body, || draws.next().unwrap_or_default());
    assert!(!body.contains(&nonce));
}
