//! Placeholders for what differs from run to run, so that an output can be compared as a whole.

use std::path::Path;

/// The text with ids, times, fences and the room's directory replaced: `<id>` eight digits, `<uuid>` a whole
/// id, `<time>`, `<age>`, `<stamp>` the time in a file name, `<fence>`, `<room>`.
pub(crate) fn mask(text: &str, root: &Path) -> String {
    let text = text.replace(&root.display().to_string(), "<room>");
    let mut out = String::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let bare = word.trim_end_matches([':', '.']);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_age = ["<id> ", "-001 "].iter().any(|end| out.ends_with(end))
            && bare.strip_suffix(['s', 'm', 'h', 'd']).is_some_and(is_number);
        out.push_str(&if is_age { "<age>".to_owned() } else { placeholder(bare) });
        out.push_str(&word[bare.len()..]);
        let next = after.find(in_word).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    out
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.')
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn placeholder(word: &str) -> String {
    let bytes = word.as_bytes();
    if word.len() == 36 && is_hex(&word.replace('-', "")) {
        return "<uuid>".to_owned();
    }
    if matches!(word.len(), 20 | 24) && bytes[10] == b'T' && word.ends_with('Z') {
        return "<time>".to_owned();
    }
    if is_hex(word) && word.len() == 16 {
        return "<fence>".to_owned();
    }
    if is_hex(word) && word.len() == 8 {
        return "<id>".to_owned();
    }
    if word.len() > 26 && bytes[8] == b'T' && bytes[15] == b'Z' && is_hex(&word[17..25]) {
        return format!("<stamp>-<id>{}", &word[25..]);
    }
    match word.rsplit_once('-') {
        Some((stem, tail)) if tail.len() == 8 && is_hex(tail) => format!("{stem}-<id>"),
        _ => word.to_owned(),
    }
}
