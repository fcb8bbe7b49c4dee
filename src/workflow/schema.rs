//! JSON schemas of gates: the vocabulary of JSON Schema (2020-12) that describes the shape of an answer. Pure.
//!
//! A keyword that is not known here is refused when a definition is read, with its line and column, and never passed over:
//! a gate that silently checks less than it says is worse than none. References go to `#/$defs/…` of the same schema;
//! `format` is an annotation, as the standard has it.

use regex::Regex;
use serde_json::{Map, Value as Json};

use super::document::{Node, Value};
use super::problem::Problem;
use crate::message::visible;

/// Keywords that say nothing about what is valid.
const ANNOTATIONS: [&str; 9] =
    ["$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "format"];

/// How deep schemas and references may lead.
const DEPTH: usize = 64;

/// What is wrong with a schema as it stands in its file.
pub fn check(node: &Node) -> Vec<Problem> {
    let mut problems = vec![];
    look(node, &node.json(), &mut problems);
    problems
}

fn look(node: &Node, whole: &Json, problems: &mut Vec<Problem>) {
    let entries = match &node.value {
        Value::Map(entries) => entries,
        _ if node.json().is_boolean() => return,
        _ => {
            return problems
                .push(Problem::at(node.place, format!("a JSON schema is a map, not {}", node.kind())));
        }
    };
    for (key, value) in entries {
        let json = value.json();
        let right = match key.text.as_str() {
            word if ANNOTATIONS.contains(&word) => Ok(()),
            "type" => types(&json).map(|_| ()).ok_or("a type of JSON, or a list of them"),
            "enum" => json.as_array().map(|_| ()).ok_or("a list"),
            "const" => Ok(()),
            "required" => texts(&json).map(|_| ()).ok_or("a list of texts"),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                json.as_u64().map(|_| ()).ok_or("a whole number")
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                json.as_f64().map(|_| ()).ok_or("a number")
            }
            "multipleOf" => json.as_f64().filter(|n| *n > 0.0).map(|_| ()).ok_or("a number above 0"),
            "uniqueItems" => json.as_bool().map(|_| ()).ok_or("true or false"),
            "pattern" => match json.as_str().map(Regex::new) {
                Some(Ok(_)) => Ok(()),
                _ => Err("a regular expression"),
            },
            "$ref" => match json.as_str().and_then(|at| whole.pointer(at.strip_prefix('#')?)) {
                Some(_) => Ok(()),
                None => Err("a place in this schema, such as #/$defs/name"),
            },
            "items" | "additionalProperties" | "not" | "contains" | "propertyNames" => {
                look(value, whole, problems);
                Ok(())
            }
            "properties" | "$defs" => match &value.value {
                Value::Map(inside) => {
                    inside.iter().for_each(|(_, schema)| look(schema, whole, problems));
                    Ok(())
                }
                _ => Err("a map of schemas"),
            },
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => match &value.value {
                Value::List(inside) if !inside.is_empty() => {
                    inside.iter().for_each(|schema| look(schema, whole, problems));
                    Ok(())
                }
                _ => Err("a list of schemas"),
            },
            word => {
                let word = visible::clip(word, 40);
                problems.push(Problem::at(
                    key.place,
                    format!("this is no JSON schema that a gate knows: `{word}`"),
                ));
                Ok(())
            }
        };
        if let Err(what) = right {
            problems
                .push(Problem::at(value.place, format!("this is no JSON schema: `{}` is {what}", key.text)));
        }
    }
}

/// Where and how a value does not fit a schema that was checked; nothing: it fits.
pub fn faults(schema: &Json, value: &Json) -> Vec<String> {
    let mut found = vec![];
    Checker { whole: schema }.see(schema, value, "", 0, &mut found);
    found
}

struct Checker<'s> {
    whole: &'s Json,
}

