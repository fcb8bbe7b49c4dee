//! Tests of shared state: reading, and that a change touches nothing else.

use super::*;
use proptest::prelude::*;

const CONTEXT: &str = "---\nsession_id: 2025-01-01-session-001 # ours\nuser_goal: \"Set up: tests\"\nagents_invoked:\n  - explore (completed)\n  # more to come\n  - skill-writer (in_progress)\nempty:\nflow: [a, 'b, c']\n---\n\n## Current State\n\nGoing.\n\n## Decisions Made\n\n- Using pytest\n```\n## not a heading\n```\n\n## Open Questions\n";

#[test]
fn every_kind_of_part_is_read() {
    let get = |key: &str| get(CONTEXT, key).unwrap();
    assert_eq!(get("user_goal").as_deref(), Some("Set up: tests"));
    assert_eq!(get("agents_invoked").as_deref(), Some("explore (completed)\nskill-writer (in_progress)"));
    assert_eq!(get("flow").as_deref(), Some("a\nb, c"));
    assert_eq!(get("empty").as_deref(), Some(""));
    assert_eq!(get("Decisions Made").as_deref(), Some("- Using pytest\n```\n## not a heading\n```"));
    assert_eq!(get("## current state").as_deref(), Some("Going."));
    assert_eq!(get("Open Questions").as_deref(), Some(""));
    assert_eq!(get("nothing"), None);
}

#[test]
fn a_scalar_is_set_in_place_or_added_at_the_end() {
    let both = [CONTEXT.to_owned(), CONTEXT.replace('\n', "\r\n"), format!("\u{feff}{CONTEXT}")];
    for text in both {
        let changed = set(&text, "session_id", "s 2").unwrap();
        assert_eq!(changed, text.replace("2025-01-01-session-001 #", "s 2 #"));
        let added = set(&text, "new_key", "yes: no").unwrap();
        let eol = if text.contains('\r') { "\r\n" } else { "\n" };
        let end = format!("flow: [a, 'b, c']{eol}");
        assert_eq!(added, text.replace(&end, &format!("{end}new_key: \"yes: no\"{eol}")));
        assert_eq!(get(&added, "new_key").unwrap().as_deref(), Some("yes: no"));
    }
    assert_eq!(set("", "a", "1").unwrap(), "---\na: 1\n---\n");
    assert_eq!(set("## Only sections\n", "a", "1"), Err(ParseError::NoFrontmatter));
    assert!(set(CONTEXT, "agents_invoked", "x").is_err());
    assert!(set(CONTEXT, "a b", "x").is_err());
}

#[test]
fn an_item_joins_its_list() {
    for text in [CONTEXT.to_owned(), CONTEXT.replace('\n', "\r\n")] {
        let eol = if text.contains('\r') { "\r\n" } else { "\n" };
        let last = format!("  - skill-writer (in_progress){eol}");
        let changed = append(&text, "agents_invoked", "tester: new").unwrap();
        assert_eq!(changed, text.replace(&last, &format!("{last}  - \"tester: new\"{eol}")));
        let changed = append(&text, "flow", "d, [e]").unwrap();
        assert_eq!(changed, text.replace("'b, c']", "'b, c', \"d, [e]\"]"));
        let changed = append(&text, "empty", "one").unwrap();
        assert_eq!(changed, text.replace(&format!("empty:{eol}"), &format!("empty:{eol}  - one{eol}")));
    }
    assert_eq!(append("---\nl: []\n---\n", "l", "x").unwrap(), "---\nl: [\"x\"]\n---\n");
    assert_eq!(append("---\nl:\n- a\nb: 1\n---\n", "l", "x").unwrap(), "---\nl:\n- a\n- x\nb: 1\n---\n");
    assert!(append(CONTEXT, "user_goal", "x").is_err());
}

#[test]
fn a_line_joins_its_section() {
    let changed = append(CONTEXT, "Decisions Made", "- Fixtures").unwrap();
    assert_eq!(changed, CONTEXT.replace("heading\n```\n", "heading\n```\n- Fixtures\n"));
    let changed = append(CONTEXT, "Open Questions", "- Why?").unwrap();
    assert_eq!(changed, format!("{CONTEXT}\n- Why?\n"));
    let again = append(&changed, "Open Questions", "- How?").unwrap();
    assert_eq!(again, format!("{CONTEXT}\n- Why?\n- How?\n"));
    let changed = append(CONTEXT, "Results", "one\ntwo").unwrap();
    assert_eq!(changed, format!("{CONTEXT}\n## Results\n\none\ntwo\n"));
    assert_eq!(append("", "A", "x").unwrap(), "## A\n\nx\n");
    assert_eq!(append("## A\n\n## B\n", "A", "x").unwrap(), "## A\n\nx\n\n## B\n");
    assert_eq!(append("text\r\n## A", "A", "x").unwrap(), "text\r\n## A\r\n\r\nx\r\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn what_is_appended_is_read_back_and_the_rest_is_kept(item in "[ -~äöü]{1,40}", key in "agents_invoked|flow|empty") {
        let changed = append(CONTEXT, &key, &item).unwrap();
        let old = get(CONTEXT, &key).unwrap().unwrap();
        let new = get(&changed, &key).unwrap().unwrap();
        prop_assert_eq!(new, if old.is_empty() { item } else { format!("{old}\n{item}") });
        prop_assert_eq!(&changed[changed.len() - 100..], &CONTEXT[CONTEXT.len() - 100..]);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(---\n)?([-#a: \\[\\]\"'`~\r\n|>{},é]{0,60})(\n---\n)?([-# a`\r\n]{0,30})", key in "a|#a|b") {
        let _ = get(&text, &key);
        let _ = set(&text, &key, "v");
        if let Ok(changed) = append(&text, &key, "line") {
            prop_assert!(changed.contains("line"));
        }
    }
}
