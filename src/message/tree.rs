//! The codec of the tree protocol: a task for an agent, or its response, with YAML frontmatter.
//!
//! Needed are `id`, `from`, `to`, `status` and `created`. A change of status rewrites that one field and leaves
//! every other byte as it was ([`set_status`]).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::envelope::Priority;
use super::frontmatter::{self, ParseError};
use super::shared;
use super::yaml::{self, Field};
use crate::clock::Timestamp;
use crate::name::MessageId;

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
    Failed,
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Pending, Self::InProgress, Self::Completed, Self::Failed];

    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == text)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A message of the tree protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: String,
    pub from: String,
    pub to: String,
    pub status: Status,
    /// ISO 8601, UTC, as it stands.
    pub created: String,
    pub priority: Priority,
    pub context: Option<String>,
    pub workflow: Option<String>,
    pub step: Option<u64>,
    /// In responses: the request they answer.
    pub request_id: Option<String>,
    pub duration_seconds: Option<u64>,
    pub error: Option<String>,
    /// Scalar fields of others, in the order they were found.
    pub extra: Vec<(String, String)>,
    pub body: String,
    pub doubts: Vec<String>,
}

pub(super) const OWN: [&str; 12] = [
    "id",
    "from",
    "to",
    "status",
    "created",
    "priority",
    "context",
    "workflow",
    "step",
    "request_id",
    "duration_seconds",
    "error",
];

/// The bytes of a new message, in the order of the seed.
pub fn render(task: &Task) -> String {
    let mut out = String::with_capacity(task.body.len() + 256);
    let mut line = |key: &str, value: &str| {
        out.push_str(key);
        out.push_str(": ");
        out.push_str(value);
        out.push('\n');
    };
    line("---\nid", &yaml::scalar(&task.id));
    if let Some(id) = &task.request_id {
        line("request_id", &yaml::scalar(id));
    }
    line("from", &yaml::scalar(&task.from));
    line("to", &yaml::scalar(&task.to));
    if task.priority != Priority::Normal {
        line("priority", task.priority.word());
    }
    line("status", task.status.word());
    line("created", &yaml::scalar(&task.created));
    for (key, value) in [("context", &task.context), ("workflow", &task.workflow)] {
        if let Some(value) = value {
            line(key, &yaml::scalar(value));
        }
    }
    for (key, value) in [("step", task.step), ("duration_seconds", task.duration_seconds)] {
        if let Some(value) = value {
            line(key, &value.to_string());
        }
    }
    if let Some(error) = &task.error {
        line("error", &yaml::scalar(error));
    }
    for (key, value) in &task.extra {
        line(key, &yaml::scalar(value));
    }
    out.push_str("---\n\n");
    out.push_str(&task.body);
    out
}

/// Reads a message.
pub fn parse(bytes: &[u8]) -> Result<Task, ParseError> {
    let split = frontmatter::split(frontmatter::text(bytes)?)?;
    let fields = yaml::fields(split.header)?;
    let find = |key: &str| fields.iter().find(|f| f.key == key);
    let text = |key: &str| {
        let value = find(key).and_then(Field::text).map(|v| v.trim().to_owned());
        value.filter(|v| !v.is_empty())
    };
    let need = |key: &'static str| text(key).ok_or(ParseError::Missing { field: key });
    let number = |key: &str| match (find(key), text(key)) {
        (Some(field), Some(value)) => {
            value.parse::<u64>().map(Some).map_err(|_| bad(field, "not a whole number"))
        }
        _ => Ok(None),
    };
    let status = need("status")?;
    let status = Status::parse(&status).ok_or_else(|| {
        complain(find("status"), "status", "not one of pending, in_progress, completed, failed")
    })?;
    let priority = match text("priority") {
        None => Priority::Normal,
        Some(word) => Priority::parse(&word)
            .ok_or_else(|| complain(find("priority"), "priority", "not one of low, normal, high, urgent"))?,
    };
    let created = need("created")?;
    if Timestamp::parse(&created).is_none() {
        return Err(complain(find("created"), "created", "not a time in ISO 8601 with a zone"));
    }
    // What names a message must be able to stand on a line of its own, wherever it goes from here.
    for key in ["id", "request_id"] {
        if let (Some(field), Some(value)) = (find(key), text(key)) {
            MessageId::found(&value).map_err(|why| bad(field, &why.to_string()))?;
        }
    }
    Ok(Task {
        id: need("id")?,
        from: need("from")?,
        to: need("to")?,
        status,
        created,
        priority,
        context: text("context"),
        workflow: text("workflow"),
        step: number("step")?,
        request_id: text("request_id"),
        duration_seconds: number("duration_seconds")?,
        error: text("error"),
        extra: fields
            .iter()
            .filter(|f| !OWN.contains(&f.key.as_str()))
            .filter(|f| f.value.is_some())
            .map(|f| (f.key.clone(), f.text().unwrap_or_default().to_owned()))
            .collect(),
        body: split.body.to_owned(),
        doubts: vec![],
    })
}

