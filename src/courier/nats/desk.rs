//! The desk: what the two directions share, behind one lock. All of it is synchronous; the connection calls it on blocking
//! threads.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::contact::Contact;
use super::super::keys::PublicKey;
use super::super::later::Later;
use super::super::member::Member;
use super::super::outgoing::Outgoing;
use super::super::parcel::{Address, Content, Parcel, ReceiptItem};
use super::super::received::Received;
use super::super::refused::Refused;
use super::super::{Result, names, run_lock, subjects};
use super::held::HeldBack;
use crate::clock::{Clock, Timestamp};
use crate::mailbox::Dir;
use crate::mailbox::lock::Lock;
use crate::name::RoomName;
use crate::network;
use crate::post::{Caller, Post};

/// What a server takes unless it says otherwise.
const LARGEST: usize = 1024 * 1024;

/// The pair of a sender and a recipient, with the room of the other side.
pub(super) type Pair = (String, String, String);

#[derive(Debug)]
pub(super) struct Desk {
    pub(super) root: PathBuf,
    pub(super) caller: Caller,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) member: Member,
    pub(super) courier: Dir,
    state: Mutex<State>,
    _lock: Lock,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) received: Received,
    pub(super) refused: Refused,
    pub(super) later: Later,
    pub(super) contact: Contact,
    /// The last letter of each pair that is with the server and has no receipt.
    pub(super) tails: HashMap<Pair, String>,
    /// Letters that this process settled: in their mailbox, or refused for good.
    pub(super) settled: HashSet<(String, String)>,
    /// Pairs whose next letter could not be delivered yet: those behind it wait too.
    pub(super) blocked: HashMap<Pair, String>,
    /// Letters that wait for the one before them.
    pub(super) held: HeldBack,
    /// The longest message that the server takes.
    pub(super) largest: usize,
    /// For letters that are sent again: the one before each.
    pub(super) after: HashMap<String, Option<String>>,
    /// Keys that are to be sent again, by room.
    pub(super) again: HashMap<String, HashSet<String>>,
    /// When old mail for a room is looked at again.
    pub(super) due: HashMap<String, Timestamp>,
    /// Keys that nobody should wait for, by room.
    pub(super) skip: HashMap<String, Vec<String>>,
}

/// A parcel, ready for the server.
#[derive(Debug, Clone)]
pub(super) struct Sealed {
    pub(super) subject: String,
    pub(super) key: String,
    pub(super) signature: String,
    pub(super) payload: Vec<u8>,
}

impl Desk {
    pub(super) fn open(
        root: PathBuf,
        caller: Caller,
        clock: Arc<dyn Clock>,
        member: Member,
    ) -> Result<Arc<Self>> {
        let room = Dir::open(&root)?;
        let courier = room.create_dir_synced(network::FOLDER)?;
        let lock = run_lock::take(&courier)?;
        let state = State {
            received: Received::open(&courier)?,
            refused: Refused::open(&courier)?,
            later: Later::load(&courier)?,
            contact: Contact::of(&courier)?,
            tails: HashMap::new(),
            settled: HashSet::new(),
            blocked: HashMap::new(),
            held: HeldBack::default(),
            largest: LARGEST,
            after: HashMap::new(),
            again: HashMap::new(),
            due: HashMap::new(),
            skip: HashMap::new(),
        };
        let state = Mutex::new(state);
        Ok(Arc::new(Self { root, caller, clock, member, courier, state, _lock: lock }))
    }

    /// The room as it is now.
    pub(super) fn post(&self) -> Result<Post> {
        Ok(Post::open(&self.root, self.caller.clone(), Arc::clone(&self.clock))?)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The accepted rooms and their keys, as the person has them now.
    pub(super) fn peers(&self) -> Result<BTreeMap<String, PublicKey>> {
        self.member.peers()
    }

    /// The rooms that mail may go to: accepted, and none shows another key than the accepted one.
    pub(super) fn open_rooms(&self) -> Result<Vec<String>> {
        let mut rooms = vec![];
        for (room, accepted) in self.peers()? {
            let Ok(name) = network::network_room(&room) else { continue };
            if !names::shows_other_key(&self.root, &self.member.network, &name, &accepted)? {
                rooms.push(room);
            }
        }
        Ok(rooms)
    }

    /// The accepted rooms that are known here, with the mail on its way to each.
    pub(super) fn outgoing<'a>(&self, post: &'a Post) -> Result<Vec<Outgoing<'a>>> {
        let accepted = self.peers()?;
        let mut all = self.outgoing_to_all(post)?;
        all.retain(|outgoing| accepted.contains_key(outgoing.room.as_str()));
        Ok(all)
    }

    /// The mail on its way to each room that is known here, accepted or not.
    pub(super) fn outgoing_to_all<'a>(&self, post: &'a Post) -> Result<Vec<Outgoing<'a>>> {
        let mut all = vec![];
        for room in network::peers(&self.root, &self.member.network).map_err(crate::post::Error::from)? {
            all.extend(Outgoing::of(post, &self.member.network, &room)?);
        }
        Ok(all)
    }

    /// Signs content for a room.
    pub(super) fn seal(&self, to: &str, key: &str, content: Content) -> Sealed {
        let Member { network, room, key: own, .. } = &self.member;
        let address = Address { network, from: room.as_str(), to, key };
        let payload = Parcel::new(&address, self.clock.now(), content).bytes();
        let signature = own.sign(&address, &payload);
        let subject = subjects::mail(network, to, room.as_str());
        Sealed { subject, key: key.to_owned(), signature, payload }
    }

    /// Receipts for a room, in parcels.
    pub(super) fn seal_receipts(&self, room: &str, items: &[ReceiptItem]) -> Vec<Sealed> {
        let part = |items: &[ReceiptItem]| {
            let key = format!("receipts/{}", crate::random::unique_hex());
            self.seal(room, &key, Content::Receipts(items.to_vec()))
        };
        items.chunks(super::super::parcel::RECEIPTS).map(part).collect()
    }

    /// Changes what is kept for those who look on.
    pub(super) fn note(&self, change: impl FnOnce(&mut Contact)) {
        let mut state = self.state();
        let before = state.contact.clone();
        change(&mut state.contact);
        if state.contact != before {
            // Only shown: a full disk must not stop the mail.
            let _ = state.contact.keep(&self.courier);
        }
    }

    /// The directories whose changes are news for the courier.
    pub(super) fn watched(&self) -> Result<Vec<PathBuf>> {
        let post = self.post()?;
        let mut dirs = vec![self.root.clone(), self.courier.path().to_owned()];
        let journal = self.root.join(crate::journal::FOLDER);
        dirs.extend(journal.is_dir().then_some(journal));
        for outgoing in self.outgoing(&post)? {
            dirs.extend(outgoing.watched()?);
        }
        Ok(dirs)
    }

    pub(super) fn room(&self) -> &RoomName {
        &self.member.room
    }
}
