//! An attachment: a file that travels beside a message. The message carries its name, digest and size in a field of its
//! own, `attach-N: NAME SHA256 SIZE` (format.md §3.5); the bytes are in the recipient's home.
//!
//! A name is one path component that needs no quotes in a shell: letters and digits of any script, `.`, `-` and `_`. Its
//! reader computes the path from the id of the message and this name, so a field in any other form is only text.

use sha2::{Digest, Sha256};

use super::Envelope;
use crate::hex;
use crate::name::{fold, is_plain};

/// The longest name in bytes, so that staging names fit too.
const LONGEST: usize = 100;

/// What a field begins with.
const KEY: &str = "attach-";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    /// 64 hex digits in lower case.
    pub sha256: String,
    pub size: u64,
}

impl Attachment {
    /// Describes a file under a name that is safe, and free beside those of `others`.
    pub fn new<'a>(name: &str, bytes: &[u8], others: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let taken = |name: &str| others.clone().any(|other| fold(&other.name) == fold(name));
        let name = safe_name(name);
        let numbered = (2..).map(|number| with_suffix(&name, &format!("-{number}")));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name));
        Self { name: free.unwrap_or(name), sha256: hex::digest(bytes, 32), size: bytes.len() as u64 }
    }

    /// The attachments that an envelope names.
    pub fn all(envelope: &Envelope) -> Vec<Self> {
        envelope.extra.iter().filter_map(|(key, value)| Self::parse(key, value)).collect()
    }

    /// Reads a field; `None` if it is not an attachment in the form that is written.
    pub fn parse(key: &str, value: &str) -> Option<Self> {
        if !is_key(key) {
            return None;
        }
        let mut parts = value.split(' ');
        let (name, sha256, size) = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
        let found = Self { name: name.to_owned(), sha256: sha256.to_owned(), size };
        let digits = sha256.len() == 64 && sha256.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (digits && safe_name(name) == name && found.value() == value).then_some(found)
    }

    /// The field that carries it, under the first number that is free among these fields.
    pub fn field(&self, extra: &[(String, String)]) -> (String, String) {
        let keys = (1..).map(|number: u32| format!("{KEY}{number}"));
        let free = keys.into_iter().find(|key| extra.iter().all(|(other, _)| other != key));
        (free.unwrap_or_default(), self.value())
    }

    fn value(&self) -> String {
        format!("{} {} {}", self.name, self.sha256, self.size)
    }

    /// Whether these bytes are what was sent.
    pub fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.size && hex::digest(bytes, 32) == self.sha256
    }

    /// As [`Attachment::is`], for bytes that come part by part until a part is empty. No more than was sent is asked for.
    pub fn is_made_of<E>(&self, mut next: impl FnMut() -> Result<Vec<u8>, E>) -> Result<bool, E> {
        let (mut hash, mut left) = (Sha256::new(), self.size);
        loop {
            let part = next()?;
            if part.is_empty() {
                return Ok(left == 0 && hex::of(&hash.finalize()) == self.sha256);
            }
            let Some(rest) = left.checked_sub(part.len() as u64) else { return Ok(false) };
            left = rest;
            hash.update(&part);
        }
    }
}

