//! The folders of a mailbox: the folder of a message is its state.

use std::fmt;
use std::path::PathBuf;

use super::disk::Dir;
use super::fault::{IfAny, Result};
use super::maildir::Maildir;
use crate::random;

/// The fence of a claim: only the holder of this token may finish the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(u64);

impl Token {
    pub fn fresh() -> Self {
        Self(random::number())
    }

    /// Sixteen hex digits, as shown and as in the directory's name.
    pub fn parse(text: &str) -> Option<Self> {
        let plain =
            text.len() == 16 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        u64::from_str_radix(text, 16).ok().filter(|_| plain).map(Self)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A directory that holds messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Folder {
    Inbox,
    Archive,
    Failed,
    Quarantine,
    Claimed(Token),
    /// In progress without a claim of ours: only in a `.claude` tree, where other programs may set that too.
    Working,
    /// With the server of a network, without a receipt of its room: only in mailboxes for mail on its way (`network.rs`).
    Carried,
}

impl Folder {
    /// The folders of finished and unread mail; claims come and go besides them.
    pub const LASTING: [Self; 3] = [Self::Inbox, Self::Archive, Self::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Archive => "archive",
            Self::Failed => "failed",
            Self::Quarantine => "quarantine",
            Self::Claimed(_) => "claimed",
            Self::Working => "in_progress",
            Self::Carried => "carried",
        }
    }

    fn path(self) -> PathBuf {
        match self {
            Self::Claimed(token) => PathBuf::from(self.as_str()).join(token.to_string()),
            other => PathBuf::from(other.as_str()),
        }
    }
}

impl Maildir {
    pub fn path(&self, folder: Folder, name: &str) -> PathBuf {
        self.dir().path().join(folder.path()).join(name)
    }

    /// A folder, open.
    pub fn folder(&self, folder: Folder) -> Result<Dir> {
        match folder {
            Folder::Claimed(token) => self.dir().sub(folder.as_str())?.sub(&token.to_string()),
            other => self.dir().sub(other.as_str()),
        }
    }

    /// A folder that may not exist yet.
    pub fn folder_if_any(&self, folder: Folder) -> Result<Option<Dir>> {
        self.folder(folder).if_any()
    }

    /// A folder, made if missing, and durable.
    pub fn made_folder(&self, name: &str) -> Result<Dir> {
        let folder = match self.dir().sub(name) {
            Err(e) if e.is_missing() => self.dir().make_new(name)?,
            // Nothing is put into a folder before the folder itself is durable.
            Ok(folder) if !folder.is_empty()? => return Ok(folder),
            other => other?,
        };
        // The process that made it may have been interrupted before this sync.
        self.dir().sync()?;
        Ok(folder)
    }

    /// Every folder that holds messages now, claims included.
    pub fn folders(&self) -> Result<Vec<Folder>> {
        let claimed = self.tokens()?.into_iter().map(Folder::Claimed);
        let carried = self.folder_if_any(Folder::Carried)?.map(|_| Folder::Carried);
        Ok(Folder::LASTING.into_iter().chain(claimed).chain(carried).collect())
    }

