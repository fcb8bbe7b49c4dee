//! Checks a value against a checked schema, and reports where it does not fit. Bounded for all inputs.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use regex::Regex;
use serde_json::{Map, Value as Json};

use super::{referred, texts, types};
use crate::message::visible;

/// The keywords of a schema.
type Rules = Map<String, Json>;

/// The maximum depth of schemas and references.
const DEPTH: usize = 64;

/// The places where a value does not fit a checked schema. Empty if it fits.
pub fn faults(schema: &Json, value: &Json) -> Vec<String> {
    let mut found = vec![];
    let checker = Checker { whole: schema, left: Cell::new(LOOKS), patterns: RefCell::default() };
    checker.see(schema, value, "", 0, &mut found);
    if checker.left.get() == 0 {
        found.insert(0, format!("the whole: it takes more than {LOOKS} looks to see whether it fits"));
    }
    found
}

/// The maximum number of values checked: a schema that refers to itself twice doubles them at every level.
const LOOKS: u32 = 2_000_000;

/// How many faults are reported; an answer may have a million.
pub(super) const TOLD: usize = 20;

struct Checker<'s> {
    whole: &'s Json,
    left: Cell<u32>,
    patterns: RefCell<HashMap<String, Option<Regex>>>,
}

impl Checker<'_> {
    fn fits(&self, schema: &Json, value: &Json, depth: usize) -> bool {
        let mut found = vec![];
        self.see(schema, value, "", depth, &mut found);
        found.is_empty()
    }

    fn see(&self, schema: &Json, value: &Json, at: &str, depth: usize, found: &mut Vec<String>) {
        if self.left.get() == 0 || found.len() >= TOLD {
            return;
        }
        self.left.set(self.left.get() - 1);
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
        if let (Some(text), Some(pattern)) = (value.as_str(), rules.get("pattern").and_then(Json::as_str))
            && !self.matches(pattern, text)
        {
            wrong(format!("the text does not match `{}`", visible::clip(pattern, 60)));
        }
        self.combined(rules, value, at, depth, found);
        match value {
            Json::Array(items) => self.list(rules, items, at, depth, found),
            Json::Object(entries) => self.map(rules, entries, at, depth, found),
            _ => {}
        }
    }

    /// Whether a text matches a pattern. Each pattern is compiled once.
    fn matches(&self, pattern: &str, text: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        let known = patterns.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).ok());
        known.as_ref().is_none_or(|regex| regex.is_match(text))
    }

    fn combined(&self, rules: &Rules, value: &Json, at: &str, depth: usize, found: &mut Vec<String>) {
        let place = if at.is_empty() { "the whole" } else { at };
        if let Some(schema) = rules.get("$ref").and_then(Json::as_str).and_then(|to| referred(self.whole, to))
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

    fn list(&self, rules: &Rules, items: &[Json], at: &str, depth: usize, found: &mut Vec<String>) {
        let place = if at.is_empty() { "the whole" } else { at };
        bounds(rules, items.len(), ["minItems", "maxItems"], "items", place, found);
        let mut seen = HashSet::new();
        if rules.get("uniqueItems") == Some(&Json::Bool(true)) && !items.iter().all(|item| seen.insert(item))
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
        rules: &Rules,
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
fn scalar(rules: &Rules, value: &Json, wrong: &mut impl FnMut(String)) {
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as u64;
        if rules.get("minLength").and_then(Json::as_u64).is_some_and(|least| length < least)
            || rules.get("maxLength").and_then(Json::as_u64).is_some_and(|most| length > most)
        {
            wrong(format!("the text has {length} characters"));
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
    rules: &Rules,
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
