//! Tests of the input: keys of every kind, pastes, and any bytes.

use proptest::prelude::*;

use super::*;

fn keys(bytes: &[u8]) -> Vec<String> {
    let mut input = Input::default();
    let mut events = input.take(bytes);
    events.extend(input.end());
    shown(events)
}

fn shown(events: Vec<Event>) -> Vec<String> {
    events
        .into_iter()
        .map(|event| match event {
            Event::Key(key) => key.shown(),
            Event::Paste(text) => format!("paste {text:?}"),
            Event::Mouse(mouse) => format!("{:?} {} {}", mouse.kind, mouse.x, mouse.y),
            Event::Background { is_light } => format!("light {is_light}"),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn keys_of_every_kind() {
    assert_eq!(keys(b"aZ \r\t\x7f\x03\x1a"), ["a", "Z", "Space", "Enter", "Tab", "Backspace", "C-C", "C-Z"]);
    assert_eq!(keys("é陳🦀".as_bytes()), ["é", "陳", "🦀"]);
    assert_eq!(keys(b"\x1b[A\x1bOB\x1b[1;5C\x1b[Z\x1b[5~\x1b[4~"), ["↑", "↓", "C-→", "S-Tab", "PgUp", "End"]);
    assert_eq!(keys(b"\x1b\r\x1bx\x1b"), ["M-Enter", "M-x", "Esc"]);
    assert_eq!(
        keys(b"\x1b[<0;3;4M\x1b[<0;3;4m\x1b[<64;1;1M\x1b[<65;1;1M"),
        ["Press 2 3", "Up 0 0", "Down 0 0"]
    );
    assert_eq!(keys(b"\x1b]11;rgb:ffff/ffff/eeee\x07q"), ["light true", "q"]);
    assert_eq!(keys(b"\x1b]11;rgb:1a1a/1b1b/2626\x1b\\"), ["light false"]);
}

#[test]
fn a_paste_is_one_event_and_its_bytes_are_no_keys() {
    assert_eq!(keys(b"\x1b[200~q\x1b[A\r\nx\x1b[201~y"), [r#"paste "q\u{1b}[A\nx""#, "y"]);
}

#[test]
fn half_a_sequence_waits_and_is_dropped_at_the_end() {
    let mut input = Input::default();
    assert!(input.take(b"\x1b[1;").is_empty() && input.is_open());
    assert_eq!(input.take(b"5A").len(), 1);
    assert!(!input.is_open());
    assert!(keys(b"\x1b[1;").is_empty());
    assert!(keys(&[0xe9]).is_empty());
}

#[test]
fn a_paste_without_an_end_is_taken_after_a_while() {
    assert_eq!(keys(b"\x1b[200~abc"), [r#"paste "abc""#]);
}

#[test]
fn a_press_in_the_old_form_is_no_keys() {
    assert_eq!(keys(b"\x1b[M !!q"), ["q"]);
}

#[test]
fn after_a_silence_the_rest_of_a_paste_is_no_keys() {
    let mut input = Input::default();
    assert!(input.take(b"\x1b[200~abc").is_empty() && input.is_pasting() && !input.is_open());
    assert_eq!(shown(input.end()), [r#"paste "abc""#]);
    assert!(!input.is_pasting());
    assert_eq!(
        shown(input.take(b"more than a person types\x1b[201~q")),
        [r#"paste "more than a person types""#, "q"]
    );
    assert!(input.take(b"\x1b[200~abc").is_empty());
    assert_eq!((input.end().len(), shown(input.take(b"q"))), (1, vec!["q".to_owned()]));
}

/// Bytes that mean something to a terminal, more often than chance would have them, so that long sequences occur.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![4 => any::<u8>(), 1 => prop::sample::select(b"\x1b[]O;:\x07\\~<200112M".to_vec()), 2 => Just(b'1')]
}

proptest! {
    /// Any bytes, in any pieces, give the same events, and leave nothing behind.
    #[test]
    fn any_bytes_in_any_pieces(bytes in prop::collection::vec(byte(), 0..200), at in 0usize..200) {
        let at = at.min(bytes.len());
        let whole = keys(&bytes);
        let mut input = Input::default();
        let mut found = input.take(&bytes[..at]);
        found.extend(input.take(&bytes[at..]));
        found.extend(input.end());
        prop_assert_eq!(shown(found), whole);
        prop_assert!(!input.is_open() && !input.is_pasting());
    }
}
