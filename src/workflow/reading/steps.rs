//! Reading the steps of a definition: their fields, and the other steps they name.

use std::time::Duration;

use serde_json::Value as Json;

use super::{Reader, get, is_word};
use crate::message::visible;
use crate::workflow::definition::*;
use crate::workflow::document::{Key, Node, Value};
use crate::workflow::problem::{Problem, offer};
use crate::workflow::schema;
use crate::workflow::verdict::Verdict;

/// The gates, for errors.
const GATES: &str = "a gate is one of contains, verdict, command, schema, approval";

/// The default time limit of a gate command.
const GATE_TIME: Duration = Duration::from_secs(10 * 60);

impl Reader<'_> {
    pub(super) fn steps(&mut self, node: &Node) -> Option<Vec<Step>> {
        let entries = self.map(node, "`steps`")?;
        if entries.is_empty() || entries.len() > STEPS {
            return self.wrong(node.place, format!("a workflow has from 1 to {STEPS} steps"));
        }
        let mut raws = vec![];
        for (name, node) in entries {
            if !is_word(&name.text) {
                let why = format!("`{}` cannot name a step: letters, digits and `_`", name.text);
                self.problems.push(Problem::at(name.place, why));
            }
            if let Some(entries) = self.map(node, "a step") {
                raws.push((name, entries));
            }
        }
        let names: Vec<&str> = raws.iter().map(|(name, _)| name.text.as_str()).collect();
        Some(raws.iter().filter_map(|(name, entries)| self.step(name, entries, &names)).collect())
    }

    fn step(&mut self, key: &Key, entries: &[(Key, Node)], names: &[&str]) -> Option<Step> {
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
        self.known(entries, "a step", &KEYS);
        let (name, place) = (&key.text, key.place);
        let get = |key: &str| get(entries, key);
        let needed = |reader: &mut Self, key: &str| match get(key) {
            Some(node) => reader.template(node, key),
            None => reader.wrong(place, format!("the step `{name}` has no `{key}`")),
        };
        let (agent, prompt) = (needed(self, "agent"), needed(self, "prompt"));
        let about = get("about").and_then(|node| self.text(node, "about")).unwrap_or_default();
        let needs = get("needs").map(|node| self.needs(node, names)).unwrap_or_default();
        let when = get("when").map(|node| match node.json() {
            // A constant counts as an expression if it is a boolean or a text.
            Json::Bool(_) | Json::String(_) => self.expression(node, "when"),
            _ => self.wrong(node.place, "`when` is an expression that is true or false"),
        });
        let foreach = get("foreach").map(|node| self.expression(node, "foreach"));
        let join = get("join").map(|node| match node.text() {
            Some("all") => Some(Join::All),
            Some("any") => Some(Join::AtLeast(1)),
            Some(number) if number.parse::<usize>().is_ok_and(|n| (1..=ITEMS).contains(&n)) => {
                number.parse().ok().map(Join::AtLeast)
            }
            _ => self.wrong(node.place, "`join` is `all`, `any`, or how many results are needed"),
        });
        let outputs = [("text", Output::Text), ("json", Output::Json)];
        let output =
            get("output").and_then(|node| self.choice(node, &outputs, "`output` is `text` or `json`"));
        let gates = get("gate").map(|node| self.gates(node)).unwrap_or_default();
        let retry = get("retry").and_then(|node| self.count(node, "retry", 0..=100));
        let timeout = get("timeout").and_then(|node| self.span(node, "timeout"));
        let on_failure = get("on_failure").map(|node| self.on_failure(node, names));
        let schema = gates.iter().any(|gate| matches!(gate, Gate::Schema(_)));
        Some(Step {
            name: name.clone(),
            place,
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
            output: output.unwrap_or(if schema { Output::Json } else { Output::Text }),
            handler_of: None,
            level: 0,
        })
    }

    fn resolved(&mut self, node: &Node, names: &[&str]) -> Option<usize> {
        let name = self.text(node, "step")?;
        names.iter().position(|known| *known == name).or_else(|| {
            let (word, hint) = (visible::clip(&name, 40), offer(&name, names.iter().copied()));
            self.wrong(node.place, format!("there is no step `{word}`{hint}"))
        })
    }

    fn needs(&mut self, node: &Node, names: &[&str]) -> Vec<usize> {
        let one = std::slice::from_ref(node);
        let nodes = match &node.value {
            Value::List(nodes) => nodes.as_slice(),
            _ => one,
        };
        let mut needs: Vec<usize> = vec![];
        for node in nodes {
            match self.resolved(node, names) {
                Some(need) if needs.contains(&need) => {
                    self.problems.push(Problem::at(node.place, "this step is needed already"));
                }
                need => needs.extend(need),
            }
        }
        needs
    }

    fn on_failure(&mut self, node: &Node, names: &[&str]) -> Option<OnFailure> {
        const ROUNDS: u32 = 3;
        let Value::Map(entries) = &node.value else {
            return match node.text() {
                Some("stop") => Some(OnFailure::Stop),
                Some("continue") => Some(OnFailure::Continue),
                _ => {
                    let step = self.resolved(node, names)?;
                    Some(OnFailure::Step { step, rounds: ROUNDS, then: Then::Again })
                }
            };
        };
        self.known(entries, "`on_failure`", &["step", "rounds", "then"]);
        let get = |key: &str| get(entries, key);
        let rounds = get("rounds").and_then(|node| self.count(node, "rounds", 1..=100));
        let thens = [("again", Then::Again), ("continue", Then::Continue), ("stop", Then::Stop)];
        let wrong = "`then` is `again`, `continue` or `stop`";
        let then = get("then").and_then(|node| self.choice(node, &thens, wrong));
        let Some(step) = get("step") else {
            return self.wrong(node.place, "`on_failure` names a `step`, or is `continue` or `stop`");
        };
        let step = self.resolved(step, names)?;
        let rounds = rounds.and_then(|n| u32::try_from(n).ok()).unwrap_or(ROUNDS);
        Some(OnFailure::Step { step, rounds, then: then.unwrap_or(Then::Again) })
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
            return self.wrong(node.place, GATES);
        };
        let extra = match key.text.as_str() {
            "command" => "timeout",
            "approval" => "ask",
            _ => "",
        };
        if let Some((key, _)) = rest.iter().find(|(key, _)| key.text != extra) {
            let word = &key.text;
            let why = format!("`{word}` does not belong here; a gate is one thing, and several are a list");
            return self.wrong(key.place, why);
        }
        match key.text.as_str() {
            "contains" => self.text(value, "contains").map(Gate::Contains),
            "verdict" => self.verdict(value).map(Gate::Verdict),
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
            _ => self.wrong(key.place, GATES),
        }
    }

    fn verdict(&mut self, node: &Node) -> Option<Verdict> {
        let entries = self.map(node, "`verdict`")?;
        self.known(entries, "`verdict`", &["accept", "reject"]);
        let words = |reader: &mut Self, key: &str| match get(entries, key) {
            Some(node) => reader.words(node, key),
            None => reader.wrong(node.place, format!("`verdict` has no `{key}`")),
        };
        let (accept, reject) = (words(self, "accept")?, words(self, "reject")?);
        match reject.iter().find(|word| accept.iter().any(|other| other.eq_ignore_ascii_case(word))) {
            Some(word) => self.wrong(node.place, format!("`{word}` cannot both accept and reject")),
            None => Some(Verdict { accept, reject }),
        }
    }

    /// One word of a verdict, or a list of them.
    fn words(&mut self, node: &Node, what: &str) -> Option<Vec<String>> {
        let one = std::slice::from_ref(node);
        let nodes = match &node.value {
            Value::List(nodes) => nodes.as_slice(),
            _ => one,
        };
        let is_word = |word: &str| {
            let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            !word.is_empty() && word.len() <= 40 && word.chars().all(fits)
        };
        let words: Vec<String> =
            nodes.iter().filter_map(Node::text).filter(|word| is_word(word)).map(str::to_owned).collect();
        if words.is_empty() || words.len() != nodes.len() {
            return self.wrong(
                node.place,
                format!("`{what}` is a word of letters, digits, `-` and `_`, or a list of them"),
            );
        }
        Some(words)
    }

    /// A program and its arguments. No shell and no templates, so no byte of a result gets here.
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
