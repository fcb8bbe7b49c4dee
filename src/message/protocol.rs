//! The three protocols, told apart by the keys of a message, wherever it lies.

use super::frontmatter::{self, ParseError};
use super::{maildir, tree, workspace};

/// Which protocol a message is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    Maildir,
    Workspace,
    Tree,
}

impl Protocol {
    pub const ALL: [Self; 3] = [Self::Maildir, Self::Workspace, Self::Tree];

    pub fn word(self) -> &'static str {
        match self {
            Self::Maildir => "maildir",
            Self::Workspace => "workspace",
            Self::Tree => "tree",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.word() == text)
    }

    /// What the keys of a header say; maildir if they say nothing, because that is what is native.
    pub(super) fn of_header(header: &str) -> Self {
        // In YAML a key may be quoted, and stand apart from its colon.
        let has = |key: &str| {
            header.lines().any(|line| {
                let rest = line.strip_prefix(['"', '\'']).unwrap_or(line).strip_prefix(key);
                rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
            })
        };
        if has("REQUEST_ID") || has("MESSAGE_TYPE") {
            return Self::Workspace;
        }
        // A task that came from a mailbox of the native protocol carries that one's id as well.
        match (has("id"), has("status"), has("msg_id")) {
            (true, true, true) if has("created") => Self::Tree,
            (_, _, true) => Self::Maildir,
            (true, ..) | (_, true, _) => Self::Tree,
            _ => Self::Maildir,
        }
    }
}

/// Which protocol a file is written in, and whether it is a valid message of it.
pub fn verify(bytes: &[u8]) -> (Option<Protocol>, Result<(), ParseError>) {
    let split = match frontmatter::text(bytes).and_then(frontmatter::split) {
        Ok(split) => split,
        Err(e) => return (None, Err(e)),
    };
    let protocol = Protocol::of_header(split.header);
    let valid = match protocol {
        Protocol::Maildir => maildir::parse(bytes).map(|_| ()),
        Protocol::Workspace => workspace::parse(bytes).map(|_| ()),
        Protocol::Tree => tree::parse(bytes).map(|_| ()),
    };
    (Some(protocol), valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_the_protocol() {
        let of = |text: &str| verify(text.as_bytes()).0;
        assert_eq!(of("---\nfrom: a\nmsg_id: b\n---\n"), Some(Protocol::Maildir));
        assert_eq!(of("---\nREQUEST_ID: a\n---\n"), Some(Protocol::Workspace));
        assert_eq!(of("---\nid: a\nstatus: pending\n---\n"), Some(Protocol::Tree));
        assert_eq!(of("---\n'id': a\n\"status\" : pending\n---\n"), Some(Protocol::Tree));
        assert_eq!(of("---\nidea: a\nstatuses: b\n---\n"), Some(Protocol::Maildir));
        assert_eq!(of("no frontmatter"), None);
    }
}
