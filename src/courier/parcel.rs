//! A parcel: what travels between two rooms, as bytes. Pure.
//!
//! It is one JSON document: an envelope of the courier (network, both rooms, key, time) and either a letter or receipts. Its
//! key is the id of the letter and its recipient, and is the message id for the server, which drops what it gets twice. A body
//! that is too long for the server, and every attachment, is an object that is named by its SHA-256.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::message::{Envelope, Priority};
use crate::name::MessageId;
use crate::network::NetworkName;

/// The header that carries the signature.
pub(super) const SIGNATURE: &str = "Postroom-Signature";

/// The most receipts in one parcel.
pub(super) const RECEIPTS: usize = 200;

/// What is signed besides the bytes of a parcel.
#[derive(Debug, Clone, Copy)]
pub struct Address<'a> {
    pub network: &'a NetworkName,
    pub from: &'a str,
    pub to: &'a str,
    pub key: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parcel {
    pub(super) v: u32,
    pub(super) network: NetworkName,
    pub(super) from_room: String,
    pub(super) to_room: String,
    pub(super) key: String,
    /// When the letter was written, or the receipts; by the clock of the sender's machine.
    pub(super) at: String,
    #[serde(flatten)]
    pub(super) content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Content {
    Letter(Box<LetterContent>),
    Receipts(Vec<ReceiptItem>),
    /// Keys of letters that will not come, or came before: nothing waits for them.
    Skip(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LetterContent {
    pub(super) id: String,
    /// The sender's mailbox and its name.
    pub(super) from: String,
    pub(super) from_name: String,
    /// The recipient's mailbox, or a name.
    pub(super) to: String,
    /// The file of the letter at its sender; receipts repeat it.
    pub(super) file: String,
    pub(super) subject: String,
    #[serde(default)]
    pub(super) priority: Priority,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reply_to: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) extra: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) body: String,
    /// The body as an object, if it is too long for a parcel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) large: Option<ObjectRef>,
    /// The key of the letter before it, from this sender to this recipient, if that has no receipt yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
}

/// Bytes that lie in the object store of the recipient's room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ObjectRef {
    pub(super) sha256: String,
    pub(super) size: u64,
}

/// What became of a letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReceiptItem {
    pub(super) id: String,
    pub(super) to: String,
    pub(super) file: String,
    pub(super) state: ReceiptState,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReceiptState {
    Delivered,
    Shown,
    Done,
    Answered,
    Failed,
    /// A later letter is here, and this one is not.
    Missing,
}

impl ReceiptState {
    /// The word of the journal.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Shown => "shown",
            Self::Done => "done",
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Missing => "missing",
        }
    }
}

/// What a letter's envelope does not say: its recipient here, the name of its sender, and its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct LetterNames<'a> {
    pub(super) to: &'a str,
    pub(super) from_name: &'a str,
    pub(super) file: &'a str,
}

/// The key of a letter.
pub(super) fn letter_key(id: &str, to: &str) -> String {
    format!("{id}/{to}")
}

impl LetterContent {
    /// The content of a letter without its body.
    pub(super) fn of(envelope: &Envelope, names: &LetterNames<'_>) -> Self {
        let LetterNames { to, from_name, file } = *names;
        Self {
            id: envelope.id.to_string(),
            from: envelope.from.as_str().to_owned(),
            from_name: from_name.to_owned(),
            to: to.to_owned(),
            file: file.to_owned(),
            subject: envelope.subject.clone(),
            priority: envelope.priority,
            channel: envelope.channel.clone(),
            reply_to: envelope.reply_to.as_ref().map(MessageId::to_string),
            extra: envelope.extra.clone(),
            body: String::new(),
            large: None,
            after: None,
        }
    }
}

impl Parcel {
    pub(super) fn new(address: &Address<'_>, at: Timestamp, content: Content) -> Self {
        Self {
            v: 1,
            network: address.network.clone(),
            from_room: address.from.to_owned(),
            to_room: address.to.to_owned(),
            key: address.key.to_owned(),
            at: at.precise(),
            content,
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let parcel: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        match parcel.v {
            1 => Ok(parcel),
            v => Err(format!("it has version {v}, which this program does not know")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_is_read_as_it_was_written() {
        let network = NetworkName::parse("team").unwrap();
        let address = Address { network: &network, from: "a", to: "b", key: "k" };
        let letter = LetterContent {
            id: "i".into(),
            from: "bob-1".into(),
            from_name: "bob".into(),
            to: "eve-1".into(),
            file: "f.md".into(),
            subject: "s".into(),
            priority: Priority::High,
            channel: None,
            reply_to: Some("q".into()),
            extra: vec![("hops".into(), "1".into())],
            body: "text\n".into(),
            large: None,
            after: None,
        };
        let item = ReceiptItem {
            id: "i".into(),
            to: "eve-1".into(),
            file: "f.md".into(),
            state: ReceiptState::Failed,
            why: "full".into(),
        };
        for content in [
            Content::Letter(Box::new(letter)),
            Content::Receipts(vec![item]),
            Content::Skip(vec!["k".into()]),
        ] {
            let parcel = Parcel::new(&address, Timestamp::from_parts(1_700_000_000, 5), content);
            assert_eq!(Parcel::parse(&parcel.bytes()).unwrap(), parcel);
        }
        for wrong in [
            "",
            "{}",
            "[1]",
            r#"{"v":2,"network":"t","from_room":"a","to_room":"b","key":"k","at":"","skip":[]}"#,
        ] {
            assert!(Parcel::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
