//! Verdicts: an answer decides by its last line of the form `VERDICT: WORD`. Pure.
//!
//! The words are in the definition of the gate, some accept and some reject. Only a line of its own counts, never a
//! part of a sentence. The last such line decides; lines of the form that follow each other directly are read together.
//! An answer without a verdict, or with both, is unclear: nobody may guess what it means.

use crate::message::visible;

/// The word before the colon.
const LABEL: &str = "VERDICT";

/// The words of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub accept: Vec<String>,
    pub reject: Vec<String>,
}

/// What an answer decides.
#[derive(Debug, PartialEq, Eq)]
pub enum Ruling {
    Accept,
    /// Rejected, by this word.
    Reject(String),
    /// Neither or both, with the reason.
    Unclear(String),
}

impl Verdict {
    /// The lines that the agent may end with, for people and for the agent.
    pub fn lines(&self) -> String {
        let line = |word: &String| format!("`{LABEL}: {word}`");
        self.accept.iter().chain(&self.reject).map(line).collect::<Vec<_>>().join(" or ")
    }

    /// An answer without the verdict that ends it.
    pub fn besides(text: &str) -> &str {
        let mut rest = text.trim();
        while let Some(line) = rest.lines().next_back().filter(|line| said(line).is_some()) {
            rest = rest[..rest.len() - line.len()].trim_end();
        }
        rest
    }

    pub fn ruling(&self, text: &str) -> Ruling {
        let lines = text.lines().rev().filter(|line| !line.trim().is_empty());
        let last = lines.skip_while(|line| said(line).is_none()).map_while(said);
        let (mut accepted, mut rejected) = (false, None);
        for word in last {
            let is = |known: &&String| known.eq_ignore_ascii_case(word);
            match (self.accept.iter().any(|known| is(&known)), self.reject.iter().find(is)) {
                (true, _) => accepted = true,
                (_, Some(known)) => rejected = Some(known.clone()),
                _ => {
                    let word = visible::clip(word, 80);
                    return Ruling::Unclear(format!("its verdict is `{word}`, and not {}", self.lines()));
                }
            }
        }
        match (accepted, rejected) {
            (true, None) => Ruling::Accept,
            (false, Some(word)) => Ruling::Reject(word),
            (false, None) => Ruling::Unclear(format!("it has no line that is {}", self.lines())),
            (true, Some(_)) => Ruling::Unclear(format!("it ends with {}: both", self.lines())),
        }
    }
}

/// What a line says after the label, if it has the form. Models set such lines in bold or as code.
fn said(line: &str) -> Option<&str> {
    let plain = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '#');
    let line = line.trim_start_matches(plain).trim_end_matches(|c| plain(c) || c == '.');
    let (label, rest) = line.split_at_checked(LABEL.len())?;
    let rest = rest.trim_start_matches(plain).strip_prefix(':')?;
    label.eq_ignore_ascii_case(LABEL).then(|| rest.trim_matches(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// People read the verdict twice, before the answer and at its end.
    #[test]
    fn an_answer_without_its_verdict() {
        assert_eq!(Verdict::besides("Line 12.\n\n**VERDICT: FIX**\n"), "Line 12.");
        assert_eq!(Verdict::besides("VERDICT: FIX\nbecause of é"), "VERDICT: FIX\nbecause of é");
        assert_eq!(Verdict::besides("VERDICT: FIX"), "");
    }

    fn ruling(text: &str) -> Ruling {
        Verdict { accept: vec!["ACCEPT".into()], reject: vec!["FIX".into()] }.ruling(text)
    }

    #[test]
    fn the_last_line_of_the_form_decides() {
        for text in [
            "VERDICT: ACCEPT",
            "good\n\n**VERDICT: ACCEPT**\n",
            "`VERDICT: Accept`.\n\nBye.",
            "verdict:ACCEPT",
        ] {
            assert_eq!(ruling(text), Ruling::Accept, "{text}");
        }
        assert_eq!(ruling("VERDICT: FIX\n\nNow it is renamed.\n\nVERDICT: ACCEPT\n"), Ruling::Accept);
        assert_eq!(ruling("VERDICT: ACCEPT\n\nNo, wait.\nVERDICT: FIX"), Ruling::Reject("FIX".into()));
    }

    #[test]
    fn a_part_of_a_sentence_is_no_verdict() {
        for text in [
            "I cannot say VERDICT: ACCEPT. VERDICT: FIX",
            "",
            "fine",
            "> VERDICT: ACCEPT",
            "My VERDICT: ACCEPT",
            "VERDICTS: ACCEPT",
            "VERDICT ACCEPT",
        ] {
            assert!(matches!(ruling(text), Ruling::Unclear(why) if why.contains("no line")), "{text}");
        }
    }

    #[test]
    fn both_or_another_word_is_unclear() {
        for text in ["VERDICT: ACCEPT\nVERDICT: FIX\n", "VERDICT: FIX\n\nVERDICT: ACCEPT"] {
            assert!(matches!(ruling(text), Ruling::Unclear(why) if why.contains("both")), "{text}");
        }
        for text in
            ["VERDICT: ACCEPT if it is renamed", "VERDICT: ACCEPT\n\nVERDICT: ACCEPT or FIX", "VERDICT:"]
        {
            assert!(matches!(ruling(text), Ruling::Unclear(_)), "{text}");
        }
    }
}
