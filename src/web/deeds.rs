//! What the person does on the page: the values of a request, given to the deed of that name ([`crate::deeds`]).

use serde_json::Value;

use super::markup::encoded;
use super::routes::{Ask, Done, Wrong, text};
use crate::deeds::Deeds;
use crate::mailbox::Folder;
use crate::workflow::decision::Decision;

fn deeds(ask: &Ask) -> Deeds<'_> {
    Deeds { desk: &ask.desk, post: &ask.post, place: "on the page" }
}

/// A text that may be missing.
fn maybe<'v>(body: &'v Value, key: &str) -> &'v str {
    body.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn send(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let to = text(body, "to")?.split([',', ' ']).filter(|name| !name.is_empty());
    let to: Vec<String> = to.map(str::to_owned).collect();
    Ok(Done::said(deeds(ask).send(&to, maybe(body, "subject"), text(body, "text")?)?))
}

pub(super) fn reply(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    Ok(Done::said(deeds(ask).reply(text(body, "id")?, text(body, "text")?)?))
}

pub(super) fn archive(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    deeds(ask).move_to(text(body, "id")?, Folder::Archive)?;
    Ok(Done::said("archived"))
}

pub(super) fn approve(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    Ok(Done::said(deeds(ask).decide(text(body, "gate")?, Decision::Approve { comment: "" })?))
}

pub(super) fn reject(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    Ok(Done::said(deeds(ask).decide(text(body, "gate")?, Decision::Reject { why: text(body, "why")? })?))
}

pub(super) fn stop(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    Ok(Done::said(deeds(ask).stop(None, text(body, "what")?)?))
}

pub(super) fn pause(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    Ok(Done::said(deeds(ask).pause(text(body, "agent")?, "")?))
}

pub(super) fn resume(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    Ok(Done::said(deeds(ask).resume(text(body, "agent")?)?))
}

/// Some messages by their ids, or all that were given up.
pub(super) fn retry(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let ids: Vec<String> = match body.get("ids") {
        Some(Value::Array(ids)) => ids.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![],
    };
    Ok(Done::said(match (ids.as_slice(), body.get("all")) {
        ([], Some(_)) => deeds(ask).retry_all()?,
        ([], None) => return Err(Wrong::Missing("ids")),
        (ids, _) => deeds(ask).retry(body.get("mailbox").and_then(Value::as_str), ids)?,
    }))
}

/// Begins a run of a workflow, with the inputs of its form.
pub(super) fn workflow_start(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let inputs = body.as_object().into_iter().flatten().filter_map(|(key, value)| {
        let key = key.strip_prefix("input-")?;
        Some((key.to_owned(), value.as_str()?.trim().to_owned()))
    });
    // What was left empty has its default.
    let given: Vec<(String, String)> = inputs.filter(|(_, value)| !value.is_empty()).collect();
    let run = deeds(ask).start_flow(text(body, "name")?, &given)?;
    let next = format!("/r/{}/workflows/{}", encoded(&ask.room), encoded(&run));
    Ok(Done { said: format!("run {run} has begun"), next: Some(next) })
}

pub(super) fn workflow_cancel(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    Ok(Done::said(deeds(ask).cancel_flow(text(body, "run")?)?))
}

pub(super) fn workflow_retry(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    Ok(Done::said(deeds(ask).retry_flow(text(body, "run")?)?))
}
