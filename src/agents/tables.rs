//! Settings in TOML. Everything that is not changed keeps its bytes.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::change::{Change, Error, What};

/// The text with these changes made.
pub fn apply(text: &str, changes: &[Change]) -> Result<String, Error> {
    let mut document = parse(text)?;
    for change in changes {
        make(document.as_table_mut(), change)?;
    }
    Ok(document.to_string())
}

/// The text without these changes, and without what they leave empty.
pub fn remove(text: &str, changes: &[Change]) -> Result<String, Error> {
    let mut document = parse(text)?;
    for change in changes {
        unmake(document.as_table_mut(), &change.at, change);
    }
    Ok(document.to_string())
}

/// The parsed value of the text.
pub fn value(text: &str) -> Result<Value, Error> {
    parse(text)?;
    Ok(toml::from_str(text).unwrap_or(Value::Null))
}

fn parse(text: &str) -> Result<DocumentMut, Error> {
    text.parse().map_err(|e: toml_edit::TomlError| {
        let at = e.span().map_or(0, |span| span.start).min(text.len());
        let before = &text.as_bytes()[..at];
        Error::Syntax {
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            column: before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1,
            why: e.message().to_owned(),
        }
    })
}

fn make(top: &mut Table, change: &Change) -> Result<(), Error> {
    let (way, last) = change.way();
    let mut table: &mut dyn TableLike = top;
    for key in way {
        let item = table.entry(key).or_insert_with(|| {
            let mut new = Table::new();
            new.set_implicit(true);
            Item::Table(new)
        });
        table = item.as_table_like_mut().ok_or_else(|| Error::kind(key, "a table"))?;
    }
    match (&change.what, last) {
        (What::Put { key, value }, _) if !table.get(key).is_some_and(|there| says(there, value)) => {
            table.insert(key, item(value));
        }
        (What::Add { value, .. }, Some(last)) => {
            let list = table.entry(last).or_insert_with(|| Item::Value(Array::new().into()));
            let list = list.as_array_mut().ok_or_else(|| Error::kind(last, "a list"))?;
            let is_there = list.iter().any(|item| is_own(item, change));
            if !is_there {
                list.push(plain(value));
            }
        }
        (What::Add { .. }, None) | (What::Put { .. }, _) => {}
    }
    Ok(())
}

fn unmake(table: &mut dyn TableLike, way: &[String], change: &Change) {
    let [key, rest @ ..] = way else {
        if let What::Put { key, .. } = &change.what {
            table.remove(key);
        }
        return;
    };
    let Some(item) = table.get_mut(key) else { return };
    let emptied = if let Some(inner) = item.as_table_like_mut() {
        let had = !inner.is_empty();
        unmake(inner, rest, change);
        had && inner.is_empty()
    } else if let (Some(list), []) = (item.as_array_mut(), rest) {
        let had = list.len();
        list.retain(|item| !is_own(item, change));
        list.is_empty() && had > 0
    } else {
        false
    };
    if emptied {
        table.remove(key);
    }
}

/// Lists hold strings here, and a string is ours only if it is equal.
fn is_own(item: &toml_edit::Value, change: &Change) -> bool {
    item.as_str().is_some_and(|text| change.is_own_item(&Value::from(text)))
}

/// Whether an item already has this value, in any notation.
fn says(there: &Item, value: &Value) -> bool {
    let mut document = DocumentMut::new();
    document.insert("it", there.clone());
    toml::from_str::<Value>(&document.to_string()).is_ok_and(|read| read["it"] == *value)
}

/// A member: an object becomes a table, other values one line.
fn item(value: &Value) -> Item {
    let Value::Object(members) = value else { return Item::Value(plain(value)) };
    let mut table = Table::new();
    for (key, value) in members {
        table.insert(key, Item::Value(plain(value)));
    }
    Item::Table(table)
}

/// A value as TOML in one line.
pub fn line(value: &Value) -> String {
    plain(value).to_string()
}

fn plain(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(b) => (*b).into(),
        Value::Number(n) => n.as_i64().map_or_else(|| n.as_f64().unwrap_or(0.0).into(), Into::into),
        Value::String(s) => s.as_str().into(),
        Value::Array(items) => items.iter().map(plain).collect::<Array>().into(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key, plain(value))).collect::<InlineTable>().into()
        }
        // TOML has no null.
        Value::Null => "".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::change::FileState;

    fn changes() -> Vec<Change> {
        vec![
            Change {
                at: vec!["sandbox_workspace_write".to_owned(), "writable_roots".to_owned()],
                what: What::Add { value: json!("/mail/main"), mark: None },
            },
            Change {
                at: vec!["mcp_servers".to_owned()],
                what: What::Put {
                    key: "postroom".to_owned(),
                    value: json!({"command": "p", "args": ["mcp"]}),
                },
            },
        ]
    }

    #[test]
    fn what_is_made_is_there_and_all_else_is_kept() {
        let nasty = [
            "",
            "# head\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = 'y'\n\n[projects.\"/a b\"]\ntrust_level = \"trusted\"\n",
            "sandbox_workspace_write = { writable_roots = [ \"/a\", ], network_access = true } # inline\n",
            "[sandbox_workspace_write]\nwritable_roots = [\n  \"/a\", # one\n]\n",
        ];
        for text in nasty {
            let made = apply(text, &changes()).unwrap();
            let read = value(&made).unwrap();
            for change in changes() {
                assert_eq!(change.state(&read), FileState::Current, "{made}");
            }
            for kept in ["# head", "# why", "[mcp_servers.other]\ncommand = 'y'", "# inline", "# one"] {
                assert_eq!(text.contains(kept), made.contains(kept), "{made}");
            }
            assert_eq!(value(&remove(&made, &changes()).unwrap()).unwrap(), value(text).unwrap());
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        let error = apply("a = 1\nb = = 2\n", &changes()).unwrap_err();
        assert!(matches!(error, Error::Syntax { line: 2, .. }), "{error}");
        assert!(matches!(apply("mcp_servers = 3\n", &changes()), Err(Error::Kind { .. })));
    }
}
