//! Who is in the scene, and what they write.

/// An agent and its program.
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) preset: &'static str,
    pub(crate) about: &'static str,
}

const fn agent(name: &'static str, preset: &'static str, about: &'static str) -> Agent {
    Agent { name, preset, about }
}

pub(crate) const AGENTS: [Agent; 8] = [
    agent("planner", "claude", "Plans features and splits them into tasks"),
    agent("builder", "claude", "Writes the code"),
    agent("reviewer", "codex", "Reviews every change before it is merged"),
    agent("tester", "gemini", "Writes and runs tests"),
    agent("docs", "opencode", "Keeps the documentation true"),
    agent("fixer", "claude", "Fixes what the tests find"),
    agent("release", "copilot", "Packages and releases"),
    agent("scout", "codex", "Reads the web and other code"),
];

/// A message, and what is answered.
pub(crate) struct Message {
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) subject: &'static str,
    pub(crate) body: &'static str,
    pub(crate) answer: &'static str,
}

const fn letter(
    from: &'static str,
    to: &'static str,
    subject: &'static str,
    body: &'static str,
    answer: &'static str,
) -> Message {
    Message { from, to, subject, body, answer }
}

const PLAN: &str = "Please plan this feature:\n\n- `names --json` lists every agent\n- the output stays **stable**\n\nSplit it into tasks of an hour.\n";
const BUILD: &str = "Implement the task below.\n\n| file | change |\n|---|---|\n| `src/names.rs` | add the field |\n| `docs/json.md` | describe it |\n\nRun the tests before you answer.\n";
const REVIEW: &str = "Please review `src/parse.rs`.\n\n```rust\nfn parse(text: &str) -> Result<Header, Error> {\n    let (head, body) = text.split_once(\"\\n\\n\").ok_or(Error::NoBody)?;\n    Header::read(head)\n}\n```\n\nIs the error right if there is no body?\n";
const ANSWER: &str = "Done. I changed two files and ran all tests: **214 passed**.\n\n1. `src/names.rs`: the field is there.\n2. `docs/json.md`: it is described.\n";

pub(crate) const LETTERS: [Message; 14] = [
    letter("ann", "planner", "Plan `names --json`", PLAN, ANSWER),
    letter(
        "ann",
        "planner",
        "What is left for 0.2?",
        "Please list what is left, the largest first.\n",
        ANSWER,
    ),
    letter("planner", "builder", "Implement `names --json`", BUILD, ANSWER),
    letter("planner", "builder", "Split the parser into two files", BUILD, ANSWER),
    letter("planner", "builder", "Make the index survive a crash", BUILD, ANSWER),
    letter("builder", "reviewer", "Review src/parse.rs", REVIEW, "FIX\n\nThe error hides the line number.\n"),
    letter("builder", "reviewer", "Review the new index", REVIEW, "ACCEPT\n\nClear and small.\n"),
    letter("builder", "tester", "Tests for the index, also with a full disk", BUILD, ANSWER),
    letter(
        "tester",
        "fixer",
        "3 tests fail since the split of the parser",
        "See the log:\n\n```\nparse::tests::no_body … FAILED\n```\n",
        ANSWER,
    ),
    letter("reviewer", "fixer", "The error hides the line number", REVIEW, ANSWER),
    letter("fixer", "reviewer", "Look again: the error has its line number", REVIEW, "ACCEPT\n"),
    letter("planner", "docs", "Describe `names --json`", BUILD, ANSWER),
    letter("planner", "scout", "How do other queues retry?", "Two pages at most, with links.\n", ANSWER),
    letter("planner", "release", "Package 0.2.0-rc.1", BUILD, ANSWER),
];

/// What three agents do now: agent, subject, and the tool call in progress.
pub(crate) const AT_WORK: [(&str, &str, &str); 3] = [
    ("builder", "Make the index survive a crash", "Bash: cargo nextest run -E 'test(index)'"),
    ("tester", "Tests for the index, also with a full disk", "Edit: tests/index/full_disk.rs"),
    ("fixer", "The error hides the line number", "Read: src/parse.rs"),
];

/// An answer that the gates of the shipped workflows accept.
pub(crate) const RESULT: &str = "1. Write the new table beside the old one.\n2. Copy, compare, switch.\n3. Remove the old one after a week.\n\nVERDICT: ACCEPT\n";

/// What a program printed.
pub(crate) const TRANSCRIPT: &str = include_str!("../golden/transcripts/claude.jsonl");

/// Numbers from a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
