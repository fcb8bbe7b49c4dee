//! Settings in JSON with comments and trailing commas. Everything that is not changed keeps its bytes.

use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::change::{Change, Error, What};

const MARK: char = '\u{feff}';

/// The text with these changes made.
pub fn apply(text: &str, changes: &[Change]) -> Result<String, Error> {
    edit(text, |root| {
        let top = top(root)?;
        changes.iter().try_for_each(|change| make(&top, change))
    })
}

/// The text without these changes, and without what they leave empty.
pub fn remove(text: &str, changes: &[Change]) -> Result<String, Error> {
    edit(text, |root| {
        if root.value().is_none() {
            return Ok(());
        }
        let top = top(root)?;
        changes.iter().for_each(|change| unmake(&top, &change.at, change));
        Ok(())
    })
}

/// Whether a program loads the text that allows `comments`, or trailing `commas`.
pub fn check(text: &str, comments: bool, commas: bool) -> Result<(), Error> {
    let text = text.trim_start_matches(MARK);
    let options = ParseOptions { allow_comments: comments, allow_trailing_commas: commas, ..LIBERAL };
    match parse_to_ast(text, &CollectOptions::default(), &options) {
        // What is wrong in any case is told in the usual way.
        Err(e) if parse(text).is_ok() => {
            let why = format!("{}; the program does not load the file with that", e.kind());
            Err(Error::Syntax { line: e.line_display(), column: e.column_display(), why })
        }
        _ => Ok(()),
    }
}

/// The parsed value of the text.
pub fn value(text: &str) -> Result<Value, Error> {
    let root = parse(text.trim_start_matches(MARK))?;
    root.to_serde_value().map_or(Ok(Value::Null), Ok)
}

