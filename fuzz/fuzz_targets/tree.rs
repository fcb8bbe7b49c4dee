//! Any bytes as a task of a `.claude` tree.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| postroom_fuzz::tree(bytes));
