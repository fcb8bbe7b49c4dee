//! Arrival: judges what comes from the network, and delivers what is let in.
//!
//! [`judge`] is pure: signature, rooms, key and age decide. What is not let in goes to quarantine and changes nothing else. A
//! letter that is let in is delivered by the verbs of every other letter; its outcome is a receipt for its sender, or *later*.

use std::collections::BTreeMap;
use std::time::Duration;

use super::aging::EXPIRY;
use super::keys::PublicKey;
use super::parcel::{
    Address, Content, LetterContent, ObjectRef, Parcel, ReceiptItem, ReceiptState, letter_key,
};
use super::subjects;
use crate::clock::Timestamp;
use crate::mailbox;
use crate::mailbox::attachments::FileToSend;
use crate::message::envelope::folded;
use crate::message::{Attachment, visible};
use crate::name::{MailboxId, MessageId, RoomName};
use crate::network::{self, NetworkName};
use crate::post::{CarriedLetter, Error, Letter, Outcome, Post};

/// How far clocks of two machines may differ.
const CLOCKS: Duration = Duration::from_secs(2 * 24 * 3600);

/// The longest address and the longest key of a letter, which are remembered while others come.
const ADDRESS: usize = 256;
const KEY: usize = 512;

/// The most fields of a letter that are taken over.
const FIELDS: usize = 64;

/// What came, as it came.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    pub(super) subject: String,
    pub(super) signature: String,
    pub(super) payload: Vec<u8>,
}

/// A parcel of an accepted room.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) room: RoomName,
    pub(super) parcel: Parcel,
}

/// Why a parcel is not let in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) room: String,
    pub(super) why: String,
    /// It may be let in once its room is accepted.
    pub(super) may_be_accepted: bool,
}

/// Decides whether a parcel is let in. `own`: the name of this room.
pub(super) fn judge(
    network: &NetworkName,
    own: &str,
    peers: &BTreeMap<String, PublicKey>,
    incoming: &Incoming,
    now: Timestamp,
) -> Result<Admitted, Refusal> {
    let Some((from, to)) = subjects::parties(network, &incoming.subject) else {
        return Err(refusal("", "its subject names no room"));
    };
    let refuse = |why: &str| refusal(from, why);
    let Ok(room) = network::network_room(from) else { return Err(refuse("its room has no valid name")) };
    if to != own {
        return Err(refuse("it is for another room"));
    }
    let parcel = Parcel::parse(&incoming.payload)
        .map_err(|why| refuse(&format!("it is no parcel: {}", visible::clip(&why, 120))))?;
    if parcel.network != *network {
        return Err(refuse("it is for another network"));
    }
    if parcel.to_room != own {
        return Err(refuse("it is for another room"));
    }
    if parcel.from_room != from {
        return Err(refuse("it came from another room than it says"));
    }
    if incoming.signature.is_empty() {
        return Err(refuse("it is not signed"));
    }
    let Some(key) = peers.get(from) else {
        return Err(Refusal { may_be_accepted: true, ..refuse("its room is not accepted here") });
    };
    let address = Address { network, from, to, key: &parcel.key };
    if !key.has_signed(&address, &incoming.payload, &incoming.signature) {
        return Err(refuse("its signature is not that of its room"));
    }
    if let Content::Letter(letter) = &parcel.content {
        if parcel.key != letter_key(&letter.id, &letter.to) {
            return Err(refuse("its key is not that of its letter"));
        }
        // What is older was given up by its sender; it is a replay, or a server that was away for long.
        let at = Timestamp::parse(&parcel.at).ok_or_else(|| refuse("it has no time"))?;
        if now.since(at) > 2 * EXPIRY + CLOCKS {
            return Err(refuse("it is too old, and may be a replay"));
        }
        check(letter).map_err(|why| refuse(&why))?;
    }
    Ok(Admitted { room, parcel })
}

fn refusal(room: &str, why: &str) -> Refusal {
    Refusal { room: room.to_owned(), why: why.to_owned(), may_be_accepted: false }
}

/// Refuses a letter with values that are none: an id or a sender that could be a path, too many fields.
fn check(letter: &LetterContent) -> Result<(), String> {
    MessageId::parse_strict(&letter.id).map_err(|e| format!("its id is not valid: {e}"))?;
    MailboxId::parse(&letter.from).map_err(|e| format!("its sender is not valid: {e}"))?;
    if let Some(id) = &letter.reply_to {
        MessageId::parse_lenient(id).map_err(|e| format!("what it answers is not valid: {e}"))?;
    }
    if letter.to.len() > ADDRESS {
        return Err("its recipient is too long".to_owned());
    }
    if letter.after.as_ref().is_some_and(|after| after.len() > KEY) {
        return Err("the letter before it has too long a key".to_owned());
    }
    if letter.extra.len() > FIELDS || letter.file.len() > 255 {
        return Err("it has too many fields".to_owned());
    }
    Ok(())
}

