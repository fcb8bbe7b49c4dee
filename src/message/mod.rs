//! What a message is. Pure: nothing here knows a clock, a disk or a terminal.
//!
//! `envelope` holds what every protocol says about a message, `frontmatter` takes a file apart,
//! `maildir`, `workspace` and `tree` are the codecs of the three protocols, and `any` reads whichever it is and converts
//! between them. Reading is liberal (`liberal`), writing is strict (`unwritable`). `shared` reads
//! and changes the shared files of a `.claude` tree, `file_name` the rule of its names, `fence` the form in
//! which a message is shown to a model, `secret` the table of what should not be mailed, and `visible`
//! makes text harmless to a terminal.

pub mod any;
pub mod compose;
pub mod envelope;
pub mod fence;
pub mod file_name;
pub mod frontmatter;
pub mod liberal;
pub mod maildir;
pub mod protocol;
pub mod secret;
pub mod shared;
pub mod step;
pub mod tree;
pub mod unwritable;
pub mod visible;
pub mod workspace;
pub mod yaml;

pub use envelope::{Envelope, Head, Message, Native, Priority};
pub use file_name::FileName;
pub use frontmatter::ParseError;
pub use protocol::Protocol;
pub use step::Step;
pub use unwritable::Unwritable;
