//! The person's own settings: the file `postroom.toml` in the directory of the person's configuration. Pure.
//!
//! They say how the person is told what happened. No project and no room can set this: it runs a command without asking.

use std::time::Duration;

use serde::Deserialize;

use super::Error;
use super::agents::span_of;

/// The content of the person's file.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Personal {
    pub notify: Option<Notify>,
}

/// How the person is told, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Notify {
    pub preset: Option<NotifyPreset>,
    /// The program and its arguments, instead of a preset.
    pub command: Vec<String>,
    pub events: Vec<NotifyEvent>,
    /// How long the command may take.
    #[serde(deserialize_with = "span_of")]
    pub time_limit: Duration,
}

impl Default for Notify {
    fn default() -> Self {
        let time_limit = Duration::from_secs(10);
        Self { preset: None, command: vec![], events: NotifyEvent::ALL.to_vec(), time_limit }
    }
}

/// A command that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum NotifyPreset {
    #[serde(rename = "notify-send")]
    NotifySend,
    #[serde(rename = "bell")]
    Bell,
}

/// What the person can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyEvent {
    /// Mail for the person.
    Mail,
    /// A run waits for the person's approval.
    Gate,
    /// A message was given up.
    Failed,
    /// A message waits for the person: its thread had too many runs.
    Parked,
    /// A workflow run failed.
    Workflow,
    /// An agent is not started for a while.
    Paused,
    /// A dispatcher ended without being stopped.
    Dispatcher,
}

impl NotifyEvent {
    pub const ALL: [Self; 7] =
        [Self::Mail, Self::Gate, Self::Failed, Self::Parked, Self::Workflow, Self::Paused, Self::Dispatcher];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Gate => "gate",
            Self::Failed => "failed",
            Self::Parked => "parked",
            Self::Workflow => "workflow",
            Self::Paused => "paused",
            Self::Dispatcher => "dispatcher",
        }
    }
}

impl Personal {
    pub fn parse(text: &str, path: &str) -> Result<Self, Error> {
        let wrong = |why: String| Error::Toml { path: path.to_owned(), why };
        let personal: Self = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        let twice = |notify: &Notify| notify.preset.is_some() != notify.command.is_empty();
        if personal.notify.as_ref().is_some_and(twice) {
            return Err(wrong("[notify] has either a `preset` or a `command`".to_owned()));
        }
        Ok(personal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_by_a_preset_or_a_command() {
        let parse = |text: &str| Personal::parse(text, "f");
        assert_eq!(parse("").unwrap().notify, None);
        let bell = parse("[notify]\npreset = \"bell\"\n").unwrap().notify.unwrap();
        assert_eq!((bell.preset, bell.events.len()), (Some(NotifyPreset::Bell), 7));
        let own = parse("[notify]\ncommand = [\"x\"]\nevents = [\"gate\"]\ntime_limit = \"2s\"\n").unwrap();
        let own = own.notify.unwrap();
        assert_eq!((own.events, own.time_limit.as_secs()), (vec![NotifyEvent::Gate], 2));
        for wrong in [
            "[notify]\n",
            "[notify]\npreset = \"bell\"\ncommand = [\"x\"]\n",
            "[notify]\npreset = \"gong\"\n",
            "[notify]\npreset = \"bell\"\nevents = [\"rain\"]\n",
            "[limits]\n",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn neither_a_project_nor_a_room_says_how_the_person_is_told() {
        let text = "[notify]\ncommand = [\"x\"]\n";
        assert!(super::super::Project::parse(text, "f").is_err());
        assert!(super::super::RoomSettings::parse(text, "f").is_err());
    }
}
