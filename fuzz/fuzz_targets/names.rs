//! Any bytes as names and ids.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| postroom_fuzz::names(bytes));
