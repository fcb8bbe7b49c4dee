//! Steps of a workflow by the library in one process, for `cargo xtask bench workflow`, which sets them against a `send`.
//!
//! `workflow ROOT AGENT COUNT` runs a chain of COUNT steps, all of one agent, and prints what each took in microseconds. A
//! step is everything that mail and engine do for it: the request is sent, claimed, answered and finished, and the answer
//! is accepted. No process is started for it. Started by cargo, without these arguments, it says so.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the rules of clippy.toml are for the mail path; a measurement reads arguments and the clock"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use postroom::clock::SystemClock;
use postroom::name::MessageId;
use postroom::post::{Caller, Filter, Letter, Post};
use postroom::workflow::carrier::Carrier;
use postroom::workflow::{reading, start};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const LEASE: Duration = Duration::from_secs(60);

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [root, agent, count] = args[..] else {
        println!("`cargo xtask bench workflow` measures this");
        return Ok(());
    };
    let post = Post::open(Path::new(root), Caller::default(), Arc::new(SystemClock))?;
    let count: usize = count.parse()?;
    let text = chain(agent, count);
    let definition = reading::parse(&text, "chain").map_err(|problems| format!("{problems:?}"))?;
    let beginning = start::Beginning {
        definition: &definition,
        text: &text,
        inputs: Default::default(),
        project: PathBuf::from("/"),
        tree: None,
        by: "user",
    };
    start::begin(&post, beginning)?;
    let me = post.act_as(agent)?;
    let no_gate = |_: &str, _: &str| Ok(());
    let mut carrier = Carrier::default();
    for _ in 0..count {
        let begun = Instant::now();
        carrier.look(&post, &no_gate)?;
        let (claimed, _) = post.claim(&me, None, None, &Filter::default(), LEASE)?;
        let claimed = claimed.ok_or("no request came")?;
        let held = post.held(&me, &claimed.token.to_string())?;
        // As the dispatcher answers.
        let id = MessageId::derived(format!("answer to {}", claimed.opened.message.envelope.id).as_bytes());
        let asked = Some(claimed.terms.file);
        let answer = Letter { body: "ok\n".to_owned(), id: Some(id), question: asked, ..Letter::default() };
        post.done(&me, &held, Some(answer))?;
        println!("{}", begun.elapsed().as_micros());
    }
    let ended = carrier.look(&post, &no_gate)?;
    match ended.news.first() {
        Some(carried) if carried.status.as_str() == "completed" => Ok(()),
        other => Err(format!("the run did not end: {other:?}").into()),
    }
}

fn chain(agent: &str, count: usize) -> String {
    let step = |n: usize| {
        let needs = if n == 0 { String::new() } else { format!(", needs: s{}", n - 1) };
        format!("  s{n}: {{agent: {agent}{needs}, prompt: step {n}}}\n")
    };
    format!("steps:\n{}", (0..count).map(step).collect::<String>())
}
