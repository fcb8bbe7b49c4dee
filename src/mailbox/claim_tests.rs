//! Tests of claims: attempts that were cut off, and leases that end.

use super::*;
use crate::clock::SystemClock;
use crate::mailbox::maildir::fresh as mailbox;

const NAME: &str = "20260101T000000Z-abcdef01-x.md";

fn note(mailbox: &Maildir, how: &str) {
    let terms = Terms::new("alice-1", NAME, 1, Duration::ZERO, &SystemClock).unwrap();
    mailbox.note_attempt(NAME, &Attempt::of(Token::fresh(), &terms, how, "", &SystemClock)).unwrap();
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a full disk cuts a line off")]
fn an_attempt_after_a_line_that_was_cut_off_counts() {
    let (_temp, mailbox) = mailbox();
    note(&mailbox, "failed");
    note(&mailbox, "failed");
    let path = mailbox.dir().path().join(ATTEMPTS).join(NAME);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    assert_eq!(mailbox.tries(NAME).unwrap(), 1);
    note(&mailbox, "failed");
    assert_eq!(mailbox.tries(NAME).unwrap(), 2);
    note(&mailbox, "expired");
    assert_eq!(mailbox.tries(NAME).unwrap(), 3);
}

/// A renewal that succeeds has the message, even if another process finds the old lease over.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test places its message by hand")]
fn a_lease_is_renewed_or_over_and_never_both() {
    let (_temp, mailbox) = mailbox();
    for _ in 0..200 {
        std::fs::write(mailbox.path(Folder::Inbox, NAME), "x").unwrap();
        let over = Terms::new("alice-1", NAME, 1, Duration::ZERO, &SystemClock).unwrap();
        let token = mailbox.claim(NAME, &over).unwrap().unwrap();
        let longer = Terms::new("alice-1", NAME, 1, Duration::from_secs(60), &SystemClock).unwrap();
        let (renewed, returned) = std::thread::scope(|scope| {
            let other = scope.spawn(|| mailbox.return_expired(&SystemClock).unwrap());
            let renewed = mailbox.renew(token, &longer).unwrap();
            (renewed, other.join().unwrap())
        });
        assert_eq!(renewed, returned.is_empty(), "{returned:?}");
        if renewed {
            mailbox.settle(token, NAME, Folder::Inbox).unwrap().unwrap();
        }
        assert!(mailbox.tokens().unwrap().is_empty());
        std::fs::remove_file(mailbox.path(Folder::Inbox, NAME)).unwrap();
    }
}

/// A machine without a boot id: its wall clock, and the seconds since its boot.
#[derive(Debug)]
struct Machine(i64, u64);

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        Timestamp::from_parts(self.0, 0)
    }

    fn boot(&self) -> Duration {
        Duration::from_secs(self.1)
    }

    fn boot_id(&self) -> std::io::Result<String> {
        Ok(String::new())
    }

    fn host(&self) -> String {
        "host".into()
    }
}

#[test]
fn without_a_boot_id_a_lease_ends_after_a_boot_too() {
    let terms = Terms::new("alice-1", NAME, 1, Duration::from_secs(60), &Machine(1000, 500_000)).unwrap();
    let is_over = |wall, boot| terms.is_over(&Machine(wall, boot)).unwrap();
    assert!(!is_over(1059, 500_059) && is_over(1060, 500_060));
    assert!(is_over(500, 500_060), "the wall clock was set back");
    assert!(!is_over(1050, 10) && is_over(1063, 20), "another boot");
}
