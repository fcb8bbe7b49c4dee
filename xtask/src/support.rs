//! What the files of the tests that are modules here use of the others.

#[allow(dead_code, unexpected_cfgs, reason = "some of it is for the tests alone")]
#[path = "../../tests/cli/support/until.rs"]
pub(crate) mod until;
