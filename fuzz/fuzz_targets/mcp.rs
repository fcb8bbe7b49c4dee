//! Any bytes as a request of the Model Context Protocol.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| postroom_fuzz::mcp(bytes));
