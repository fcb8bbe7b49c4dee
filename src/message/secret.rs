//! Likely secrets: one table of fixed prefixes (format.md §7.3). Mail is kept for ever and read by models,
//! so a key in a body is refused unless the sender insists. The table knows shapes, not meanings: it stops
//! accidents, not intent.

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

/// What a body seems to hold, and on which line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    pub what: &'static str,
    pub line: usize,
}

/// The first likely secret of a text.
pub fn find(text: &str) -> Option<Secret> {
    text.lines().enumerate().find_map(|(index, line)| {
        let what = if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY") {
            Some("a private key")
        } else {
            SHAPES.iter().find(|s| holds(line, s)).map(|s| s.what)
        };
        what.map(|what| Secret {
            what,
            line: index + 1,
        })
    })
}

fn holds(line: &str, shape: &Shape) -> bool {
    line.match_indices(shape.prefix).any(|(at, _)| {
        // In the middle of a longer word the prefix is chance.
        let starts = !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        let tail = line[at + shape.prefix.len()..]
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        starts && tail.count() >= shape.tail
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_found_and_its_stump_is_not() {
        for shape in SHAPES {
            let key = format!("text\nkey={}{}", shape.prefix, "A".repeat(shape.tail));
            assert_eq!(
                find(&key),
                Some(Secret {
                    what: shape.what,
                    line: 2
                }),
                "{}",
                shape.prefix
            );
            assert_eq!(find(&key[..key.len() - 1]), None, "{}", shape.prefix);
        }
    }

    #[test]
    fn private_keys_and_ordinary_words() {
        let pem = ["-----BEGIN OPENSSH ", "PRIVATE KEY-----"].concat();
        assert_eq!(find(&pem).unwrap().what, "a private key");
        assert_eq!(find("xAKIAAAAAAAAAAAAAAAAA shf_ sk-ant- ghp_short"), None);
    }
}
