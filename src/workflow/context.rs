//! The variables that the templates of a step see: inputs, results, and file paths. Part of the [`Engine`], and also
//! pure.
//!
//! Only the variables that a template uses are built, so a step in a run of a thousand steps costs no more than in a
//! run of ten. A result that is too large for a prompt is kept in a file, and the prompt gets its path instead.

use serde_json::{Map, Value as Json, json};

use super::check::knows;
use super::engine::{Engine, Phase, StepState};
use super::template::{Quoting, Template, Uses};
use crate::name::MessageId;

impl Engine {
    /// The variables for a step; `item`: the index of its item.
    pub(super) fn context(&mut self, step: usize, item: Option<usize>, uses: &Uses) -> Json {
        let mut steps = Map::new();
        let named: Vec<usize> = match uses.any_step {
            true => knows(&self.definition, step).into_iter().collect(),
            false => uses.steps.iter().filter_map(|name| self.definition.step(name)).collect(),
        };
        for index in named {
            let view = self.view(index);
            steps.insert(self.definition.steps[index].name.clone(), view);
        }
        let state = &self.steps[step];
        let about = item.and_then(|item| state.items.get(item));
        let mut context = json!({
            "run": self.facts.run,
            "workflow": self.definition.name,
            "step": self.definition.steps[step].name,
            "round": state.round + 1,
            "attempt": about.map_or(1, |item| item.attempt + 1),
            "failure": about.and_then(|item| item.failure.clone()),
            "inputs": self.facts.inputs,
            "steps": steps,
        });
        if let Some(item) = item.filter(|_| self.definition.steps[step].foreach.is_some()) {
            context["item"] = state.values.get(item).cloned().unwrap_or_default();
            context["index"] = json!(item + 1);
        }
        context
    }

    /// The text of a template for an agent or a person. What came from agents is fenced.
    pub(super) fn written(
        &mut self,
        step: usize,
        item: usize,
        template: &Template,
    ) -> Result<String, String> {
        let context = self.context(step, Some(item), &template.uses);
        let quoting = Quoting::of(&self.facts.run, &context, |text| self.references.contains(text));
        template.render_quoted(&context, quoting)
    }

    /// A result or a reason, fenced, or the reference to it.
    pub(super) fn quoted(&mut self, label: &str, text: &str, limit: usize) -> String {
        let shown = self.referred(label, text.trim_end(), limit);
        match self.references.contains(&shown) {
            true => shown,
            false => Quoting::new(&self.facts.run).fenced(&shown),
        }
    }

    /// A step as a template sees it.
    fn view(&mut self, index: usize) -> Json {
        let StepState { phase, items, .. } = &self.steps[index];
        let failure = match phase {
            Phase::Failed(why, _) => Some(why.clone()),
            _ => None,
        };
        let status = phase.as_str();
        let texts: Vec<Option<String>> = items.iter().map(|item| item.text.clone()).collect();
        let jsons: Vec<Option<Json>> = items.iter().map(|item| item.json.clone()).collect();
        let agents: Vec<String> = items.iter().map(|item| item.agent.clone()).collect();
        // All results of a fan-out together get as much space as one result.
        let all: usize = texts.iter().flatten().map(String::len).sum();
        let limit = self.definition.result_bytes;
        let each = if all > limit { limit / texts.len().max(1) } else { limit };
        let labels: Vec<String> = (0..texts.len()).map(|item| self.label(index, item)).collect();
        let results: Vec<Option<String>> = texts
            .into_iter()
            .zip(labels)
            .map(|(text, label)| text.map(|text| self.referred(&label, text.trim_end(), each)))
            .collect();
        let fans_out = self.definition.steps[index].foreach.is_some();
        let result = match fans_out {
            false => results.first().cloned().flatten(),
            true => Some(results.iter().flatten().cloned().collect::<Vec<_>>().join("\n\n")),
        };
        json!({
            "status": status, "failure": failure, "result": result, "results": results,
            "json": jsons.first().cloned().flatten(), "jsons": jsons, "agent": agents.first(), "agents": agents,
        })
    }

    /// A text for a prompt: the text itself, or its path if it is too large.
    pub(super) fn referred(&mut self, label: &str, text: &str, limit: usize) -> String {
        if text.len() <= limit {
            return text.to_owned();
        }
        // Rounds and attempts have different texts, so each text gets its own file: an agent must find the one it was
        // sent.
        let id = MessageId::derived(text.as_bytes());
        let file = format!("{label}-{}.md", id.short().unwrap_or_default());
        let path = self.facts.results.join(&file);
        self.kept.insert(file, text.to_owned());
        let reference =
            format!("[{} bytes, too long for this message: read the file {}]", text.len(), path.display());
        self.references.insert(reference.clone());
        reference
    }
}
