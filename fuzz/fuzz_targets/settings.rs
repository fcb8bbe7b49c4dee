//! Any bytes as a postroom.toml.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| postroom_fuzz::settings(bytes));
