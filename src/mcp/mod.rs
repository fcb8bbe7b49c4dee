//! The Model Context Protocol: a room for programs that speak it, over standard input and output or over HTTP.
//!
//! A thin view over `post`, like the command line: it holds no rule. Text for a model is framed as `read` frames it.
//! Only this part of the mail is asynchronous: every verb runs as synchronous code on its own thread. Nothing here
//! prints, reads the environment or exits.
//!
//! ```text
//! stdio.rs, http.rs   how a client is connected
//! evidence.rs         actions that wait until an answer is written
//! server.rs           the methods of the protocol
//! tools.rs            the tools, as described to the client
//! calls.rs            the tools; letters.rs: those that show, send and archive messages
//! resources.rs        the inbox and threads, and how their changes are noticed
//! desk.rs             the client's identity and the room
//! ```

mod calls;
mod desk;
mod evidence;
mod http;
mod letters;
mod resources;
mod server;
mod stdio;
mod tools;

pub use desk::{Desk, KEY as OPENCODE_KEY};
pub use http::{HttpBinding, serve as serve_http};
pub use stdio::{serve as serve_stdio, serve_over};
pub use tools::definitions;
