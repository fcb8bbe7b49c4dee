//! A workflow that can be started: its graph, and a form that is made from its inputs.

use askama::Template;

use crate::message::visible;
use crate::staff::find_workflow;
use crate::web::drawing::{self, Graph};
use crate::web::guard::Role;
use crate::web::page::Page;
use crate::web::routes::{Ask, Wrong};

#[derive(Template)]
#[template(path = "workflow_form.html")]
struct Form {
    name: String,
    about: String,
    graph: Graph,
    inputs: Vec<Field>,
    wrong: Option<String>,
    is_person: bool,
}

/// One input.
struct Field {
    name: String,
    about: String,
    kind: &'static str,
    value: String,
    is_needed: bool,
    is_long: bool,
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    let around = ask.desk.around(&ask.post)?;
    let found = find_workflow(&*around, ask.part(0))?;
    let definition = found.definition()?;
    let inputs = definition.inputs.iter().map(|input| Field {
        name: visible::line(&input.name),
        about: visible::line(&input.about),
        kind: input.kind.as_str(),
        value: match &input.default {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        },
        is_needed: input.default.is_none(),
        is_long: input.default.is_none() && input.kind.as_str() == "text",
    });
    let form = Form {
        name: visible::line(&found.name),
        about: visible::line(&definition.about),
        graph: drawing::graph(&definition, &[], &[]),
        inputs: inputs.collect(),
        // Only the person's own trust lets a repository's workflow run.
        wrong: found.must_be_trusted(&*around).err().map(|e| visible::line(&e.to_string())),
        is_person: ask.visitor.role == Role::Person,
    };
    Page::new("workflows", form.name.clone(), &form)
}
