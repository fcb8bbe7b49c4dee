//! Reading a definition: a document becomes a [`Definition`], or a list of everything that is wrong with it, each with its
//! line and column. Pure.
//!
//! One look finds all faults of the words; what is wrong with how steps hang together (`check`) is looked for only when the
//! words are right.

use std::time::Duration;

use serde_json::Value as Json;

use super::check;
use super::definition::*;
use super::document::{self, Key, Node, Value};
use super::problem::{Place, Problem};
use super::schema;
use super::template::{Expression, Lines, Template, Uses};
use crate::span;

/// The longest file that is read.
pub const LIMIT: u64 = 4 * 1024 * 1024;

/// How long the command of a gate may take, unless it says so.
const GATE_TIME: Duration = Duration::from_secs(10 * 60);

/// Reads and checks the text of a file that is called `name`.
pub fn parse(text: &str, name: &str) -> Result<Definition, Vec<Problem>> {
    let document = document::parse(text).map_err(|problem| vec![problem])?;
    let mut reader = Reader { text, problems: vec![] };
    let definition = reader.definition(&document, name);
    match definition {
        Some(mut definition) if reader.problems.is_empty() => {
            let problems = check::check(&mut definition);
            if problems.is_empty() { Ok(definition) } else { Err(problems) }
        }
        _ => {
            reader.problems.sort();
            Err(reader.problems)
        }
    }
}

/// Whether a word may name a workflow: it becomes part of the id of a mailbox.
pub fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    text.len() <= 64 && text.bytes().all(plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Whether a word may name a step or an input: templates speak of it.
fn is_word(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= 40 && text.bytes().all(plain) && text.starts_with(|c: char| c.is_ascii_alphabetic())
}

struct Reader<'t> {
    text: &'t str,
    problems: Vec<Problem>,
}

/// What a step says before names are resolved.
struct Raw<'d> {
    name: &'d Key,
    entries: &'d [(Key, Node)],
}

impl Raw<'_> {
    fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|(k, _)| k.text == key).map(|(_, node)| node)
    }
}

