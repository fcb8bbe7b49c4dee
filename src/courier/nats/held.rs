//! Letters that wait at the server until the one before them is here, and what their senders were asked for.
//!
//! A server gives out a bounded number of parcels that are not acknowledged. So only some letters of a room wait there. The others
//! are let go, because their sender keeps them; they are asked for when none waits any more. Of several copies of a letter one
//! waits: a sender without a receipt sends it again and again, and copies alone could be all that the server gives out.

use std::collections::HashMap;
use std::time::Duration;

/// How many letters of one room wait at once, and of all rooms: fewer than the server gives out, so that others still come.
const MOST: usize = 128;
const MOST_OF_ALL: usize = 384;
const _: () = assert!(MOST_OF_ALL + 64 < super::streams::IN_FLIGHT as usize);
/// How many of those that were let go are remembered. The sender itself sends the others again.
const LET_GO: usize = 5000;
/// How long nobody is asked for the same letter again.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct HeldBack {
    rooms: HashMap<String, OfRoom>,
    asked: HashMap<(String, String), Duration>,
}

#[derive(Debug, Default)]
struct OfRoom {
    /// The number of the copy that waits, by the key of the letter.
    held: HashMap<String, u64>,
    /// The keys of the letters that were let go, and their order.
    let_go: HashMap<String, usize>,
}

impl HeldBack {
    /// Another session began: the server gives out again all that waits there.
    pub(super) fn begin_anew(&mut self) {
        self.rooms.values_mut().for_each(|of| of.held.clear());
    }

    /// How many letters wait.
    pub(super) fn count(&self) -> usize {
        self.rooms.values().map(|of| of.held.len()).sum()
    }

    /// Whether this copy of a letter may wait at the server. Otherwise it is let go. `number`: that of the copy in the stream.
    pub(super) fn hold(&mut self, room: &str, key: &str, number: u64) -> bool {
        let all = self.count();
        let of = self.rooms.entry(room.to_owned()).or_default();
        if let Some(first) = of.held.get(key) {
            return *first == number;
        }
        let may_wait = of.held.len() < MOST && all < MOST_OF_ALL;
        let next = of.let_go.len();
        if may_wait {
            of.held.insert(key.to_owned(), number);
        } else if next < LET_GO {
            of.let_go.entry(key.to_owned()).or_insert(next);
        }
        may_wait
    }

    /// Whether a copy of a letter waits.
    pub(super) fn waits(&self, room: &str, key: &str) -> bool {
        self.rooms.get(room).is_some_and(|of| of.held.contains_key(key))
    }

    /// Whether a letter was let go, and will be asked for when none waits any more.
    pub(super) fn was_let_go(&self, room: &str, key: &str) -> bool {
        self.rooms.get(room).is_some_and(|of| of.let_go.contains_key(key))
    }

    /// A letter waits no more. Returns the letters to ask for now.
    pub(super) fn release(&mut self, room: &str, key: &str) -> Vec<String> {
        let Some(of) = self.rooms.get_mut(room) else { return vec![] };
        of.held.remove(key);
        if !of.held.is_empty() {
            return vec![];
        }
        let let_go = self.rooms.remove(room).map(|of| of.let_go).unwrap_or_default();
        let mut let_go: Vec<(String, usize)> = let_go.into_iter().collect();
        let_go.sort_by_key(|(_, number)| *number);
        let_go.into_iter().map(|(key, _)| key).collect()
    }

    /// Whether to ask for a letter at this time since the start of the machine.
    pub(super) fn may_ask(&mut self, room: &str, key: &str, now: Duration) -> bool {
        if self.asked.len() > LET_GO {
            self.asked.retain(|_, at| now.saturating_sub(*at) < PATIENCE);
        }
        let known = (room.to_owned(), key.to_owned());
        let is_due = self.asked.get(&known).is_none_or(|at| now.saturating_sub(*at) >= PATIENCE);
        if is_due {
            self.asked.insert(known, now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_waits_and_the_others_are_asked_for_afterwards() {
        let mut held = HeldBack::default();
        let keys: Vec<String> = (0..MOST + 3).map(|number| format!("{number}/bob")).collect();
        let all = keys.iter().zip(0..).chain([(&keys[0], 0)]);
        let waits: Vec<bool> = all.map(|(key, number)| held.hold("laptop", key, number)).collect();
        assert_eq!(waits.iter().filter(|waits| **waits).count(), MOST + 1);
        assert!(held.hold("build", "x/eve", 0), "another room has its own");
        assert!(held.waits("laptop", &keys[0]) && !held.was_let_go("laptop", &keys[0]));
        assert!(held.was_let_go("laptop", &keys[MOST]) && !held.waits("laptop", &keys[MOST]));
        for key in &keys[..MOST - 1] {
            assert!(held.release("laptop", key).is_empty());
        }
        assert_eq!(held.release("laptop", &keys[MOST - 1]), keys[MOST..]);
        assert!(held.release("laptop", &keys[0]).is_empty());
    }

    /// Copies of letters that waited took all places, and the letter that was missing stood behind them.
    #[test]
    fn of_several_copies_one_waits() {
        let mut held = HeldBack::default();
        assert!(held.hold("laptop", "1/bob", 5));
        assert!(!held.hold("laptop", "1/bob", 9), "it was sent again");
        assert!(held.hold("laptop", "1/bob", 5), "the server gives it out again");
        assert_eq!(held.count(), 1);
        assert!(held.release("laptop", "1/bob").is_empty(), "nobody is asked for the copy");
        assert!(held.hold("laptop", "1/bob", 12));
    }

    #[test]
    fn many_rooms_together_leave_the_server_some_to_give_out() {
        let mut held = HeldBack::default();
        let mut waits = 0;
        for room in 0..8 {
            for number in 0..MOST as u64 {
                waits += usize::from(held.hold(&format!("room{room}"), &format!("{number}/bob"), number));
            }
        }
        assert_eq!((waits, held.count()), (MOST_OF_ALL, MOST_OF_ALL));
        // What a room of the later ones let go is asked for when one of its letters is settled.
        assert_eq!(held.release("room7", "x/bob").len(), MOST);
        held.begin_anew();
        assert!(held.hold("room6", "0/bob", 0), "a new session begins without any");
    }

    #[test]
    fn the_same_letter_is_asked_for_once_in_a_while() {
        let mut held = HeldBack::default();
        let at = Duration::from_secs;
        assert!(held.may_ask("laptop", "1/bob", at(5)) && !held.may_ask("laptop", "1/bob", at(24)));
        assert!(held.may_ask("build", "1/bob", at(6)) && held.may_ask("laptop", "1/bob", at(25)));
    }
}
