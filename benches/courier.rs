//! What the courier is set against by `cargo xtask bench courier`: one bare hop over JetStream between two durable writes.
//!
//! `courier hop URL DIR` makes a hop for each line that it reads, and prints how many microseconds it took: 2 KiB are written
//! durably, published, consumed from the stream, and written durably again. Nothing is signed, checked or remembered. Started by
//! cargo, without these arguments, it has nothing to measure and says so.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the rules of clippy.toml are for the mail path; a measurement reads arguments and the clock"
)]

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, consumer, stream};
use futures_util::StreamExt;

const BODY: usize = 2048;
const SUBJECT: &str = "bare.hop";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["hop", url, dir] => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(hops(url, dir.as_ref())),
        _ => {
            println!("`cargo xtask bench courier` measures this");
            Ok(())
        }
    }
}

async fn hops(url: &str, dir: &Path) -> Result<()> {
    let context = jetstream::new(async_nats::connect(url).await?);
    let wanted = stream::Config {
        name: "bare".to_owned(),
        subjects: vec![SUBJECT.to_owned()],
        ..stream::Config::default()
    };
    let stream = context.create_stream(wanted).await?;
    let consumer = stream.create_consumer(consumer::pull::Config::default()).await?;
    let mut messages = consumer.stream().expires(Duration::from_secs(600)).messages().await?;
    let body = vec![b'x'; BODY];
    for (number, line) in std::io::stdin().lines().enumerate() {
        line?;
        let start = Instant::now();
        write_durably(dir, &format!("out-{number}"), &body)?;
        let acknowledged = context.publish(SUBJECT, body.clone().into()).await?;
        let message = messages.next().await.ok_or("the server ended the delivery")??;
        write_durably(dir, &format!("in-{number}"), &message.payload)?;
        println!("{}", start.elapsed().as_micros());
        message.ack().await.map_err(|e| e.to_string())?;
        acknowledged.await?;
        for side in ["out", "in"] {
            fs::remove_file(dir.join(format!("{side}-{number}")))?;
        }
    }
    Ok(())
}

/// As a message is published: staged, synced, moved, and the directory synced.
fn write_durably(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let staged = dir.join("staged");
    let mut file = File::create(&staged)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&staged, dir.join(name))?;
    Ok(File::open(dir)?.sync_all()?)
}