fn edit(text: &str, change: impl FnOnce(&CstRootNode) -> Result<(), Error>) -> Result<String, Error> {
    let (mark, text) = match text.strip_prefix(MARK) {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let root = parse(text)?;
    change(&root)?;
    Ok(format!("{mark}{root}"))
}

/// What agent programs accept at most: comments and trailing commas, nothing looser.
const LIBERAL: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn parse(text: &str) -> Result<CstRootNode, Error> {
    CstRootNode::parse(text, &LIBERAL).map_err(|e| Error::Syntax {
        line: e.line_display(),
        column: e.column_display(),
        why: e.kind().to_string(),
    })
}

fn top(root: &CstRootNode) -> Result<CstObject, Error> {
    root.object_value_or_create().ok_or_else(|| Error::kind("the whole file", "an object"))
}

/// The member of an object. A duplicate key is an error: programs disagree about which one counts.
fn member(object: &CstObject, key: &str) -> Result<Option<CstNode>, Error> {
    let named = |name: Option<String>| name.as_deref() == Some(key);
    let mut found = object.properties().into_iter().filter(|property| named(property.decoded_name()));
    let first = found.next();
    match found.next() {
        Some(_) => Err(Error::Twice { key: key.to_owned() }),
        None => Ok(first.and_then(|property| property.value())),
    }
}

fn make(top: &CstObject, change: &Change) -> Result<(), Error> {
    let mut object = top.clone();
    let (way, last) = change.way();
    for key in way {
        object = below(&object, key, matches!(change.what, What::Put { .. }))?;
    }
    match (&change.what, last) {
        (What::Add { value, .. }, Some(last)) => {
            member(&object, last)?;
            let list = object.array_value_or_create(last).ok_or_else(|| Error::kind(last, "a list"))?;
            let own = |node: &CstNode| node.to_serde_value().filter(|item| change.is_own_item(item));
            let there: Vec<Value> = list.elements().iter().filter_map(own).collect();
            if there != [value.clone()] {
                list.elements().into_iter().filter(|node| own(node).is_some()).for_each(CstNode::remove);
                list.append(input(value));
            }
        }
        (What::Put { key, value }, _) => match member(&object, key)? {
            Some(there) if there.to_serde_value().as_ref() == Some(value) => {}
            Some(_) => object.get(key).into_iter().for_each(|property| property.set_value(input(value))),
            None => drop(object.append(key, input(value))),
        },
        (What::Add { .. }, None) => {}
    }
    Ok(())
}

fn below(object: &CstObject, key: &str, widen: bool) -> Result<CstObject, Error> {
    let word = member(object, key)?.and_then(|node| node.as_string_lit()?.decoded_value().ok());
    if let (Some(word), true, Some(property)) = (word, widen, object.get(key)) {
        property.set_value(CstInputValue::Object(vec![("*".to_owned(), word.into())]));
    }
    object.object_value_or_create(key).ok_or_else(|| Error::kind(key, "an object"))
}

/// Removes a change, and objects and lists that become empty.
fn unmake(object: &CstObject, way: &[String], change: &Change) {
    let remove = |key: &str| object.get(key).into_iter().for_each(|property| property.remove());
    let [key, rest @ ..] = way else {
        if let What::Put { key, .. } = &change.what {
            remove(key);
        }
        return;
    };
    let emptied = if let Some(inner) = object.object_value(key) {
        let had = !inner.properties().is_empty();
        unmake(&inner, rest, change);
        had && inner.properties().is_empty()
    } else if let (Some(list), []) = (object.array_value(key), rest) {
        let own = |node: &CstNode| node.to_serde_value().is_some_and(|item| change.is_own_item(&item));
        let (own, others): (Vec<_>, Vec<_>) = list.elements().into_iter().partition(own);
        let had = !own.is_empty();
        own.into_iter().for_each(CstNode::remove);
        had && others.is_empty()
    } else {
        false
    };
    if emptied {
        remove(key);
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(b) => CstInputValue::Bool(*b),
        Value::Number(n) => CstInputValue::Number(n.to_string()),
        Value::String(s) => CstInputValue::String(s.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::change::FileState;

    fn changes() -> Vec<Change> {
        let at = |path: &[&str]| path.iter().map(|key| (*key).to_owned()).collect();
        vec![
            Change {
                at: at(&["hooks", "Stop"]),
                what: What::Add {
                    value: json!({"hooks": [{"type": "command", "command": "postroom hook claude stop"}]}),
                    mark: Some(" hook claude ".to_owned()),
                },
            },
            Change {
                at: at(&["permissions", "allow"]),
                what: What::Add { value: json!("Bash(postroom *)"), mark: None },
            },
            Change {
                at: at(&["mcpServers"]),
                what: What::Put { key: "postroom".to_owned(), value: json!({"command": "postroom"}) },
            },
        ]
    }

    const NASTY: [&str; 8] = [
        "{}",
        "{\n}\n",
        "",
        "// only a comment\n{\n  // inside\n}\n",
        "\u{feff}{\"a\":1}",
        "{\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [ {\"hooks\": [{\"command\": \"other\"}]}, ], // mine\r\n\t},\r\n}\r\n",
        "{\"permissions\":{\"allow\":[\"Bash(ls)\"],\"deny\":[]},/* x */\"unknown\":{\"k\":[1,2,]}}",
        "{\n    \"mcpServers\": {\n        \"z\": {}, // keep\n    },\n\n    \"env\": {}\n}",
    ];

    #[test]
    fn what_is_made_is_there_and_all_else_is_kept() {
        for text in NASTY {
            let made = apply(text, &changes()).unwrap();
            let read = value(&made).unwrap();
            for change in changes() {
                assert_eq!(change.state(&read), FileState::Current, "{made}");
            }
            for kept in [
                "// only a comment",
                "// inside",
                "// mine",
                "// keep",
                "/* x */",
                "\"unknown\":{\"k\":[1,2,]}",
            ] {
                assert_eq!(text.contains(kept), made.contains(kept), "{made}");
            }
            let gone = remove(&made, &changes()).unwrap();
            let before = value(text).unwrap();
            let after = value(&gone).unwrap();
            assert!(before == after || before.is_null() && after == json!({}), "{text} {gone}");
        }
    }

    #[test]
    fn a_word_becomes_the_rule_for_all_others() {
        let rule = Change {
            at: vec!["permission".to_owned(), "bash".to_owned()],
            what: What::Put { key: "postroom *".to_owned(), value: json!("allow") },
        };
        let read = |text: &str| value(&apply(text, std::slice::from_ref(&rule)).unwrap()).unwrap();
        assert_eq!(
            read("{\"permission\": {\"bash\": \"ask\"}}"),
            json!({"permission": {"bash": {"*": "ask", "postroom *": "allow"}}})
        );
        assert_eq!(
            read("{\"permission\": \"ask\"}"),
            json!({"permission": {"*": "ask", "bash": {"postroom *": "allow"}}})
        );
    }

    #[test]
    fn a_text_is_checked_as_its_program_reads_it() {
        let line = |text: &str, comments, commas| match check(text, comments, commas) {
            Ok(()) => 0,
            Err(Error::Syntax { line, why, .. }) => {
                assert!(why.contains("does not load"), "{why}");
                line
            }
            Err(e) => panic!("{e}"),
        };
        let (comment, comma) = ("{\n  // mine\n  \"a\": 1\n}\n", "\u{feff}{\n  \"a\": [\n    1,\n  ]\n}\n");
        assert_eq!(
            [line(comment, true, true), line(comment, true, false), line(comment, false, false)],
            [0, 0, 2]
        );
        assert_eq!(line(comma, true, true), 0);
        assert!(
            [line(comma, true, false), line(comma, false, false)].iter().all(|line| [3, 4].contains(line))
        );
        assert_eq!(line("\u{feff}{\"a\": 1}", false, false), 0);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        let error = |text: &str| apply(text, &changes()).unwrap_err();
        assert!(matches!(error("{\n  \"a\": 1\n  \"b\": 2\n}"), Error::Syntax { line: 2 | 3, .. }));
        assert!(matches!(error("{\"a\": }"), Error::Syntax { line: 1, .. }));
        assert!(matches!(error("[]"), Error::Kind { .. }));
        assert!(matches!(error("{\"hooks\": {\"Stop\": {}}}"), Error::Kind { .. }));
        assert!(matches!(error("{\"hooks\": {}, \"hooks\": {}}"), Error::Twice { .. }));
        assert!(error(&"[".repeat(100_000)).to_string().contains("line 1"));
    }
}
