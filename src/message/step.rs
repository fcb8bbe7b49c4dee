//! The step of a task within its workflow run: a decimal number, so that `1.5` fits between 1 and 2.
//!
//! Steps compare as numbers: 1 < 1.5 < 2 < 10. Up to six decimals are kept; `1.50` and `1.5` are one step, and it is
//! written as `1.5`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Step {
    whole: u64,
    millionths: u32,
}

/// Why a text is not a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a number such as 2 or 1.5")]
pub struct NotAStep;

impl From<u64> for Step {
    fn from(whole: u64) -> Self {
        Self { whole, millionths: 0 }
    }
}

impl FromStr for Step {
    type Err = NotAStep;

    fn from_str(text: &str) -> Result<Self, NotAStep> {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let decimals = decimals.trim_end_matches('0').to_owned() + if decimals.is_empty() { "" } else { "0" };
        if !digits(whole) || !digits(&decimals) || decimals.len() > 7 {
            return Err(NotAStep);
        }
        let whole = whole.parse().map_err(|_| NotAStep)?;
        let millionths = format!("{decimals:0<6}")[..6].parse().map_err(|_| NotAStep)?;
        Ok(Self { whole, millionths })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.whole)?;
        if self.millionths == 0 {
            return Ok(());
        }
        write!(f, ".{}", format!("{:06}", self.millionths).trim_end_matches('0'))
    }
}

impl From<Step> for String {
    fn from(step: Step) -> Self {
        step.to_string()
    }
}

impl TryFrom<String> for Step {
    type Error = NotAStep;

    fn try_from(text: String) -> Result<Self, NotAStep> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_compare_as_numbers_and_keep_their_text() {
        let texts = ["0", "0.000001", "1", "1.05", "1.5", "2", "10", "18446744073709551615"];
        let steps: Vec<Step> = texts.iter().map(|text| text.parse().unwrap()).collect();
        assert!(steps.is_sorted());
        assert_eq!(steps.iter().map(ToString::to_string).collect::<Vec<_>>(), texts);
        assert_eq!("1.50".parse::<Step>(), "1.5".parse());
        assert_eq!("2.0".parse::<Step>(), Ok(Step::from(2)));
        for bad in ["", "two", "1.", ".5", "-1", "1,5", "1.5.2", "1.1234567", "+1", "1e3"] {
            assert!(bad.parse::<Step>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_step_is_one_word_of_json() {
        let json = serde_json::to_string(&"1.5".parse::<Step>().unwrap()).unwrap();
        assert_eq!(json, "\"1.5\"");
        assert_eq!(serde_json::from_str::<Step>(&json).unwrap().to_string(), "1.5");
    }
}