impl Checker<'_> {
    fn fits(&self, schema: &Json, value: &Json, depth: usize) -> bool {
        let mut found = vec![];
        self.see(schema, value, "", depth, &mut found);
        found.is_empty()
    }

    fn see(&self, schema: &Json, value: &Json, at: &str, depth: usize, found: &mut Vec<String>) {
        let mut wrong = |what: String| {
            let at = if at.is_empty() { "the whole".to_owned() } else { visible::clip(at, 100) };
            found.push(format!("{at}: {what}"));
        };
        let rules = match schema {
            Json::Object(rules) => rules,
            Json::Bool(false) => return wrong("nothing may stand here".to_owned()),
            _ => return,
        };
        if depth > DEPTH {
            return wrong("the schema refers to itself without end".to_owned());
        }
        let shown = || visible::clip(&value.to_string(), 60);
        if let Some(allowed) = rules.get("type").and_then(types)
            && !allowed.iter().any(|word| is_type(value, word))
        {
            return wrong(format!("{} is no {}", shown(), allowed.join(" or ")));
        }
        if let Some(Json::Array(allowed)) = rules.get("enum")
            && !allowed.contains(value)
        {
            let words: Vec<String> = allowed.iter().map(Json::to_string).collect();
            wrong(format!("{} is not one of {}", shown(), visible::clip(&words.join(", "), 200)));
        }
        if let Some(only) = rules.get("const").filter(|only| *only != value) {
            wrong(format!("{} is not {}", shown(), visible::clip(&only.to_string(), 60)));
        }
        scalar(rules, value, &mut wrong);
        self.combined(rules, value, at, depth, found);
        match value {
            Json::Array(items) => self.list(rules, items, at, depth, found),
            Json::Object(entries) => self.map(rules, entries, at, depth, found),
            _ => {}
        }
    }

    fn combined(
        &self,
        rules: &Map<String, Json>,
        value: &Json,
        at: &str,
        depth: usize,
        found: &mut Vec<String>,
    ) {
        let place = if at.is_empty() { "the whole" } else { at };
        if let Some(target) = rules.get("$ref").and_then(Json::as_str).and_then(|to| to.strip_prefix('#'))
            && let Some(schema) = self.whole.pointer(target)
        {
            self.see(schema, value, at, depth + 1, found);
        }
        let all = |key: &str| rules.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        for schema in all("allOf") {
            self.see(schema, value, at, depth + 1, found);
        }
        let fitting =
            |key: &str| all(key).iter().filter(|schema| self.fits(schema, value, depth + 1)).count();
        if !all("anyOf").is_empty() && fitting("anyOf") == 0 {
            found.push(format!("{place}: it fits none of the schemas of `anyOf`"));
        }
        if !all("oneOf").is_empty() && fitting("oneOf") != 1 {
            found.push(format!("{place}: it fits {} schemas of `oneOf`, not one", fitting("oneOf")));
        }
        if rules.get("not").is_some_and(|schema| self.fits(schema, value, depth + 1)) {
            found.push(format!("{place}: it fits the schema of `not`"));
        }
    }

    fn list(
        &self,
        rules: &Map<String, Json>,
        items: &[Json],
        at: &str,
        depth: usize,
        found: &mut Vec<String>,
    ) {
        let place = if at.is_empty() { "the whole" } else { at };
        bounds(rules, items.len(), ["minItems", "maxItems"], "items", place, found);
        if rules.get("uniqueItems") == Some(&Json::Bool(true))
            && items.iter().enumerate().any(|(index, item)| items[..index].contains(item))
        {
            found.push(format!("{place}: an item is there twice"));
        }
        let before = rules.get("prefixItems").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = before.get(index).or_else(|| rules.get("items")) {
                self.see(schema, item, &format!("{at}/{index}"), depth + 1, found);
            }
        }
        if let Some(schema) = rules.get("contains")
            && !items.iter().any(|item| self.fits(schema, item, depth + 1))
        {
            found.push(format!("{place}: no item fits the schema of `contains`"));
        }
    }

    fn map(
        &self,
        rules: &Map<String, Json>,
        entries: &Map<String, Json>,
        at: &str,
        depth: usize,
        found: &mut Vec<String>,
    ) {
        let place = if at.is_empty() { "the whole" } else { at };
        bounds(rules, entries.len(), ["minProperties", "maxProperties"], "properties", place, found);
        for key in rules.get("required").and_then(texts).unwrap_or_default() {
            if !entries.contains_key(key) {
                found.push(format!("{place}: `{}` is missing", visible::clip(key, 60)));
            }
        }
        let known = rules.get("properties").and_then(Json::as_object);
        for (key, value) in entries {
            let below = format!("{at}/{key}");
            match (known.and_then(|known| known.get(key)), rules.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema)) => self.see(schema, value, &below, depth + 1, found),
                (None, None) => {}
            }
            if let Some(schema) = rules.get("propertyNames") {
                self.see(schema, &Json::String(key.clone()), &below, depth + 1, found);
            }
        }
    }
}

