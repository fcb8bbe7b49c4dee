//! Any bytes as a message of a workspace.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| postroom_fuzz::workspace(bytes));
