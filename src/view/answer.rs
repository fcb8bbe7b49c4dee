//! Documents that any command may print: an error, or a text.

use serde::Serialize;

/// What went wrong.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Wrong<'a> {
    /// The exit code.
    pub code: u8,
    /// What went wrong.
    pub message: &'a str,
    /// What to type next.
    pub hints: &'a [String],
}

/// An error, printed by every command in place of its own document.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Error<'a> {
    /// What went wrong.
    pub error: Wrong<'a>,
}

/// A text that is the whole result of a command, printed by most of `tools`, and by `demo`
/// for each of its lines.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Text<'a> {
    /// The text.
    pub text: &'a str,
}

/// The address of the server, printed by `mcp --http` before it serves.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Listening<'a> {
    /// Its address.
    pub url: &'a str,
    /// The file that holds the token.
    pub token_file: String,
}

/// A systemd user unit, printed by `dispatch --unit` and `mcp --unit`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unit<'a> {
    /// The name of its file.
    pub name: &'a str,
    /// The text of its file.
    pub unit: &'a str,
}