/// Rules for texts and numbers.
fn scalar(rules: &Map<String, Json>, value: &Json, wrong: &mut impl FnMut(String)) {
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as u64;
        if rules.get("minLength").and_then(Json::as_u64).is_some_and(|least| length < least)
            || rules.get("maxLength").and_then(Json::as_u64).is_some_and(|most| length > most)
        {
            wrong(format!("the text has {length} characters"));
        }
        let pattern = rules.get("pattern").and_then(Json::as_str);
        if let Some(pattern) = pattern.filter(|p| Regex::new(p).is_ok_and(|regex| !regex.is_match(text))) {
            wrong(format!("the text does not match `{}`", visible::clip(pattern, 60)));
        }
    }
    if let Some(number) = value.as_f64() {
        let rule = |key: &str| rules.get(key).and_then(Json::as_f64);
        if rule("minimum").is_some_and(|least| number < least)
            || rule("maximum").is_some_and(|most| number > most)
            || rule("exclusiveMinimum").is_some_and(|least| number <= least)
            || rule("exclusiveMaximum").is_some_and(|most| number >= most)
        {
            wrong(format!("{number} is out of bounds"));
        }
        if rule("multipleOf").is_some_and(|of| ((number / of) - (number / of).round()).abs() > 1e-9) {
            wrong(format!("{number} is no multiple of what it has to be"));
        }
    }
}

fn bounds(
    rules: &Map<String, Json>,
    count: usize,
    [least, most]: [&str; 2],
    what: &str,
    place: &str,
    found: &mut Vec<String>,
) {
    let rule = |key: &str| rules.get(key).and_then(Json::as_u64);
    let count = count as u64;
    if rule(least).is_some_and(|least| count < least) || rule(most).is_some_and(|most| count > most) {
        found.push(format!("{place}: it has {count} {what}"));
    }
}

fn types(json: &Json) -> Option<Vec<&str>> {
    const KNOWN: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];
    let words = match json {
        Json::String(word) => vec![word.as_str()],
        list => texts(list)?,
    };
    words.iter().all(|word| KNOWN.contains(word)).then_some(words)
}

fn texts(json: &Json) -> Option<Vec<&str>> {
    json.as_array()?.iter().map(Json::as_str).collect()
}