/// The whole text with another status, and every other byte as it was.
pub fn set_status(text: &str, status: Status) -> Result<String, ParseError> {
    let split = frontmatter::split(text)?;
    let changed =
        yaml::set(split.header, "status", status.word())?.ok_or(ParseError::Missing { field: "status" })?;
    // The header is a part of the text, so its place is where it lies in it.
    let start = split.header.as_ptr() as usize - text.as_ptr() as usize;
    Ok(format!("{}{changed}{}", &text[..start], &text[start + split.header.len()..]))
}

/// The whole text with another status and, where it can be written, what went wrong. The status is what counts: where the
/// `error` that is there cannot be changed in place, it stays.
pub fn change(text: &str, status: Status, error: Option<&str>) -> Result<String, ParseError> {
    let changed = set_status(text, status)?;
    match error.map(|error| shared::set(&changed, "error", error)) {
        Some(Ok(with_error)) => Ok(with_error),
        _ => Ok(changed),
    }
}

fn complain(field: Option<&Field>, key: &str, why: &str) -> ParseError {
    field.map_or_else(
        || ParseError::BadValue { line: 0, field: key.to_owned(), why: why.to_owned() },
        |f| bad(f, why),
    )
}

fn bad(field: &Field, why: &str) -> ParseError {
    ParseError::BadValue { line: field.line, field: field.key.clone(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request of the seed, comments and all.
    const SEED: &str = "---\nid: 2025-01-01-001\nfrom: explore\nto: skill-writer\npriority: normal # low | normal | high | urgent\n\
        status: pending # pending | in_progress | completed | failed\ncreated: 2025-01-01T12:00:00Z\n\
        context: \"Creating skill from exploration findings\"\nworkflow: create-skill-from-research\nstep: 2\n---\n\n## Request\n\nCreate a skill.\n";

    #[test]
    fn the_seed_s_own_message_is_read() {
        let task = parse(SEED.as_bytes()).unwrap();
        assert_eq!((task.id.as_str(), task.status, task.step), ("2025-01-01-001", Status::Pending, Some(2)));
        assert_eq!(task.context.as_deref(), Some("Creating skill from exploration findings"));
    }

    #[test]
    fn a_status_changes_and_nothing_else() {
        for text in [SEED.to_owned(), SEED.replace('\n', "\r\n"), format!("\u{feff}{SEED}")] {
            let changed = set_status(&text, Status::InProgress).unwrap();
            assert_eq!(changed, text.replacen("status: pending", "status: in_progress", 1));
        }
    }

    #[test]
    fn an_error_is_added_or_set_and_never_in_the_way() {
        let changed = change(SEED, Status::Failed, Some("exit 1: \"no\"\nat all")).unwrap();
        let failed = SEED.replacen("status: pending", "status: failed", 1);
        let error = "error: \"exit 1: \\\"no\\\"\\nat all\"\n";
        assert_eq!(changed, failed.replacen("step: 2\n", &format!("step: 2\n{error}"), 1));
        let again = change(&changed, Status::Failed, Some("other")).unwrap();
        assert_eq!(again, changed.replacen(error, "error: \"other\"\n", 1));
        let block = SEED.replacen("step: 2\n", "error: |\n  long\nstep: 2\n", 1);
        let kept = change(&block, Status::Failed, Some("x")).unwrap();
        assert_eq!(kept, block.replacen("status: pending", "status: failed", 1));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut task = parse(SEED.as_bytes()).unwrap();
        task.priority = Priority::Urgent;
        task.error = Some("it said: \"no\" #1".into());
        task.extra = vec![("channel".into(), "a: b".into())];
        assert_eq!(parse(render(&task).as_bytes()).unwrap(), task);
    }

    #[test]
    fn errors_name_line_and_field() {
        let error = |from: &str, to: &str| parse(SEED.replace(from, to).as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error("status: pending", "status: waiting"),
            "line 6: `status`: not one of pending, in_progress, completed, failed"
        );
        assert_eq!(
            error("priority: normal", "priority: high!"),
            "line 5: `priority`: not one of low, normal, high, urgent"
        );
        assert_eq!(error("step: 2", "step: two"), "line 10: `step`: not a whole number");
        assert_eq!(error("to: skill-writer\n", ""), "the field `to` is missing");
        assert_eq!(error("from: explore", "id: x"), "line 3: the field `id` is there twice");
        assert_eq!(
            error("2025-01-01T12:00:00Z", "yesterday"),
            "line 7: `created`: not a time in ISO 8601 with a zone"
        );
    }
}
