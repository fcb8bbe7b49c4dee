//! Subjects, streams and buckets of a network. Pure.
//!
//! Each room owns the stream and the object bucket with its name, and its key in the bucket of names. It writes to others only
//! under subjects that end with its own name. So permissions of the server can confine a room to its own mail
//! (docs/guides/courier.md).

use crate::network::NetworkName;

/// The stream with the mail for a room.
pub(super) fn stream(network: &NetworkName, room: &str) -> String {
    format!("POSTROOM_{network}_{room}")
}

/// Where mail from one room to another is published.
pub(super) fn mail(network: &NetworkName, to: &str, from: &str) -> String {
    format!("postroom.{network}.mail.{to}.{from}")
}

/// All mail for a room.
pub(super) fn all_mail(network: &NetworkName, to: &str) -> String {
    format!("postroom.{network}.mail.{to}.*")
}

/// The sender and the recipient that a subject names.
pub(super) fn parties<'a>(network: &NetworkName, subject: &'a str) -> Option<(&'a str, &'a str)> {
    let rest = subject.strip_prefix(&format!("postroom.{network}.mail."))?;
    let (to, from) = rest.split_once('.')?;
    (!from.contains('.')).then_some((from, to))
}

/// The bucket of names.
pub(super) fn names(network: &NetworkName) -> String {
    format!("postroom_{network}")
}

/// The bucket with large bodies and attachments for a room.
pub(super) fn objects(network: &NetworkName, room: &str) -> String {
    format!("postroom_{network}_{room}")
}

/// The prefix of the answers of the server to a room.
pub(super) fn inbox(network: &NetworkName, room: &str) -> String {
    format!("_INBOX_{network}_{room}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_its_sender_last() {
        let network = NetworkName::parse("team").unwrap();
        let subject = mail(&network, "build", "laptop");
        assert_eq!(parties(&network, &subject), Some(("laptop", "build")));
        assert_eq!(parties(&network, "postroom.other.mail.build.laptop"), None);
        assert_eq!(parties(&network, "postroom.team.mail.build"), None);
        assert_eq!(parties(&network, "postroom.team.mail.build.laptop.x"), None);
    }
}
