//! The three protocols, distinguished by the keys of a message, wherever it is stored.

use super::frontmatter::{self, ParseError};

/// Which protocol a message is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    Maildir,
    Workspace,
    Tree,
}

impl Protocol {
    pub const ALL: [Self; 3] = [Self::Maildir, Self::Workspace, Self::Tree];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Maildir => "maildir",
            Self::Workspace => "workspace",
            Self::Tree => "tree",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.as_str() == text)
    }

    /// The protocol by the keys of a header, in any case; maildir if they do not tell, because that is the native one.
    pub(super) fn of_header(header: &str) -> Self {
        let keys: Vec<&str> = header.lines().filter_map(key).collect();
        let has = |key: &str| keys.iter().any(|found| found.eq_ignore_ascii_case(key));
        let exact = |key: &str| keys.contains(&key);
        // A response of a tree also has a `request_id`, and a task may have any other field.
        let is_request = has("REQUEST_ID") && has("MESSAGE_TYPE") && !has("id") && !has("status");
        if exact("REQUEST_ID") || exact("MESSAGE_TYPE") || is_request {
            return Self::Workspace;
        }
        // A task that came from a native mailbox also has the id from there.
        match (has("id"), has("status"), has("msg_id")) {
            (true, true, true) if has("created") => Self::Tree,
            (_, _, true) => Self::Maildir,
            (true, ..) | (_, true, _) => Self::Tree,
            _ => Self::Maildir,
        }
    }
}

/// The key of a line. In YAML it may be quoted, and have spaces before its colon.
fn key(line: &str) -> Option<&str> {
    let line = line.strip_prefix(['"', '\'']).unwrap_or(line);
    let (key, _) = line.split_once(':')?;
    Some(key.trim_end_matches(['"', '\'', ' ']))
}

/// The protocol of a file, and whether it is a valid message; if so, the guesses that a reader has to make.
pub fn verify(bytes: &[u8]) -> (Option<Protocol>, Result<Vec<String>, ParseError>) {
    let split = match frontmatter::text(bytes).and_then(frontmatter::split_message) {
        Ok((split, _)) => split,
        Err(e) => return (None, Err(e)),
    };
    let doubts = super::any::parse(bytes).map(|message| message.envelope.doubts);
    (Some(Protocol::of_header(split.header)), doubts)
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
        assert_eq!(of("---\nrequest_id: a\nMessage_Type: NEW\n---\n"), Some(Protocol::Workspace));
        assert_eq!(
            of("---\nID: a\nStatus: done\nrequest_id: b\nmessage_type: x\n---\n"),
            Some(Protocol::Tree)
        );
        assert_eq!(of("\n---\nSTATUS: pending\n---\n"), Some(Protocol::Tree));
        assert_eq!(of("no frontmatter"), None);
    }
}
