//! The schemas of docs/schema/, held against what commands print.
//!
//! docs/reference/json.md says which documents a command prints; the schema of each says what is in it. The schemas are for readers, who
//! ignore keys that they do not know, so they forbid no other keys; here a key that no schema names is a fault.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use postroom::workflow::{document, schema};
use serde_json::{Map, Value};

/// Verbs that other programs call, and help, which is text: what they print is no document.
const OTHERS: [&str; 7] = ["complete", "help", "hook", "mb", "supervise", "tell-person", "workflow-gate"];

pub(crate) fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// What docs/reference/json.md says is printed by the commands whose label fits, each document by its name.
fn documents_of(fits: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let page = std::fs::read_to_string(docs().join("reference/json.md")).unwrap();
    let mut found = BTreeSet::new();
    for (labels, documents) in page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | ")) {
        if labels.split('`').any(&fits) {
            let links = documents.split("(../schema/").skip(1).filter_map(|rest| rest.split_once(".json)"));
            found.extend(links.map(|(name, _)| name.to_owned()));
        }
    }
    found
}

/// The command of a command line, if it asks for JSON.
fn verb<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    let mut rest = arguments.iter();
    (arguments.contains(&"--json") && !arguments.contains(&"--help")).then_some(())?;
    loop {
        match *rest.next()? {
            "--root" | "--room" | "--as" => drop(rest.next()),
            option if option.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
}

/// Insists that each line which a command printed with `--json` is one of its documents, and gives their names.
#[track_caller]
pub(crate) fn insist(arguments: &[&str], out: &str) -> Vec<String> {
    let Some(verb) = verb(arguments).filter(|verb| !OTHERS.contains(verb)) else { return vec![] };
    let mut names = documents_of(|label| label.split(' ').next() == Some(verb));
    names.insert("error".to_owned());
    out.lines().map(|line| fitting(&names, &format!("{arguments:?}"), line)).collect()
}

/// Insists that what a tool of the MCP server gave back is its document.
#[track_caller]
pub(crate) fn insist_on_tool(tool: &str, value: &Value) -> String {
    let names = documents_of(|label| label == format!("mcp: {tool}"));
    fitting(&names, tool, &value.to_string())
}

/// Insists that a text is this document.
#[track_caller]
pub(crate) fn insist_on(name: &str, text: &str) {
    fitting(&BTreeSet::from([name.to_owned()]), name, text);
}

/// The one of these documents that a text is.
#[track_caller]
fn fitting(names: &BTreeSet<String>, what: &str, text: &str) -> String {
    let value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{what}: {e}: {text}"));
    let mut all = vec![];
    for name in names {
        match faults(name, &value) {
            faults if faults.is_empty() => return name.clone(),
            faults => all.push(format!("{name}: {}", faults.join("; "))),
        }
    }
    panic!("{what} printed no document that docs/reference/json.md knows of it: {text}\n{}", all.join("\n"))
}

/// How a document does not fit its schema, which must be one that every keyword of is understood.
fn faults(name: &str, value: &Value) -> Vec<String> {
    let text = std::fs::read_to_string(docs().join(format!("schema/{name}.json"))).unwrap();
    let problems = schema::check(&document::parse(&text).unwrap());
    assert!(problems.is_empty(), "{name}: {problems:?}");
    let whole: Value = serde_json::from_str(&text).unwrap();
    let mut faults = schema::faults(&whole, value);
    unknown(&whole, &[&whole], value, "", &mut faults);
    faults
}

/// Adds the keys that none of the schemas of a value names.
fn unknown(whole: &Value, schemas: &[&Value], value: &Value, at: &str, faults: &mut Vec<String>) {
    let mut all = vec![];
    schemas.iter().for_each(|schema| applicable(whole, schema, value, &mut all));
    match value {
        Value::Object(entries) => {
            for (key, inside) in entries {
                let of_key = |schema: &&'_ Map<String, Value>| -> Option<Value> {
                    let named = schema.get("properties").and_then(|properties| properties.get(key));
                    named.or(schema.get("additionalProperties")).cloned()
                };
                let found: Vec<Value> = all.iter().filter_map(of_key).collect();
                let at = format!("{at}/{key}");
                match found.is_empty() {
                    true => faults.push(format!("{at}: no schema names this key")),
                    false => unknown(whole, &found.iter().collect::<Vec<_>>(), inside, &at, faults),
                }
            }
        }
        Value::Array(items) => {
            let of_items: Vec<&Value> = all.iter().filter_map(|schema| schema.get("items")).collect();
            for (index, item) in items.iter().enumerate() {
                unknown(whole, &of_items, item, &format!("{at}/{index}"), faults);
            }
        }
        _ => {}
    }
}

/// A schema with those that it refers to or chooses among, as far as a value fits them. One that allows anything
/// allows it at any depth.
fn applicable<'s>(whole: &'s Value, schema: &'s Value, value: &Value, all: &mut Vec<&'s Map<String, Value>>) {
    static ANYTHING: std::sync::LazyLock<Value> =
        std::sync::LazyLock::new(|| serde_json::json!({"additionalProperties": true, "items": true}));
    let Value::Object(rules) = schema else { return all.extend(ANYTHING.as_object()) };
    all.push(rules);
    if let Some(Value::String(to)) = rules.get("$ref") {
        applicable(whole, whole.pointer(&to[1..]).unwrap(), value, all);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for branch in rules.get(key).and_then(Value::as_array).into_iter().flatten() {
            let mut alone = branch.clone();
            alone["$defs"] = whole["$defs"].clone();
            if schema::faults(&alone, value).is_empty() {
                applicable(whole, branch, value, all);
            }
        }
    }
}

#[test]
fn a_key_that_no_schema_names_is_found_at_any_depth() {
    use serde_json::json;
    let schema = json!({
        "type": "object",
        "properties": {
            "v": {"const": 1},
            "list": {"type": "array", "items": {"$ref": "#/$defs/one"}},
            "free": {"type": "object", "additionalProperties": true},
            "perhaps": {"anyOf": [{"$ref": "#/$defs/one"}, {"type": "null"}]},
        },
        "required": ["v"],
        "anyOf": [{"properties": {"a": true}, "required": ["a"]}, {"properties": {"b": true}, "required": ["b"]}],
        "$defs": {"one": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    });
    let judged = |value: &Value| {
        let mut faults = schema::faults(&schema, value);
        unknown(&schema, &[&schema], value, "", &mut faults);
        faults
    };
    let good =
        json!({"v": 1, "a": 1, "list": [{"x": 1}], "free": {"p": {"q": [1, {"r": 2}]}}, "perhaps": {"x": 2}});
    assert_eq!(judged(&good), Vec::<String>::new());
    for (place, key) in [("", "w"), ("/list/0", "y"), ("/perhaps", "y")] {
        let mut bad = good.clone();
        bad.pointer_mut(place).unwrap()[key] = 1.into();
        assert_eq!(judged(&bad), [format!("{place}/{key}: no schema names this key")]);
    }
    let mut bad = good.clone();
    bad["list"][0]["x"] = "1".into();
    assert_eq!(judged(&bad), ["/list/0/x: \"1\" is no integer"]);
}