impl Reader<'_> {
    fn wrong<T>(&mut self, place: Place, message: impl Into<String>) -> Option<T> {
        self.problems.push(Problem::at(place, message));
        None
    }

    fn map<'d>(&mut self, node: &'d Node, what: &str) -> Option<&'d [(Key, Node)]> {
        match &node.value {
            Value::Map(entries) => Some(entries),
            _ => self.wrong(node.place, format!("{what} is a map, not {}", node.kind())),
        }
    }

    fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        match node.text() {
            Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
            _ => self.wrong(node.place, format!("`{what}` is a text, not {}", empty_or_kind(node))),
        }
    }

    fn count(&mut self, node: &Node, what: &str, range: std::ops::RangeInclusive<usize>) -> Option<usize> {
        let number = node.text().and_then(|text| text.parse::<usize>().ok()).filter(|n| range.contains(n));
        number.or_else(|| {
            self.wrong(
                node.place,
                format!("`{what}` is a whole number from {} to {}", range.start(), range.end()),
            )
        })
    }

    fn span(&mut self, node: &Node, what: &str) -> Option<Duration> {
        let text = self.text(node, what)?;
        match span::parse(&text) {
            Ok(span) if !span.is_zero() => Some(span),
            Ok(_) => self.wrong(node.place, format!("`{what}` is longer than nothing")),
            Err(why) => self.wrong(node.place, format!("`{what}`: {why}")),
        }
    }

    /// Tells of every key that is none of these, with the nearest that is.
    fn known(&mut self, entries: &[(Key, Node)], what: &str, known: &[&str]) {
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.text.as_str())) {
            let near = known.iter().find(|k| strsim::osa_distance(k, &key.text) <= 2);
            let hint = near.map_or_else(
                || format!("there are {}", known.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            let word = crate::message::visible::clip(&key.text, 40);
            self.problems.push(Problem::at(key.place, format!("{what} has no key `{word}`; {hint}")));
        }
    }

    fn lines(&self, node: &Node) -> Lines<'_> {
        let block = matches!(node.value, Value::Text { block: true, .. });
        Lines { file: self.text, place: node.place, block }
    }

    fn template(&mut self, node: &Node, what: &str) -> Option<Template> {
        let text = self.text(node, what)?;
        match Template::parse(&text, self.lines(node)) {
            Ok(template) => Some(template),
            Err(problem) => self.wrong(problem.place, format!("`{what}`: {}", problem.message)),
        }
    }

    fn expression(&mut self, node: &Node, what: &str) -> Option<Expression> {
        // A list that stands here is one that is meant as it is.
        if let Value::List(_) = node.value {
            let source = node.json().to_string();
            let place = node.place;
            return Some(Expression { source, place, uses: Uses::default() });
        }
        let text = self.text(node, what)?;
        match Expression::parse(&text, self.lines(node)) {
            Ok(expression) => Some(expression),
            Err(problem) => self.wrong(problem.place, format!("`{what}`: {}", problem.message)),
        }
    }

    fn definition(&mut self, document: &Node, name: &str) -> Option<Definition> {
        const KEYS: [&str; 6] = ["name", "about", "inputs", "parallel", "result_bytes", "steps"];
        let entries = self.map(document, "a workflow")?;
        self.known(entries, "a workflow", &KEYS);
        let get = |key: &str| entries.iter().find(|(k, _)| k.text == key).map(|(_, node)| node);
        if !is_name(name) {
            self.problems.push(Problem::at(
                Place::default(),
                format!("the file is called `{name}`; the name of a workflow is of a-z, 0-9, `-` and `_`"),
            ));
        }
        if let Some(node) = get("name")
            && node.text() != Some(name)
        {
            self.problems
                .push(Problem::at(node.place, format!("`name` is not that of the file, which is `{name}`")));
        }
        let about = get("about").and_then(|node| self.text(node, "about")).unwrap_or_default();
        let inputs = get("inputs").map(|node| self.inputs(node)).unwrap_or_default();
        let parallel = get("parallel").and_then(|node| self.count(node, "parallel", 1..=ITEMS));
        let bytes = get("result_bytes").and_then(|node| self.count(node, "result_bytes", 256..=1024 * 1024));
        let Some(node) = get("steps") else {
            return self.wrong(document.place, "a workflow has `steps`");
        };
        let steps = self.steps(node)?;
        Some(Definition {
            name: name.to_owned(),
            about: about.trim().to_owned(),
            inputs,
            parallel: parallel.unwrap_or(PARALLEL),
            result_bytes: bytes.unwrap_or(RESULT_BYTES),
            steps,
        })
    }

    fn inputs(&mut self, node: &Node) -> Vec<Input> {
        let entries = self.map(node, "`inputs`").unwrap_or_default();
        entries.iter().filter_map(|(key, node)| self.input(key, node)).collect()
    }

    fn input(&mut self, key: &Key, node: &Node) -> Option<Input> {
        if !is_word(&key.text) {
            return self
                .wrong(key.place, format!("`{}` cannot name an input: letters, digits and `_`", key.text));
        }
        let name = key.text.clone();
        let Value::Map(entries) = &node.value else {
            // The short form: the default itself, which tells the kind.
            let default = Some(node.json()).filter(|value| !value.is_null());
            let kind = default.as_ref().map_or(Kind::Text, Kind::of);
            return Some(Input { name, kind, default, about: String::new() });
        };
        self.known(entries, "an input", &["type", "default", "about"]);
        let get = |key: &str| entries.iter().find(|(k, _)| k.text == key).map(|(_, node)| node);
        let default =
            get("default").map(|node| (node.place, node.json())).filter(|(_, value)| !value.is_null());
        let kind = match get("type").map(|node| (node.place, node.text())) {
            None => default.as_ref().map_or(Kind::Text, |(_, value)| Kind::of(value)),
            Some((place, word)) => match Kind::ALL.into_iter().find(|kind| Some(kind.word()) == word) {
                Some(kind) => kind,
                None => {
                    let words = Kind::ALL.map(Kind::word).join(", ");
                    return self.wrong(place, format!("`type` is one of {words}"));
                }
            },
        };
        if let Some((place, value)) = &default
            && !kind.fits(value)
        {
            return self.wrong(*place, format!("the default is no {}", kind.word()));
        }
        let about = get("about").and_then(|node| self.text(node, "about")).unwrap_or_default();
        Some(Input { name, kind, default: default.map(|(_, value)| value), about })
    }

    fn steps(&mut self, node: &Node) -> Option<Vec<Step>> {
        let entries = self.map(node, "`steps`")?;
        if entries.is_empty() || entries.len() > STEPS {
            return self.wrong(node.place, format!("a workflow has from 1 to {STEPS} steps"));
        }
        let mut raws = vec![];
        for (name, node) in entries {
            if !is_word(&name.text) {
                self.problems.push(Problem::at(
                    name.place,
                    format!("`{}` cannot name a step: letters, digits and `_`", name.text),
                ));
            }
            if let Some(entries) = self.map(node, "a step") {
                raws.push(Raw { name, entries });
            }
        }
        let index = |name: &str| raws.iter().position(|raw| raw.name.text == name);
        let steps: Vec<_> = raws.iter().filter_map(|raw| self.step(raw, &index)).collect();
        Some(steps)
    }

    fn step(&mut self, raw: &Raw<'_>, index: &dyn Fn(&str) -> Option<usize>) -> Option<Step> {
        const KEYS: [&str; 12] = [
            "about",
            "agent",
            "prompt",
            "needs",
            "when",
            "foreach",
            "join",
            "gate",
            "retry",
            "timeout",
            "on_failure",
            "output",
        ];
        self.known(raw.entries, "a step", &KEYS);
        let name = &raw.name.text;
        let needed = |reader: &mut Self, key: &str| match raw.get(key) {
            Some(node) => reader.template(node, key),
            None => reader.wrong(raw.name.place, format!("the step `{name}` has no `{key}`")),
        };
        let (agent, prompt) = (needed(self, "agent"), needed(self, "prompt"));
        let about = raw.get("about").and_then(|node| self.text(node, "about")).unwrap_or_default();
        let needs = raw.get("needs").map(|node| self.needs(node, index)).unwrap_or_default();
        let when = raw.get("when").map(|node| match node.json() {
            // A constant is as good as an expression, if it is one of the two.
            Json::Bool(_) | Json::String(_) => self.expression(node, "when"),
            _ => self.wrong(node.place, "`when` is an expression that is true or false"),
        });
        let foreach = raw.get("foreach").map(|node| self.expression(node, "foreach"));
        let join = raw.get("join").map(|node| match node.text() {
            Some("all") => Some(Join::All),
            Some("any") => Some(Join::AtLeast(1)),
            Some(number) if number.parse::<usize>().is_ok_and(|n| (1..=ITEMS).contains(&n)) => {
                number.parse().ok().map(Join::AtLeast)
            }
            _ => self.wrong(node.place, "`join` is `all`, `any`, or how many results are needed"),
        });
        let output = raw.get("output").map(|node| match node.text() {
            Some("text") => Some(Output::Text),
            Some("json") => Some(Output::Json),
            _ => self.wrong(node.place, "`output` is `text` or `json`"),
        });
        let gates = raw.get("gate").map(|node| self.gates(node)).unwrap_or_default();
        let retry = raw.get("retry").and_then(|node| self.count(node, "retry", 0..=100));
        let timeout = raw.get("timeout").and_then(|node| self.span(node, "timeout"));
        let on_failure = raw.get("on_failure").map(|node| self.on_failure(node, index));
        let schema = gates.iter().any(|gate| matches!(gate, Gate::Schema(_)));
        Some(Step {
            name: name.clone(),
            place: raw.name.place,
            about: about.trim().to_owned(),
            agent: agent?,
            prompt: prompt?,
            needs,
            when: when.flatten(),
            foreach: foreach.flatten(),
            join: join.flatten().unwrap_or(Join::All),
            gates,
            retry: retry.and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
            timeout,
            on_failure: on_failure.flatten().unwrap_or(OnFailure::Stop),
            output: output.flatten().unwrap_or(if schema { Output::Json } else { Output::Text }),
            handler_of: None,
            level: 0,
        })
    }

    fn resolved(&mut self, node: &Node, index: &dyn Fn(&str) -> Option<usize>) -> Option<usize> {
        let name = self.text(node, "step")?;
        index(&name).or_else(|| {
            self.wrong(node.place, format!("there is no step `{}`", crate::message::visible::clip(&name, 40)))
        })
    }

    fn needs(&mut self, node: &Node, index: &dyn Fn(&str) -> Option<usize>) -> Vec<usize> {
        let one = std::slice::from_ref(node);
        let nodes = match &node.value {
            Value::List(nodes) => nodes.as_slice(),
            _ => one,
        };
        let mut needs: Vec<usize> = vec![];
        for node in nodes {
            match self.resolved(node, index) {
                Some(need) if needs.contains(&need) => {
                    self.problems.push(Problem::at(node.place, "this step is needed already"));
                }
                need => needs.extend(need),
            }
        }
        needs
    }

    fn on_failure(&mut self, node: &Node, index: &dyn Fn(&str) -> Option<usize>) -> Option<OnFailure> {
        const ROUNDS: u32 = 3;
        let Value::Map(entries) = &node.value else {
            return match node.text() {
                Some("stop") => Some(OnFailure::Stop),
                Some("continue") => Some(OnFailure::Continue),
                _ => {
                    let step = self.resolved(node, index)?;
                    Some(OnFailure::Step { step, rounds: ROUNDS, then: Then::Again })
                }
            };
        };
        self.known(entries, "`on_failure`", &["step", "rounds", "then"]);
        let get = |key: &str| entries.iter().find(|(k, _)| k.text == key).map(|(_, node)| node);
        let rounds = get("rounds").and_then(|node| self.count(node, "rounds", 1..=100));
        let then = get("then").map(|node| match node.text() {
            Some("again") => Some(Then::Again),
            Some("continue") => Some(Then::Continue),
            Some("stop") => Some(Then::Stop),
            _ => self.wrong(node.place, "`then` is `again`, `continue` or `stop`"),
        });
        let Some(step) = get("step") else {
            return self.wrong(node.place, "`on_failure` names a `step`, or is `continue` or `stop`");
        };
        let step = self.resolved(step, index)?;
        let rounds = rounds.and_then(|n| u32::try_from(n).ok()).unwrap_or(ROUNDS);
        Some(OnFailure::Step { step, rounds, then: then.flatten().unwrap_or(Then::Again) })
    }

    fn gates(&mut self, node: &Node) -> Vec<Gate> {
        match &node.value {
            Value::List(nodes) => nodes.iter().filter_map(|node| self.gate(node)).collect(),
            _ => self.gate(node).into_iter().collect(),
        }
    }

    fn gate(&mut self, node: &Node) -> Option<Gate> {
        let entries = self.map(node, "a gate")?;
        let [(key, value), rest @ ..] = entries else {
            return self.wrong(node.place, "a gate is one of contains, command, schema, approval");
        };
        let extra = match key.text.as_str() {
            "command" => "timeout",
            "approval" => "ask",
            _ => "",
        };
        if let Some((key, _)) = rest.iter().find(|(key, _)| key.text != extra) {
            return self.wrong(
                key.place,
                format!("`{}` does not belong here; a gate is one thing, and several are a list", key.text),
            );
        }
        match key.text.as_str() {
            "contains" => self.text(value, "contains").map(Gate::Contains),
            "command" => {
                let command = self.command(value)?;
                let timeout = rest.first().and_then(|(_, node)| self.span(node, "timeout"));
                Some(Gate::Command { command, timeout: timeout.unwrap_or(GATE_TIME) })
            }
            "schema" => {
                let problems = schema::check(value);
                let right = problems.is_empty();
                self.problems.extend(problems);
                right.then(|| Gate::Schema(value.json()))
            }
            "approval" => {
                let by = self.text(value, "approval")?;
                let ask = rest.first().and_then(|(_, node)| self.template(node, "ask"));
                Some(Gate::Approval { by, ask })
            }
            _ => self.wrong(key.place, "a gate is one of contains, command, schema, approval"),
        }
    }

    /// A program and its arguments: no shell, and nothing is filled in, so that no byte of a result gets here.
    fn command(&mut self, node: &Node) -> Option<Vec<String>> {
        let Value::List(nodes) = &node.value else {
            return self.wrong(node.place, "`command` is a list: the program, then its arguments");
        };
        let words: Vec<String> = nodes.iter().filter_map(|node| node.text().map(str::to_owned)).collect();
        if words.len() != nodes.len() || words.is_empty() {
            return self.wrong(node.place, "`command` is a list of texts: the program, then its arguments");
        }
        Some(words)
    }
}

fn empty_or_kind(node: &Node) -> &'static str {
    match &node.value {
        Value::Text { .. } => "nothing",
        _ => node.kind(),
    }
}
