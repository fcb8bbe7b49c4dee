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

/// The address of the page, printed by `web` before it serves.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Page<'a> {
    /// Its address.
    pub url: &'a str,
    /// The address with a code that is good once; left out if the code is shown on the terminal of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<&'a str>,
    /// The file with the token for `/metrics`; left out if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_token_file: Option<String>,
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
