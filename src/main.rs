//! The `postroom` command: everything it does is in `postroom::cli`.

use std::process::ExitCode;

#[allow(clippy::disallowed_methods, reason = "the one place that reads the arguments")]
fn main() -> ExitCode {
    postroom::cli::run(std::env::args_os().collect())
}