/// The objects that a letter needs: the body, if it is one, and the attachments. An error if a limit of the room forbids one.
pub(super) fn objects(post: &Post, letter: &LetterContent) -> Result<Vec<ObjectRef>, String> {
    let limits = post.room().limits();
    let files = attachments(letter);
    if files.len() > limits.attachments {
        return Err(format!("it has more than {} attachments", limits.attachments));
    }
    let mut wanted = vec![];
    for (size, sha256, limit) in letter
        .large
        .iter()
        .map(|large| (large.size, large.sha256.clone(), limits.body_bytes))
        .chain(files.into_iter().map(|file| (file.size, file.sha256, limits.attachment_bytes)))
    {
        if size > limit {
            return Err(format!("it has a part of {size} bytes; the limit of the room is {limit}"));
        }
        wanted.push(ObjectRef { sha256, size });
    }
    Ok(wanted)
}

fn attachments(letter: &LetterContent) -> Vec<Attachment> {
    letter.extra.iter().filter_map(|(key, value)| Attachment::parse(key, value)).collect()
}

/// What became of a delivery.
#[derive(Debug)]
pub(super) enum Delivered {
    /// It is in the mailbox, and durable; or it cannot be. The receipt says which.
    Receipt(ReceiptItem),
    /// The disk failed; it is tried again.
    Later(String),
}

/// Delivers a letter with the objects it needs, in the order of [`objects`]. `before`: it may be here already.
pub(super) fn deliver(
    post: &Post,
    network: &NetworkName,
    room: &RoomName,
    content: &LetterContent,
    mut objects: Vec<Vec<u8>>,
    before: bool,
) -> Delivered {
    let failed = |why: String| Delivered::Receipt(receipt(content, ReceiptState::Failed, &why));
    let body = match &content.large {
        Some(_) if objects.is_empty() => return Delivered::Later("its body is missing".to_owned()),
        Some(_) => match String::from_utf8(objects.remove(0)) {
            Ok(body) => body,
            Err(_) => return failed("its body is not UTF-8".to_owned()),
        },
        None => content.body.clone(),
    };
    let (Ok(id), Ok(from)) = (MessageId::parse_strict(&content.id), MailboxId::parse(&content.from)) else {
        return failed("its id or its sender is not valid".to_owned());
    };
    let files = attachments(content).into_iter().zip(objects);
    let letter = Letter {
        subject: Some(folded(&content.subject)),
        body,
        priority: content.priority,
        channel: content.channel.as_deref().map(folded),
        reply_to: content.reply_to.as_ref().and_then(|id| MessageId::parse_lenient(id).ok()),
        extra: content.extra.iter().map(|(key, value)| (folded(key), folded(value))).collect(),
        files: files.map(|(attachment, bytes)| FileToSend { attachment, bytes: bytes.into() }).collect(),
        ..Letter::default()
    };
    let carried = CarriedLetter {
        network: network.clone(),
        room: room.clone(),
        from,
        to: content.to.clone(),
        id,
        letter,
        maybe_before: before,
    };
    let outcome = post.deliver_carried(&carried).map(|receipt| receipt.outcome);
    match outcome {
        Ok(Outcome::Queued | Outcome::Already(_)) => {
            Delivered::Receipt(receipt(content, ReceiptState::Delivered, ""))
        }
        Ok(Outcome::Unproven(why)) => Delivered::Later(why),
        // Without the path, which is nobody's business there.
        Ok(Outcome::Failed(Error::IdTaken { .. })) | Err(Error::IdTaken { .. }) => {
            failed("another message with its id is there; send it again under a new one".to_owned())
        }
        Ok(Outcome::Failed(e)) | Err(e) if is_final(&e) => failed(e.to_string()),
        Ok(Outcome::Failed(e)) | Err(e) => Delivered::Later(e.to_string()),
    }
}

/// Whether a later try would meet the same error.
fn is_final(e: &Error) -> bool {
    matches!(
        e,
        Error::UnknownName { .. }
            | Error::NoMailbox { .. }
            | Error::BadName { .. }
            | Error::BadValue { .. }
            | Error::Full { .. }
            | Error::BodyTooLarge { .. }
            | Error::FileTooLarge { .. }
            | Error::TooManyFiles { .. }
            | Error::NoPlace { .. }
    ) || matches!(e, Error::Disk(mailbox::Error::Unwritable(_) | mailbox::Error::Content { .. }))
}

