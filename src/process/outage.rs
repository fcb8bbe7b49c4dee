//! Outages: what keeps an agent program from working, whatever it is asked. Each program tells it in its own way, by a
//! structured event or its exit code (`presets.toml`). The text of an answer never counts.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::child::Ended;
use super::output::walk;
use super::presets::{Preset, fits};

/// Why a program cannot work now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outage {
    Login,
    Credit,
    Rate,
    Overload,
    Network,
}

impl Outage {
    /// What it is, for people.
    pub fn sentence(self, program: &str) -> String {
        match self {
            Self::Login => format!("`{program}` is not logged in; start it once by hand and log in"),
            Self::Credit => format!("the account of `{program}` has no credit left"),
            Self::Rate => format!("the provider of `{program}` limits its rate"),
            Self::Overload => format!("the provider of `{program}` is overloaded or fails"),
            Self::Network => format!("the provider of `{program}` cannot be reached"),
        }
    }

    /// Whether time alone may end it.
    pub fn passes(self) -> bool {
        !matches!(self, Self::Login | Self::Credit)
    }

    /// What an HTTP status means, if it means an outage.
    fn of_status(status: u64) -> Option<Self> {
        match status {
            401 | 403 => Some(Self::Login),
            402 => Some(Self::Credit),
            429 => Some(Self::Rate),
            500..=599 => Some(Self::Overload),
            _ => None,
        }
    }
}

/// What a line says about the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Works,
    Out(Outage),
}

/// Where a line of output tells of an outage.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageRule {
    /// Only in lines in which these fields have these values.
    #[serde(default)]
    when: BTreeMap<String, String>,
    /// The way to an HTTP status.
    #[serde(default)]
    status: Option<String>,
    /// The way to a text of the program about the error, and what parts of it mean.
    #[serde(default)]
    at: Option<String>,
    #[serde(default)]
    says: BTreeMap<String, Outage>,
    /// What the line means without them.
    #[serde(default)]
    is: Option<Outage>,
}

impl OutageRule {
    /// What a line says, where `before` was reported until now. `None`: this line says nothing about it.
    pub(super) fn find(&self, line: &Value, before: Option<Outage>) -> Option<Reach> {
        if !fits(&self.when, line) {
            return None;
        }
        if let Some(status) = self.status.as_deref().and_then(|way| walk(line, way)?.as_u64()) {
            // A provider that answers with another status can be reached.
            let reached = before.filter(|before| *before != Outage::Network);
            return Some(Outage::of_status(status).or(reached).map_or(Reach::Works, Reach::Out));
        }
        let text = self.at.as_deref().and_then(|way| walk(line, way)?.as_str());
        let said = |text: &str| self.says.iter().find(|(words, _)| text.contains(words.as_str()));
        text.and_then(said).map(|(_, outage)| *outage).or(self.is).map(Reach::Out)
    }
}

impl Preset {
    /// The outage that a failed run met.
    pub fn outage_of(&self, ended: &Ended) -> Option<Outage> {
        let told = ended.found.as_ref().ok().and_then(|found| found.outage);
        let by_code = || self.exit.get(&ended.code?.to_string()).copied();
        let at_start = ended.found.as_ref().is_ok_and(|found| found.lines == 0);
        let login = at_start && self.login.iter().any(|words| ended.errors.contains(words.as_str()));
        let silent = ended.timed_out && ended.found.as_ref().is_ok_and(|found| found.progress == 0);
        let by_login = login.then_some(Outage::Login);
        told.or_else(by_code).or(by_login).or(self.silent.filter(|_| silent))
    }
}
