//! Likely secrets: one table of fixed prefixes (format.md §7.3). Mail is kept forever and read by models, so a key in a
//! body is refused unless the sender insists. The table knows shapes, not meanings: it stops accidents, not intent.

/// One shape: a prefix, and at least `tail` characters of a key's alphabet right after it.
struct Shape {
    prefix: &'static str,
    tail: usize,
    what: &'static str,
}

const fn shape(prefix: &'static str, tail: usize, what: &'static str) -> Shape {
    Shape { prefix, tail, what }
}

const SHAPES: &[Shape] = &[
    shape("AKIA", 16, "an AWS access key"),
    shape("ASIA", 16, "an AWS session key"),
    shape("AIza", 35, "a Google API key"),
    shape("ya29.", 30, "a Google access token"),
    shape("ghp_", 36, "a GitHub token"),
    shape("gho_", 36, "a GitHub token"),
    shape("ghu_", 36, "a GitHub token"),
    shape("ghs_", 36, "a GitHub token"),
    shape("ghr_", 36, "a GitHub token"),
    shape("github_pat_", 50, "a GitHub token"),
    shape("glpat-", 20, "a GitLab token"),
    shape("xoxb-", 20, "a Slack token"),
    shape("xoxp-", 20, "a Slack token"),
    shape("xapp-", 20, "a Slack token"),
    shape("sk-ant-", 30, "an Anthropic API key"),
    shape("sk-proj-", 30, "an OpenAI API key"),
    shape("sk_live_", 20, "a Stripe key"),
    shape("rk_live_", 20, "a Stripe key"),
    shape("npm_", 36, "an npm token"),
    shape("pypi-AgE", 50, "a PyPI token"),
    shape("hf_", 34, "a Hugging Face token"),
    shape("dop_v1_", 60, "a DigitalOcean token"),
    shape("AGE-SECRET-KEY-1", 50, "an age key"),
];

/// A likely secret in a body, and its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    pub what: &'static str,
    pub line: usize,
}

/// The first likely secret of a text. One pass that tests only the beginnings of words.
pub fn find(text: &str) -> Option<Secret> {
    let bytes = text.as_bytes();
    let mut inside_word = false;
    for at in 0..bytes.len() {
        let starts = !inside_word;
        inside_word = bytes[at].is_ascii_alphanumeric();
        // In the middle of a longer word a prefix is a coincidence.
        if starts && let Some(what) = begins(&bytes[at..]) {
            return Some(Secret { what, line: 1 + bytes[..at].iter().filter(|b| **b == b'\n').count() });
        }
    }
    None
}

fn begins(bytes: &[u8]) -> Option<&'static str> {
    // First bytes of all prefixes; nearly every word is rejected here.
    if !matches!(bytes[0], b'A' | b'a' | b'd' | b'g' | b'h' | b'n' | b'p' | b'r' | b's' | b'x' | b'y' | b'-')
    {
        return None;
    }
    if bytes.starts_with(b"-----BEGIN ") {
        let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        return line.windows(11).any(|w| w == b"PRIVATE KEY").then_some("a private key");
    }
    SHAPES.iter().find(|shape| holds(bytes, shape)).map(|shape| shape.what)
}

fn holds(bytes: &[u8], shape: &Shape) -> bool {
    let key = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    bytes
        .strip_prefix(shape.prefix.as_bytes())
        .is_some_and(|rest| rest.iter().take(shape.tail).take_while(key).count() == shape.tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_found_and_its_stump_is_not() {
        for shape in SHAPES {
            let key = format!("text\nkey={}{}", shape.prefix, "A".repeat(shape.tail));
            assert_eq!(find(&key), Some(Secret { what: shape.what, line: 2 }), "{}", shape.prefix);
            assert_eq!(find(&key[..key.len() - 1]), None, "{}", shape.prefix);
        }
    }

    #[test]
    fn the_filter_of_first_bytes_knows_every_shape() {
        for shape in SHAPES {
            let key = format!("{}{}", shape.prefix, "A".repeat(shape.tail));
            assert!(begins(key.as_bytes()).is_some(), "{}", shape.prefix);
        }
    }

    #[test]
    fn private_keys_and_ordinary_words() {
        let pem = ["-----BEGIN OPENSSH ", "PRIVATE KEY-----"].concat();
        assert_eq!(find(&pem).unwrap().what, "a private key");
        assert_eq!(find("xAKIAAAAAAAAAAAAAAAAA shf_ sk-ant- ghp_short"), None);
    }
}
