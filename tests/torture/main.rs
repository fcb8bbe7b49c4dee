//! The torture battery.
fn main() {}