    /// The tokens of all claims.
    pub fn tokens(&self) -> Result<Vec<Token>> {
        let mut tokens = vec![];
        let Some(claimed) = self.dir().sub_if_any("claimed")? else { return Ok(tokens) };
        claimed.scan_once(|name, _| tokens.extend(str::from_utf8(name).ok().and_then(Token::parse)))?;
        tokens.sort();
        Ok(tokens)
    }
}

/// The methods that the two protocols with a directory as state have in common.
macro_rules! by_folders {
    ($self:ident => $folders:expr) => {
        fn path(&$self, folder: Folder, name: &str) -> std::path::PathBuf {
            Maildir::path($folders, folder, name)
        }
        fn folders(&$self) -> Result<Vec<Folder>> {
            Maildir::folders($folders)
        }
        fn search_dirs(&$self) -> Result<Vec<(Folder, Dir)>> {
            let mut dirs = vec![];
            for folder in Maildir::folders($folders)? {
                dirs.extend($folders.folder_if_any(folder)?.map(|dir| (folder, dir)));
            }
            Ok(dirs)
        }
        fn is_message(&$self, name: &[u8]) -> bool {
            Maildir::is_message($folders, name)
        }
        fn list(&$self, folder: Folder, limit: usize) -> Result<Listing> {
            Maildir::list($folders, folder, limit)
        }
        fn header(&$self, folder: Folder, name: &str, limit: u64) -> Reading<Header> {
            Maildir::header($folders, folder, name, limit)
        }
        fn message(&$self, folder: Folder, name: &str, limit: u64) -> Reading<(Message, Timestamp)> {
            Maildir::message($folders, folder, name, limit)
        }
        fn text(&$self, folder: Folder, name: &str) -> Option<String> {
            let bytes = $folders.folder(folder).ok()?.read(name, crate::mailbox::TEXT_LIMIT).ok()??;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        fn twins(&$self, folder: Folder, id: &MessageId) -> Result<Vec<String>> {
            Maildir::twins($folders, folder, id)
        }
        fn shift(&$self, name: &str, from: Folder, to: Folder) -> Result<Option<String>> {
            Maildir::shift($folders, name, from, to)
        }
        fn older(&$self, folder: Folder, than: Timestamp) -> Result<Vec<String>> {
            let Some(dir) = $folders.folder_if_any(folder)? else { return Ok(vec![]) };
            let mut names = Maildir::list($folders, folder, usize::MAX)?.names;
            // The change time is when it came here; a message may have waited long before it was read.
            let is_older = |stat: rustix::fs::Stat| Timestamp::from_parts(stat.st_ctime, 0) <= than;
            names.retain(|name| dir.stat(name).is_ok_and(is_older));
            Ok(names)
        }
        fn throw_away(&$self, folder: Folder, names: &[&str], bag: &crate::mailbox::trash::Bag) -> Result<()> {
            Maildir::throw_away($folders, folder, names, bag)
        }
        fn bring_back(&$self, folder: &str, names: &[String], bag: &crate::mailbox::trash::Bag) -> Result<()> {
            Maildir::bring_back($folders, folder, names, bag)
        }
        fn owners(&$self, owners: &mut crate::mailbox::attachments::Owners) -> Result<()> {
            owners.add_all($self)
        }
        fn sync_moved(&$self, folder: Folder, name: &str) -> Result<()> {
            $folders.folder(folder)?.sync_all_moved(&[name])
        }
        fn claim(&$self, name: &str, terms: &Terms) -> Result<Option<Token>> {
            Maildir::claim($folders, name, terms)
        }
        fn tokens(&$self) -> Result<Vec<Token>> {
            Maildir::tokens($folders)
        }
        fn terms(&$self, token: Token) -> Result<Option<Terms>> {
            Maildir::terms($folders, token)
        }
        fn renew(&$self, token: Token, terms: &Terms) -> Result<bool> {
            Maildir::renew($folders, token, terms)
        }
        fn hold_claim(&$self, token: Token) -> Result<Option<crate::mailbox::lock::Lock>> {
            Maildir::hold_claim($folders, token)
        }
        fn settle(&$self, token: Token, name: &str, to: Folder, _why: &str) -> Result<Option<String>> {
            Maildir::settle($folders, token, name, to)
        }
        fn return_expired(&$self, clock: &dyn Clock) -> Result<Vec<String>> {
            Maildir::return_expired($folders, clock)
        }
        fn note_attempt(&$self, name: &str, attempt: &Attempt) -> Result<()> {
            Maildir::note_attempt($folders, name, attempt)
        }
        fn attempts(&$self, name: &str) -> Result<Vec<Attempt>> {
            Maildir::attempts($folders, name)
        }
        fn tries(&$self, name: &str) -> Result<u32> {
            Maildir::tries($folders, name)
        }
        fn end_of(&$self, token: Token) -> Result<Option<Attempt>> {
            Maildir::end_of($folders, token)
        }
        fn carry_attempts(&$self, name: &str, new: &str) -> Result<()> {
            Maildir::carry_attempts($folders, name, new)
        }
    };
}
pub(super) use by_folders;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_sixteen_lower_case_hex_digits() {
        let token = Token::fresh();
        assert_eq!(Token::parse(&token.to_string()), Some(token));
        for bad in ["", "12", "+123456789abcdef", "0123456789ABCDEF", "../../../../etc/x"] {
            assert_eq!(Token::parse(bad), None, "{bad}");
        }
    }
}
