//! The folders of a mailbox: where a message lies is its state.

use std::fmt;
use std::path::PathBuf;

use super::disk::Dir;
use super::fault::Result;
use super::maildir::Maildir;
use crate::random;

/// The fence of a claim: whoever holds it may finish the message, and nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(u64);

impl Token {
    pub fn fresh() -> Self {
        Self(random::number())
    }

    /// Sixteen hex digits, as they are shown and as the directory is called.
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
    /// In progress under nobody's claim of ours: only in a `.claude` tree, where others may say so too.
    Working,
}

impl Folder {
    /// The folders of finished and unread mail; claims come and go beside them.
    pub const LASTING: [Self; 3] = [Self::Inbox, Self::Archive, Self::Failed];

    pub fn word(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Archive => "archive",
            Self::Failed => "failed",
            Self::Quarantine => "quarantine",
            Self::Claimed(_) => "claimed",
            Self::Working => "in_progress",
        }
    }

    fn path(self) -> PathBuf {
        match self {
            Self::Claimed(token) => PathBuf::from(self.word()).join(token.to_string()),
            other => PathBuf::from(other.word()),
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
            Folder::Claimed(token) => self.dir().sub(folder.word())?.sub(&token.to_string()),
            other => self.dir().sub(other.word()),
        }
    }

    /// A folder that may not have been needed yet.
    pub fn folder_if_any(&self, folder: Folder) -> Result<Option<Dir>> {
        match self.folder(folder) {
            Err(e) if e.is_missing() => Ok(None),
            other => other.map(Some),
        }
    }

    /// A folder, made and durable.
    pub fn made_folder(&self, name: &str) -> Result<Dir> {
        let folder = match self.dir().sub(name) {
            Err(e) if e.is_missing() => self.dir().make_new(name)?,
            // Nobody puts anything into a folder before its place here is durable.
            Ok(folder) if !folder.is_empty()? => return Ok(folder),
            other => other?,
        };
        // Whoever made it may have been interrupted before this.
        self.dir().sync()?;
        Ok(folder)
    }

    /// Every folder that holds messages now, claims included.
    pub fn folders(&self) -> Result<Vec<Folder>> {
        let claimed = self.tokens()?.into_iter().map(Folder::Claimed);
        Ok(Folder::LASTING.into_iter().chain(claimed).collect())
    }

    /// The claims there are.
    pub fn tokens(&self) -> Result<Vec<Token>> {
        let mut tokens = vec![];
        match self.dir().sub("claimed") {
            Err(e) if e.is_missing() => return Ok(tokens),
            other => {
                other?.scan_once(|name, _| tokens.extend(str::from_utf8(name).ok().and_then(Token::parse)))?
            }
        }
        tokens.sort();
        Ok(tokens)
    }
}

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