fn is_type(value: &Json, word: &str) -> bool {
    match word {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::document::parse;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn every_keyword_lets_pass_and_refuses() {
        for (schema, good, bad) in [
            (json!({"type": "object"}), json!({}), json!([])),
            (json!({"type": ["null", "integer"]}), json!(2.0), json!(2.5)),
            (json!({"enum": ["a", 1]}), json!(1), json!("b")),
            (json!({"const": {"a": 1}}), json!({"a": 1}), json!({"a": 2})),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
            (json!({"properties": {"a": {"type": "string"}}}), json!({"a": "x", "b": 1}), json!({"a": 1})),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                json!({"a": 1}),
                json!({"b": 1}),
            ),
            (json!({"additionalProperties": {"type": "number"}}), json!({"a": 1}), json!({"a": "1"})),
            (json!({"propertyNames": {"maxLength": 2}}), json!({"ab": 1}), json!({"abc": 1})),
            (json!({"minProperties": 1, "maxProperties": 1}), json!({"a": 1}), json!({})),
            (json!({"items": {"type": "number"}}), json!([1, 2]), json!([1, "2"])),
            (
                json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}),
                json!(["a", 1]),
                json!(["a", "b"]),
            ),
            (json!({"contains": {"const": 3}}), json!([1, 3]), json!([1])),
            (json!({"minItems": 1, "maxItems": 2}), json!([1]), json!([1, 2, 3])),
            (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1])),
            (json!({"minLength": 2, "maxLength": 3}), json!("éé"), json!("é")),
            (json!({"pattern": "^a+$"}), json!("aa"), json!("ab")),
            (json!({"minimum": 1, "maximum": 2}), json!(2), json!(2.5)),
            (json!({"exclusiveMinimum": 1, "exclusiveMaximum": 3}), json!(2), json!(3)),
            (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35)),
            (json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), json!(1), json!(3)),
            (json!({"anyOf": [{"type": "string"}, {"minimum": 5}]}), json!(6), json!(1)),
            (json!({"oneOf": [{"minimum": 1}, {"minimum": 5}]}), json!(2), json!(6)),
            (json!({"not": {"type": "string"}}), json!(1), json!("x")),
            (
                json!({"$defs": {"n": {"type": "number"}}, "items": {"$ref": "#/$defs/n"}}),
                json!([1]),
                json!(["x"]),
            ),
            (json!(true), json!(1), json!(null)),
            (json!({"format": "date"}), json!("no date"), json!(null)),
        ] {
            assert_eq!(faults(&schema, &good), Vec::<String>::new(), "{schema} {good}");
            let refuses = schema != json!(true) && schema.get("format").is_none();
            assert_eq!(!faults(&schema, &bad).is_empty(), refuses, "{schema} {bad}");
        }
        assert!(!faults(&json!({"properties": {"a": false}}), &json!({"a": 1})).is_empty());
    }

    #[test]
    fn a_fault_says_where() {
        let schema = json!({"properties": {"list": {"items": {"required": ["x"]}}}});
        assert_eq!(faults(&schema, &json!({"list": [{"x": 1}, {}]})), ["/list/1: `x` is missing"]);
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_place() {
        for (text, line, what) in [
            ("type: nonsense", 1, "`type` is a type of JSON"),
            ("type: object\nproperties:\n  a: {minimun: 1}", 3, "`minimun`"),
            ("required: a", 1, "a list of texts"),
            ("pattern: '('", 1, "a regular expression"),
            ("items: {$ref: 'http://x'}", 1, "a place in this schema"),
            ("anyOf: []", 1, "a list of schemas"),
            ("[a]", 1, "is a map"),
            ("if: {type: string}", 1, "`if`"),
        ] {
            let problems = check(&parse(text).unwrap());
            assert_eq!((problems.len(), problems[0].place.line), (1, line), "{text}: {problems:?}");
            assert!(problems[0].message.contains(what), "{text}: {problems:?}");
        }
        assert!(check(&parse("$defs: {a: {$ref: '#/$defs/a'}}\n$ref: '#/$defs/a'").unwrap()).is_empty());
        let round = json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
        assert!(faults(&round, &json!(1))[0].contains("without end"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[a-z\\[\\]{}:, \"0-9$#/-]{0,60}") {
            if let Ok(node) = parse(&text) {
                let _ = check(&node);
                let _ = faults(&node.json(), &node.json());
            }
        }
    }
}
