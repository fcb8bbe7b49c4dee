//! JSON schemas of gates: the part of JSON Schema (2020-12) that describes the shape of an answer. Pure.
//!
//! Unknown keywords are refused when a definition is read, with line and column, and never ignored: a gate that
//! silently checks less than it says is worse than none. References go to `#/$defs/…` of the same schema; `format` is
//! an annotation, as in the standard.

mod fits;

use regex::Regex;
use serde_json::Value as Json;

pub use fits::faults;

use super::document::{Node, Value};
use super::problem::Problem;
use crate::message::visible;

/// Keywords that do not affect validity.
const ANNOTATIONS: [&str; 9] =
    ["$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "format"];

/// The problems of a schema in a definition.
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
        let (right, what) = match key.text.as_str() {
            word if ANNOTATIONS.contains(&word) => continue,
            "const" => continue,
            "type" => (types(&json).is_some(), "a type of JSON, or a list of them"),
            "enum" => (json.is_array(), "a list"),
            "required" => (texts(&json).is_some(), "a list of texts"),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                (json.is_u64(), "a whole number")
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => (json.is_number(), "a number"),
            "multipleOf" => (json.as_f64().is_some_and(|n| n > 0.0), "a number above 0"),
            "uniqueItems" => (json.is_boolean(), "true or false"),
            "pattern" => (json.as_str().is_some_and(|p| Regex::new(p).is_ok()), "a regular expression"),
            "$ref" => {
                let to = json.as_str().and_then(|at| referred(whole, at));
                (to.is_some(), "a place in this schema, such as #/$defs/name")
            }
            "items" | "additionalProperties" | "not" | "contains" | "propertyNames" => {
                look(value, whole, problems);
                continue;
            }
            "properties" | "$defs" => match &value.value {
                Value::Map(inside) => {
                    inside.iter().for_each(|(_, schema)| look(schema, whole, problems));
                    continue;
                }
                _ => (false, "a map of schemas"),
            },
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => match &value.value {
                Value::List(inside) if !inside.is_empty() => {
                    inside.iter().for_each(|schema| look(schema, whole, problems));
                    continue;
                }
                _ => (false, "a list of schemas"),
            },
            word => {
                let why = format!("this is no JSON schema that a gate knows: `{}`", visible::clip(word, 40));
                problems.push(Problem::at(key.place, why));
                continue;
            }
        };
        if !right {
            let why = format!("this is no JSON schema: `{}` is {what}", key.text);
            problems.push(Problem::at(value.place, why));
        }
    }
}

/// Resolves a reference: to the whole schema or one of its `$defs`, because only those were checked as schemas.
fn referred<'s>(whole: &'s Json, at: &str) -> Option<&'s Json> {
    let at = at.strip_prefix('#')?;
    (at.is_empty() || at.starts_with("/$defs/"))
        .then(|| whole.pointer(at))?
        .filter(|found| found.is_object() || found.is_boolean())
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

#[cfg(test)]
mod tests {
    use super::fits::TOLD;
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

    #[test]
    fn no_answer_and_no_schema_takes_for_ever() {
        let doubled = json!({
            "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"
        });
        let told = faults(&doubled, &json!(1));
        assert!(told.len() <= TOLD + 1 && told.iter().any(|why| why.contains("without end")), "{told:?}");
        let bad = json!({"not": doubled["$defs"]["a"], "$defs": doubled["$defs"]});
        let _ = faults(&bad, &json!(1));
        // A quadratic check would need about 10¹⁰ comparisons, and compile the pattern for every text.
        let many = Json::Array((0..200_000).map(|n| json!(n.to_string())).collect());
        let schema = json!({"uniqueItems": true, "items": {"pattern": "^[0-9]+$"}});
        assert_eq!(faults(&schema, &many), Vec::<String>::new());
        assert!(faults(&json!({"items": {"type": "null"}}), &many).len() <= TOLD);
    }

    #[test]
    fn a_reference_leads_to_a_schema() {
        for to in ["#/title", "#/required/0", "#/properties/a/default", "#/$defs/none", "x"] {
            let text = format!(
                "title: x\nrequired: [a]\nproperties: {{a: {{default: {{if: 1}}}}}}\nitems: {{$ref: '{to}'}}"
            );
            let problems = check(&parse(&text).unwrap());
            assert!(
                problems.iter().any(|p| p.message.contains("a place in this schema")),
                "{to}: {problems:?}"
            );
        }
        assert!(check(&parse("items: {$ref: '#'}").unwrap()).is_empty());
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
