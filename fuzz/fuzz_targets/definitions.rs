//! Any bytes as the definition of a workflow.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| postroom_fuzz::definitions(bytes));
