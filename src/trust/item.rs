//! An item: one thing that can be trusted, and the lines that describe it.
//!
//! A fingerprint covers exactly the description. Each value in it is [`plain`] or quoted, so that no value can look
//! like another line.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::hex;

/// The key of an item in its project.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// `[dispatch]`, which applies to every agent of its file.
    Limits,
    /// `[agents.NAME]`; the name may be a pattern.
    Agent(String),
    /// An agent of a tree with a file in `.claude/agents/` and no table.
    Described(String),
    /// A workflow file, relative to the project.
    Workflow(String),
}

impl Key {
    /// Its name for people, without its kind.
    pub fn name(&self) -> &str {
        match self {
            Self::Limits => "limits",
            Self::Agent(name) | Self::Described(name) => name,
            Self::Workflow(file) => {
                let name = file.rsplit('/').next().unwrap_or(file);
                name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name)
            }
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = plain(self.name());
        match self {
            Self::Limits => f.write_str("limits"),
            Self::Agent(_) => write!(f, "agent {name}"),
            Self::Described(name) => write!(f, "agent {} ({})", plain(name), plain(&described_by(name))),
            Self::Workflow(file) => write!(f, "workflow {name} ({})", plain(file)),
        }
    }
}

fn described_by(name: &str) -> String {
    format!(".claude/agents/{name}.md")
}

/// What an item would run, for people. The fingerprint covers only the description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Limits,
    Agent {
        /// With `{room}` and `{last}` where a run inserts paths.
        command: Vec<String>,
        directory: String,
        access: &'static str,
        /// In addition to the usual ones.
        variables: Vec<String>,
        reads: Vec<String>,
    },
    Workflow {
        agents: Vec<String>,
        /// Each step that runs a command, with the command.
        commands: Vec<(String, Vec<String>)>,
        /// Why it cannot be run.
        faults: Vec<String>,
    },
}

/// One thing that can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub key: Key,
    pub what: What,
    pub description: Vec<String>,
}

impl Item {
    /// The digest of everything that decides what is run. This is what is trusted.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.key.to_string(), &self.description)
    }

    /// The lines of its table, without the files that its program reads.
    pub fn table(&self) -> impl Iterator<Item = &String> {
        self.description.iter().filter(|line| !line.starts_with("reads ") && !line.starts_with("link "))
    }
}

/// The fingerprint of an item with this key and description.
pub(super) fn fingerprint(key: &str, description: &[String]) -> String {
    let mut hash = Sha256::new();
    hash.update(key);
    for line in description {
        hash.update("\n");
        hash.update(line);
    }
    hex::of(&hash.finalize())
}

/// A word unchanged, or quoted if it could be read in another way.
pub fn plain(word: &str) -> String {
    // A dispatcher asks this for every word of every table at each look.
    let mark = |c: char| {
        matches!(c, '.' | '_' | '-' | '/' | '@' | '+' | '=' | ':' | ',' | '~' | '*' | '?' | '%' | '{' | '}')
    };
    let harmless = |c: char| c.is_ascii_alphanumeric() || mark(c) || c.is_alphanumeric();
    match !word.is_empty() && word.chars().all(harmless) {
        true => word.to_owned(),
        false => serde_json::Value::from(word).to_string(),
    }
}

/// Several words on one line.
pub(super) fn words<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    words.into_iter().map(|word| plain(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_passes_for_another_item() {
        let described = Key::Described("x".to_owned()).to_string();
        let [_, name] = described.splitn(2, ' ').collect::<Vec<_>>().try_into().unwrap();
        assert_ne!(Key::Agent(name.to_owned()).to_string(), described);
        assert_eq!(Key::Agent("a\nlimits".to_owned()).to_string(), r#"agent "a\nlimits""#);
        assert_eq!(Key::Workflow(".claude/workflows/build.yml".to_owned()).name(), "build");
    }

    #[test]
    fn no_word_passes_for_two() {
        let all = |list: &[&str]| words(&list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(all(&["sh", "-c", "a b"]), r#"sh -c "a b""#);
        assert_ne!(all(&["a b"]), all(&["a", "b"]));
        assert_ne!(all(&["\"a b\""]), all(&["a b"]));
        assert_eq!(all(&[""]), r#""""#);
    }
}
