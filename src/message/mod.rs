//! Messages. Pure: nothing here knows a clock, a disk or a terminal.
//!
//! `envelope` holds the fields that all protocols share, `frontmatter` splits a file, `maildir`, `workspace` and `tree`
//! are the codecs of the three protocols, and `any` reads all of them and converts between them. Reading is liberal
//! (`liberal`), writing is strict (`unwritable`). `shared` reads and changes the shared files of a `.claude` tree,
//! `file_name` is the rule for file names, `attachment` a file that travels beside a message, `fence` the form in which
//! a message is shown to a model, `secret` the table of likely secrets, and `visible` makes text safe for a terminal.

pub mod any;
pub mod attachment;
pub mod compose;
pub mod envelope;
pub mod fence;
pub mod file_name;
pub mod frontmatter;
pub mod liberal;
pub mod maildir;
pub mod origin;
pub mod protocol;
pub mod role;
pub mod secret;
pub mod shared;
pub mod step;
pub mod tree;
pub mod unwritable;
pub mod visible;
pub mod workspace;
pub mod yaml;

pub use attachment::Attachment;
/// The field that names the network a message came by, if its room is on another machine.
pub const FROM_NETWORK: &str = "from_network";

pub use envelope::{Envelope, Head, Message, Priority, ProtocolFields};
pub use file_name::FileName;
pub use frontmatter::ParseError;
pub use origin::Origin;
pub use protocol::Protocol;
pub use step::Step;
pub use unwritable::Unwritable;