/// Whether a field of this name can carry an attachment. It belongs to its message alone.
pub fn is_key(key: &str) -> bool {
    key.strip_prefix(KEY)
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Any file name as one that may be written: each run of other characters becomes `_`.
fn safe_name(given: &str) -> String {
    let mut name = String::new();
    for c in given.chars() {
        match is_plain(c) {
            true => name.push(c),
            false if name.ends_with('_') => {}
            false => name.push('_'),
        }
    }
    match name.chars().next() {
        None => name.push_str("file"),
        // No hidden file, and no option of a command.
        Some(first) if !first.is_alphanumeric() && first != '_' => {
            name.replace_range(..first.len_utf8(), "_");
        }
        Some(_) => {}
    }
    if name.len() > LONGEST { with_suffix(&name, "") } else { name }
}

/// A name with a suffix before its extension, cut to the longest that is written.
fn with_suffix(name: &str, suffix: &str) -> String {
    let dot = name.rfind('.').filter(|at| *at > 0 && name.len() - at <= 16).unwrap_or(name.len());
    let (stem, extension) = name.split_at(dot);
    let most = LONGEST - extension.len() - suffix.len();
    format!("{}{suffix}{extension}", &stem[..stem.floor_char_boundary(most)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(names: &[&str]) -> Vec<String> {
        let mut all: Vec<Attachment> = vec![];
        for name in names {
            let one = Attachment::new(name, b"x", all.iter());
            all.push(one);
        }
        all.into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn a_name_is_one_component_that_needs_no_quotes() {
        for (given, name) in [
            ("report.txt", "report.txt"),
            ("__init__.py", "__init__.py"),
            ("my report (1).txt", "my_report_1_.txt"),
            ("../../etc/passwd", "_._.._etc_passwd"),
            (".env", "_env"),
            ("..", "_."),
            ("-rf", "_rf"),
            ("$(id);`id`|x", "_id_id_x"),
            ("a\nb\u{202e}c\0", "a_b_c_"),
            ("", "file"),
            ("Ärger-日本.md", "Ärger-日本.md"),
            ("\u{301}x", "_x"),
        ] {
            assert_eq!(named(&[given]), [name], "{given:?}");
        }
        let long = named(&[&format!("{}.tar.gz", "é".repeat(300))]);
        assert!(long[0].len() <= LONGEST && long[0].ends_with("é.gz"), "{long:?}");
    }

    #[test]
    fn equal_names_are_numbered() {
        assert_eq!(
            named(&["a/x.txt", "a_x.txt", "A_X.TXT", "a_x-2.txt", "b"]),
            ["a_x.txt", "a_x-2.txt", "A_X-3.TXT", "a_x-2-2.txt", "b"]
        );
        let long = format!("{}.txt", "x".repeat(200));
        let two = named(&[&long, &long]);
        assert!(two[0] != two[1] && two.iter().all(|name| name.len() <= LONGEST && name.ends_with(".txt")));
    }

    #[test]
    fn only_the_form_that_is_written_is_an_attachment() {
        let one = Attachment::new("x.txt", b"abc", [].iter());
        let (key, value) = one.field(&[("attach-1".to_owned(), "mine".to_owned())]);
        assert_eq!(key, "attach-2");
        assert_eq!(value, "x.txt ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 3");
        assert_eq!(Attachment::parse(&key, &value), Some(one.clone()));
        let sha = one.sha256.as_str();
        for bad in [
            format!("../x {sha} 3"),
            format!("/etc/passwd {sha} 3"),
            format!(".x {sha} 3"),
            format!("x {sha} 03"),
            format!("x {sha} -3"),
            format!("x {sha} 3 more"),
            format!("x {} 3", sha.to_uppercase()),
            format!("x {} 3", &sha[1..]),
            "x".to_owned(),
        ] {
            assert_eq!(Attachment::parse("attach-1", &bad), None, "{bad}");
        }
        for key in ["attach", "attach-", "attach-x", "x-attach-1"] {
            assert_eq!(Attachment::parse(key, &value), None, "{key}");
        }
        for (parts, same) in [
            (vec!["abc"], true),
            (vec!["a", "bc"], true),
            (vec!["abd"], false),
            (vec!["abc", "d"], false),
            (vec!["ab"], false),
        ] {
            let mut rest = parts.iter();
            let next = || Ok::<_, ()>(rest.next().map(|part| part.as_bytes().to_vec()).unwrap_or_default());
            assert_eq!(
                (one.is(parts.concat().as_bytes()), one.is_made_of(next)),
                (same, Ok(same)),
                "{parts:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_name_is_made_safe_once(given in "\\PC{0,200}|[ -~\\x00-\\x1f/]{0,200}") {
            let name = safe_name(&given);
            prop_assert_eq!(&safe_name(&name), &name);
            prop_assert!(!name.is_empty() && name.len() <= LONGEST && !name.starts_with(['.', '-']));
            prop_assert!(!name.contains(['/', '\\', ' ', '$', '\'', '"']) && !name.chars().any(char::is_control));
            let one = Attachment::new(&given, b"", [].iter());
            let (key, value) = one.field(&[]);
            prop_assert_eq!(Attachment::parse(&key, &value), Some(one));
        }
    }
}
