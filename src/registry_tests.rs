//! Tests of the registry: its bytes, its look-ups, what it keeps of others.

use super::*;

fn entry(name: &str, id: &str) -> Entry {
    Entry {
        name: name.into(),
        id: MailboxId::parse(id).unwrap(),
        harness: "claude".into(),
        inbox: format!("/r/{id}/inbox"),
        pid: 12,
        created: "2026-06-11T21:10:03Z".into(),
        extra: Map::new(),
    }
}

#[test]
fn the_canonical_form() {
    let mut bob = entry("bob", "bob-1");
    bob.extra.insert("about".into(), "reviews \"Rust\"".into());
    let registry = Registry { entries: vec![bob, entry("alice", "alice-2")], strange: vec![] };
    let text = registry.render();
    assert_eq!(
        text,
        "{\n  \"bob\": {\"id\":\"bob-1\",\"harness\":\"claude\",\"inbox\":\"/r/bob-1/inbox\",\"pid\":12,\
         \"created\":\"2026-06-11T21:10:03Z\",\"about\":\"reviews \\\"Rust\\\"\"},\n  \
         \"alice\": {\"id\":\"alice-2\",\"harness\":\"claude\",\"inbox\":\"/r/alice-2/inbox\",\"pid\":12,\
         \"created\":\"2026-06-11T21:10:03Z\"}\n}\n"
    );
    assert_eq!(Registry::parse(text.as_bytes()).unwrap().entries, registry.entries);
}

#[test]
fn any_json_object_is_read_and_strangers_are_kept() {
    let text = r#"{"my bob":{"pid":1,"id":"x"}, "evil":{"id":"../../etc"}, "n": 7}"#;
    let registry = Registry::parse(text.as_bytes()).unwrap();
    assert_eq!(registry.entries[0].name, "my bob");
    assert_eq!(registry.strange.len(), 2);
    assert!(registry.is_taken("EVIL", None));
    assert!(registry.render().contains("\"evil\": {\"id\":\"../../etc\"},\n  \"n\": 7\n"));
    for bad in ["", "[]", "{", "{\"a\":1}x"] {
        assert!(Registry::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn look_up_is_exact_first_then_without_case() {
    let mut other = entry("Bob", "b");
    other.extra.insert("aliases".into(), "bobby rob".into());
    let registry = Registry { entries: vec![entry("bob", "a"), other], strange: vec![] };
    assert_eq!(registry.lookup("Bob").unwrap().unwrap().id.as_str(), "b");
    assert_eq!(registry.lookup("ROB").unwrap().unwrap().id.as_str(), "b");
    assert!(matches!(registry.lookup("BOB"), Err(Error::Ambiguous { .. })));
    assert!(registry.lookup("carol").unwrap().is_none());
}

#[test]
fn taken_names_have_free_neighbours() {
    let registry = Registry { entries: vec![entry("bob", "a"), entry("bob-2", "b")], strange: vec![] };
    assert_eq!(registry.suggestions(&Name::parse("bob").unwrap()), ["bob-3", "bob-4", "bob-5"]);
    assert_eq!(registry.suggestions(&Name::parse(&"x".repeat(64)).unwrap()).len(), 3);
    assert_eq!(registry.nearest("bbo"), ["bob"]);
    assert!(registry.nearest("zebra").is_empty());
    assert!(registry.is_taken("BOB", None));
    assert!(!registry.is_taken("BOB", Some(&MailboxId::parse("a").unwrap())));
}
