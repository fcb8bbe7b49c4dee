//! P4: codec closure. Messages of any field values and bodies, of several lines and hostile, are written in each protocol and
//! carried from each into each: the values come back, and no other field appears. What must hold, and the messages, are those of
//! the property tests (`tests/cli/support/closure.rs`, `drawn.rs`); here there are more of them.

use std::sync::atomic::{AtomicU32, Ordering};

use postroom::message::Protocol;
use proptest::test_runner::{Config, TestRunner};

use crate::closure::{comes_through_every_pair, drawn_messages};
use crate::lab::{Findings, Lab, Outcome};

pub(crate) fn codec_closure(lab: &Lab) -> Outcome {
    let cases: u32 = if lab.tier < 2 { 10_000 } else { 100_000 };
    let findings = Findings::default();
    let messages = AtomicU32::new(0);
    let each = cases / lab.workers as u32;
    std::thread::scope(|scope| {
        for _ in 0..lab.workers {
            scope.spawn(|| {
                let config = Config { cases: each, failure_persistence: None, ..Config::default() };
                let run = TestRunner::new(config).run(&drawn_messages(), |drawn| {
                    messages.fetch_add(drawn.len() as u32, Ordering::Relaxed);
                    drawn.iter().try_for_each(comes_through_every_pair)
                });
                findings.extend("a message", run.err().map(|e| e.to_string()));
            });
        }
    });
    let (messages, pairs) = (messages.into_inner(), Protocol::ALL.len() * Protocol::ALL.len());
    findings.check(messages >= cases, || format!("only {messages} messages were drawn"));
    findings.verdict(format!("{messages} messages through {pairs} pairs of protocols"))
}
