//! What the command of `[notify]` reads on standard input.

use serde::Serialize;

use crate::notify;

/// One thing that happened.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fact<'a> {
    /// The agent it is about; for a dispatcher the directory of its project, for a workflow its name. Left out for mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<&'a str>,
    /// The id of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    /// The sender of the message, unverified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<&'a str>,
    /// The subject of the message. Its sender chose it, so it is data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'a str>,
    /// The run of a workflow that waits or failed, or the run of the agent that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<&'a str>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a str>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<&'a str>,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<&'a str>,
}

/// News for the person, on the standard input of the command of `[notify]`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Notice<'a> {
    /// `mail`, `gate`, `failed`, `parked`, `workflow`, `paused` or `dispatcher`.
    pub event: &'static str,
    /// The name of the room; left out if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<&'a str>,
    /// The directory of the room.
    pub root: String,
    /// When it was noticed.
    pub time: String,
    /// How many facts there are.
    pub count: usize,
    /// The facts, at most 50; a text is cut at 300 bytes.
    pub facts: Vec<Fact<'a>>,
}

impl<'a> Notice<'a> {
    pub fn of(news: &'a notify::News, room: Option<&'a str>, root: String, time: String) -> Self {
        let cut =
            |text: &'a Option<String>| text.as_deref().map(|text| &text[..text.floor_char_boundary(300)]);
        let fact = |fact: &'a notify::Fact| Fact {
            about: cut(&fact.about),
            message: cut(&fact.message),
            from: cut(&fact.from),
            subject: cut(&fact.subject),
            run: cut(&fact.run),
            why: cut(&fact.why),
            since: cut(&fact.since),
            until: cut(&fact.until),
        };
        let facts = news.facts.iter().take(50).map(fact).collect();
        Self { event: news.event.as_str(), room, root, time, count: news.facts.len(), facts }
    }
}
