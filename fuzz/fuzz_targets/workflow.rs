//! Any bytes as a task of a workflow.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| postroom_fuzz::workflow(bytes));
