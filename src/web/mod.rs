//! The web page: people see at a glance who works on what, what is stuck and why, and join in.
//!
//! A thin view over the library, like the command line: it holds no rule. A page is HTML that is made here and shows its data
//! without a script; the script keeps it current (`live`), and sends deeds. Nothing is loaded from elsewhere, and nothing of a
//! message can run.
//!
//! ```text
//! server.rs    a request, from the connection to the answer; replies.rs: answers
//! workers.rs   threads for what is synchronous
//! guard.rs     who may look, and who may act; codes.rs: what a person types; names.rs: what browsers call the server
//! routes.rs    the tables of views and deeds
//! live.rs      the streams of events; feed.rs: one line of them
//! page.rs      the frame of every page, and its files; picture.rs: three views as one file
//! views/       what is shown, one file each; templates/: their HTML
//! deeds.rs     what is done
//! transcripts.rs  what runs printed, as far as pages show it
//! metrics.rs   figures for Prometheus
//! lanes.rs     a thread, drawn; drawing.rs: workflows; charts.rs: numbers
//! markdown.rs  a body as HTML that is safe; markup.rs: times and addresses
//! ```

mod charts;
mod codes;
mod deeds;
mod drawing;
mod feed;
mod guard;
mod lanes;
mod live;
mod markdown;
mod markup;
mod metrics;
mod names;
mod page;
mod picture;
mod replies;
mod routes;
mod server;
mod transcripts;
mod views;
mod workers;

pub use crate::desk::Desk;
pub use names::{Name, Origin};
pub use picture::picture;
pub use server::{Codes, Web};
