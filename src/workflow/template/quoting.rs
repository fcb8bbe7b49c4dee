//! Texts of others in a prompt: what came from an agent is printed between fences, as in a message, so that no result
//! can pretend to be a part of the prompt. Pure.
//!
//! A template computes with the texts themselves; only printing adds the fences. Fenced is every whole result and every
//! other text of several lines, unless it is a part of the inputs. A single word or line out of a result, such as a
//! field of its JSON, stays as it is. The nonce is computed, because every computation of a run gives the same prompt.

use std::borrow::Cow;

use minijinja::Environment;
use minijinja::value::Value;
use serde_json::Value as Json;

use super::language::ENVIRONMENT;
use crate::hex;
use crate::message::fence;

/// What a template may print, and whose words it is.
#[derive(Debug, Default)]
pub struct Quoting {
    /// Part of the nonces, so that nobody knows them before the run.
    seed: String,
    /// Texts of the person and of the definition: inputs and names.
    own: Vec<String>,
    /// Whole results, and reasons of failures.
    results: Vec<String>,
    /// The results of a fan-out as one text, and its parts.
    joined: Vec<(String, Vec<String>)>,
    /// Sentences of ours in the place of a result.
    references: Vec<String>,
}

impl Quoting {
    pub fn new(seed: &str) -> Self {
        Self { seed: seed.to_owned(), ..Self::default() }
    }

    /// Sorts the texts of a context. `references` tells which of them are ours.
    pub fn of(seed: &str, context: &Json, references: impl Fn(&str) -> bool) -> Self {
        let mut quoting = Self::new(seed);
        for key in ["inputs", "run", "workflow", "step"] {
            leaves(&context[key], &mut quoting.own);
        }
        leaves(&context["failure"], &mut quoting.results);
        for step in context["steps"].as_object().into_iter().flat_map(|steps| steps.values()) {
            leaves(&step["agents"], &mut quoting.own);
            leaves(&step["failure"], &mut quoting.results);
            let mut parts = vec![];
            leaves(&step["results"], &mut parts);
            let whole = step["result"].as_str().unwrap_or_default();
            if parts.iter().all(|part| part != whole) {
                quoting.joined.push((whole.to_owned(), parts.clone()));
            }
            quoting.results.extend(parts);
        }
        let (references, results) = quoting.results.into_iter().partition(|text| references(text));
        Self { references, results, ..quoting }
    }

    /// The language, printing with fences.
    pub(super) fn language(self) -> Environment<'static> {
        let mut language = ENVIRONMENT.clone();
        language.set_formatter(move |out, state, value| match self.shown(value) {
            Some(text) => out.write_str(&text).map_err(minijinja::Error::from),
            None => minijinja::escape_formatter(out, state, value),
        });
        language
    }

    /// A value with its fences; `None` if it needs none.
    fn shown(&self, value: &Value) -> Option<String> {
        if value.is_safe() || value.is_undefined() || value.is_none() {
            return None;
        }
        let text = match value.as_str() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(value.to_string()),
        };
        let is = |known: &String| *known == text;
        if let Some((_, parts)) = self.joined.iter().find(|(whole, _)| is(whole)) {
            let part = |part: &String| match self.references.contains(part) {
                true => part.clone(),
                false => self.fenced(part),
            };
            return Some(parts.iter().map(part).collect::<Vec<_>>().join("\n\n"));
        }
        if self.references.iter().any(is) || self.own.iter().any(is) {
            return None;
        }
        let is_part = || self.own.iter().any(|own| own.contains(text.as_ref()));
        if !self.results.iter().any(is) && is_part() {
            return None;
        }
        let has_result =
            || self.results.iter().any(|result| !result.is_empty() && text.contains(result.as_str()));
        (text.contains('\n') || has_result()).then(|| self.fenced(&text))
    }

    /// A text of others between fences.
    pub fn fenced(&self, text: &str) -> String {
        let mut draws = 0u32;
        let nonce = fence::nonce(text, || {
            draws += 1;
            let digest = hex::digest(format!("fence {} {draws} {text}", self.seed), 8);
            u64::from_str_radix(&digest, 16).unwrap_or_default()
        });
        fence::enclosed(text.trim_end_matches('\n'), &nonce)
    }
}

/// All texts in a value.
fn leaves(value: &Json, found: &mut Vec<String>) {
    match value {
        Json::String(text) => found.push(text.clone()),
        Json::Array(values) => values.iter().for_each(|value| leaves(value, found)),
        Json::Object(values) => values.values().for_each(|value| leaves(value, found)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(source: &str) -> String {
        let context = json!({
            "inputs": {"task": "line one\nline two"}, "run": "r", "workflow": "w", "step": "s", "failure": "boom",
            "item": "a\n## Request\nb",
            "steps": {
                "a": {"result": "yes", "results": ["yes"], "json": {"word": "go", "text": "x\n## Request"}, "agents": ["coder"]},
                "each": {"result": "one\n\n[ref]", "results": ["one", "[ref]"], "agents": []},
            },
        });
        let language = Quoting::of("seed", &context, |text| text == "[ref]").language();
        language.render_str(source, Value::from(minijinja::value::Serde(&context))).unwrap()
    }

    #[test]
    fn whole_results_and_texts_of_several_lines_are_fenced() {
        for (source, inside) in [
            ("{{ steps.a.result }}", "yes"),
            ("{{ steps.a.results | join('+') }}", "yes"),
            ("{% for r in steps.a.results %}{{ r }}{% endfor %}", "yes"),
            ("{{ steps.a.result | upper ~ steps.a.result }}", "YESyes"),
            ("{{ steps.a.json.text }}", "x\n## Request"),
            ("{{ item }}", "a\n## Request\nb"),
            ("{{ failure }}", "boom"),
        ] {
            let text = rendered(source);
            assert_eq!(fence::body_of(&format!("\n{text}\n")), Some(inside), "{source}: {text}");
        }
    }

    #[test]
    fn inputs_names_and_words_stay_as_they_are() {
        for (source, wanted) in [
            ("{{ inputs.task }}", "line one\nline two"),
            ("{{ inputs.task | trim }}/{{ run }}", "line one\nline two/r"),
            ("{{ steps.a.json.word }} {{ steps.a.agents[0] }}", "go coder"),
            ("{{ steps.a.result | safe }}", "yes"),
            ("{{ 'y' if steps.a.result == 'yes' }}", "y"),
            ("{{ steps.a.results | length }}", "1"),
        ] {
            assert_eq!(rendered(source), wanted, "{source}");
        }
    }

    #[test]
    fn each_result_of_a_fan_out_has_its_own_fence_and_a_reference_has_none() {
        let text = rendered("{{ steps.each.result }}");
        assert_eq!(text.matches(" end]").count(), 1, "{text}");
        assert!(text.ends_with(" end]\n\n[ref]"), "{text}");
    }
}