pub(super) fn receipt(letter: &LetterContent, state: ReceiptState, why: &str) -> ReceiptItem {
    let LetterContent { id, to, file, .. } = letter;
    ReceiptItem { id: id.clone(), to: to.clone(), file: file.clone(), state, why: visible::clip(why, 300) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::courier::keys::RoomKey;
    use crate::message::Priority;

    fn letter(id: &str) -> LetterContent {
        LetterContent {
            id: id.to_owned(),
            from: "bob-1".to_owned(),
            from_name: "bob".to_owned(),
            to: "eve-1".to_owned(),
            file: "f.md".to_owned(),
            subject: "s".to_owned(),
            priority: Priority::Normal,
            channel: None,
            reply_to: None,
            extra: vec![],
            body: "text\n".to_owned(),
            large: None,
            after: None,
        }
    }

    const ID: &str = "0193d7a0-0000-7000-8000-000000000001";

    struct Scene {
        team: NetworkName,
        key: RoomKey,
        peers: BTreeMap<String, PublicKey>,
        now: Timestamp,
    }

    impl Scene {
        fn new() -> Self {
            let key = RoomKey::from_seed(&[1; 32]).unwrap();
            let peers = BTreeMap::from([
                ("laptop".to_owned(), key.public()),
                ("third".to_owned(), RoomKey::from_seed(&[3; 32]).unwrap().public()),
            ]);
            Self {
                team: NetworkName::parse("team").unwrap(),
                key,
                peers,
                now: Timestamp::from_parts(1_800_000_000, 0),
            }
        }

        fn sent(&self, letter: LetterContent, (from, to): (&str, &str), at: Timestamp) -> Incoming {
            let key = letter_key(&letter.id, &letter.to);
            let address = Address { network: &self.team, from, to, key: &key };
            let payload = Parcel::new(&address, at, Content::Letter(Box::new(letter))).bytes();
            let signature = self.key.sign(&address, &payload);
            Incoming { subject: subjects::mail(&self.team, to, from), signature, payload }
        }

        fn why(&self, incoming: &Incoming) -> String {
            match judge(&self.team, "build", &self.peers, incoming, self.now) {
                Ok(_) => "let in".to_owned(),
                Err(refusal) => refusal.why,
            }
        }
    }

    #[test]
    fn only_signed_parcels_of_accepted_rooms_for_this_room_are_let_in() {
        let scene = Scene::new();
        let good = scene.sent(letter(ID), ("laptop", "build"), scene.now);
        assert_eq!(scene.why(&good), "let in");
        let stranger = scene.sent(letter(ID), ("stranger", "build"), scene.now);
        let refused = judge(&scene.team, "build", &scene.peers, &stranger, scene.now).unwrap_err();
        assert!(refused.may_be_accepted && refused.room == "stranger", "{refused:?}");
        let mut altered = good.clone();
        let at = altered.payload.windows(4).position(|part| part == b"text").unwrap();
        altered.payload[at] = b'T';
        assert_eq!(scene.why(&altered), "its signature is not that of its room");
        assert_eq!(scene.why(&Incoming { signature: String::new(), ..good.clone() }), "it is not signed");
        // Another room's signature: the key that signed is not that of the room it says it is.
        let forged = scene.sent(letter(ID), ("third", "build"), scene.now);
        assert_eq!(scene.why(&forged), "its signature is not that of its room");
        // A parcel of another room, sent on by a room with valid credentials.
        let relayed = Incoming { subject: subjects::mail(&scene.team, "build", "third"), ..good.clone() };
        assert_eq!(scene.why(&relayed), "it came from another room than it says");
        let elsewhere = scene.sent(letter(ID), ("laptop", "main"), scene.now);
        let misdirected = Incoming { subject: good.subject.clone(), ..elsewhere };
        assert_eq!(scene.why(&misdirected), "it is for another room");
        let long_ago = scene.now.minus(Duration::from_secs(40 * 24 * 3600));
        let old = scene.sent(letter(ID), ("laptop", "build"), long_ago);
        assert_eq!(scene.why(&old), "it is too old, and may be a replay");
        let hour = Duration::from_secs(3600);
        for at in [scene.now.minus(hour), scene.now.plus(hour)] {
            assert_eq!(scene.why(&scene.sent(letter(ID), ("laptop", "build"), at)), "let in");
        }
        for bad in ["../../etc/passwd", "", "a b", "short"] {
            let why = scene.why(&scene.sent(letter(bad), ("laptop", "build"), scene.now));
            assert!(why.starts_with("its id is not valid"), "{bad}: {why}");
        }
        let path = LetterContent { from: "../x".to_owned(), ..letter(ID) };
        assert!(scene.why(&scene.sent(path, ("laptop", "build"), scene.now)).starts_with("its sender"));
        let far = LetterContent { to: "x".repeat(257), ..letter(ID) };
        assert_eq!(scene.why(&scene.sent(far, ("laptop", "build"), scene.now)), "its recipient is too long");
        let behind = LetterContent { after: Some("x".repeat(513)), ..letter(ID) };
        let why = scene.why(&scene.sent(behind, ("laptop", "build"), scene.now));
        assert_eq!(why, "the letter before it has too long a key");
        for payload in [b"".as_slice(), b"{}", b"\xff\xff", b"[[[[[[[["] {
            let why = scene.why(&Incoming { payload: payload.to_vec(), ..good.clone() });
            assert!(why.starts_with("it is no parcel"), "{why}");
        }
    }
}
