//! Writing a task: values are quoted as YAML where needed, and read again before they are returned.
//!
//! Values of several lines can be written. Refused are values that the parser would trim or not read back, invalid ids
//! and times, and extra fields with the name of one of the protocol.

use std::collections::HashSet;

use super::header::Header;
use super::{OWN, Task, spelled};
use crate::clock::Timestamp;
use crate::message::envelope::{BadValue, Priority};
use crate::message::unwritable::{self, Unwritable, Why};
use crate::message::{Protocol, yaml};
use crate::name::MessageId;

/// The bytes of a new message, in the order of the seed.
pub fn render(task: &Task) -> Result<String, Unwritable> {
    let lines = lines(task)?;
    let mut out = String::from("---\n");
    for (key, value) in &lines {
        for part in [&yaml::scalar(key), ": ", &yaml::scalar(value), "\n"] {
            out.push_str(part);
        }
    }
    // Reading it again shows whether quoting kept everything.
    let read = Header::read(&out["---\n".len()..]);
    let found =
        read.iter().flat_map(Header::fields).map(|(name, field)| (name.as_str(), field.value.as_deref()));
    let same = found.eq(lines.iter().map(|(key, value)| (*key, Some(value.as_str()))));
    match same && read.is_ok_and(|header| header.doubts.is_empty()) {
        true => unwritable::finish(Protocol::Tree, out, &task.body),
        false => Err(refuse(lost(&lines), Why::ReadOtherwise)),
    }
}

/// The first field that is not read back, even alone.
fn lost<'a>(lines: &[(&'a str, String)]) -> &'a str {
    let is_lost = |(key, value): &&(&str, String)| {
        let line = format!("{}: {}\n", yaml::scalar(key), yaml::scalar(value));
        !Header::read(&line).is_ok_and(|header| {
            header.doubts.is_empty()
                && matches!(header.fields(), [(name, field)] if name == key && field.value.as_ref() == Some(value))
        })
    };
    lines.iter().find(is_lost).map_or("---", |(key, _)| key)
}

/// The fields of a message with their values, all checked.
fn lines(task: &Task) -> Result<Vec<(&str, String)>, Unwritable> {
    let id = |key, id: &String| {
        MessageId::parse_lenient(id).map_err(|why| refuse(key, why)).map(|_| (key, id.clone()))
    };
    let text = |key, value: &String| match value.trim() {
        "" => Err(refuse(key, Why::Empty)),
        trimmed if trimmed != value => Err(refuse(key, BadValue::Edges)),
        _ => Ok((key, value.clone())),
    };
    let mut lines = vec![id("id", &task.id)?];
    lines.extend(task.request_id.as_ref().map(|request| id("request_id", request)).transpose()?);
    lines.push(text("from", &task.from)?);
    lines.push(text("to", &task.to)?);
    lines.extend((task.priority != Priority::Normal).then(|| ("priority", task.priority.to_string())));
    lines.push(("status", task.status.to_string()));
    if Timestamp::parse(&task.created).is_none() {
        return Err(refuse("created", Why::Time));
    }
    lines.push(text("created", &task.created)?);
    lines.extend(task.context.as_ref().map(|value| text("context", value)).transpose()?);
    lines.extend(task.workflow.as_ref().map(|value| text("workflow", value)).transpose()?);
    lines.extend(task.step.map(|step| ("step", step.to_string())));
    lines.extend(task.duration_seconds.map(|seconds| ("duration_seconds", seconds.to_string())));
    lines.extend(task.error.as_ref().map(|value| text("error", value)).transpose()?);
    let mut seen = HashSet::new();
    for (key, value) in &task.extra {
        match spelled(key) {
            Some(own) if OWN.contains(&own) => return Err(refuse(key, Why::Own)),
            _ if key.is_empty() => return Err(refuse(key, Why::Empty)),
            _ if !seen.insert(key) => return Err(refuse(key, Why::Twice)),
            _ => lines.push((key, value.clone())),
        }
    }
    Ok(lines)
}

fn refuse(field: &str, why: impl Into<Why>) -> Unwritable {
    Unwritable::new(Protocol::Tree, field, why)
}
