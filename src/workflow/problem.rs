//! A problem in a definition: a line, a column, a sentence.

use std::fmt;

/// A place in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Default for Position {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

impl Position {
    pub fn new(line: usize, column: usize) -> Self {
        Self { line, column }
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub place: Position,
    pub message: String,
}

impl Problem {
    pub fn at(place: Position, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.place.line, self.place.column, self.message)
    }
}

/// A suggestion for an unknown name: the nearest known one, else all of them.
pub fn offer<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    /// A longer list is not worth reading, and comparing with hostile input must stay cheap.
    const SHOWN: usize = 12;
    const COMPARED: usize = 200;
    const LONGEST: usize = 60;
    let known: Vec<&str> = known.into_iter().collect();
    if known.len() <= COMPARED && (3..=LONGEST).contains(&name.len()) {
        let near = known.iter().map(|known| (strsim::osa_distance(known, name), known));
        let near = near.filter(|(distance, _)| *distance <= 2).min_by_key(|(distance, _)| *distance);
        if let Some((_, near)) = near {
            return format!("; did you mean `{near}`?");
        }
    }
    match known.len() {
        0 => String::new(),
        1 => format!("; there is only `{}`", known[0]),
        2..=SHOWN => format!("; there are {}", known.join(", ")),
        _ => format!("; there are {}, …", known[..SHOWN].join(", ")),
    }
}
