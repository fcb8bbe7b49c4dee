//! The Model Context Protocol: a room for programs that speak it, over standard input and output or over HTTP.
//!
//! A thin view over `post`, like the command line: it holds no rule. Text for a model is framed as `read` frames it.
//! Only this part of the mail is asynchronous: every verb runs as synchronous code on its own thread. Nothing here
//! prints, reads the environment or exits.
//!
//! ```text
//! stdio.rs, http.rs   how a client is connected; strangers.rs those that have not shown the token
//! evidence.rs         what is done once an answer is out
//! server.rs           the methods of the protocol
//! tools.rs            the tools, as the client is told of them
//! calls.rs            what each tool does; letters.rs those that show, send and file messages
//! resources.rs        the inbox and threads, and how a change of them is noticed
//! desk.rs             who calls, in which room
//! ```

mod calls;
mod desk;
mod evidence;
mod http;
mod letters;
mod resources;
mod server;
mod stdio;
mod strangers;
mod tools;

pub use desk::Desk;
pub use http::{Door, serve as serve_http};
pub use stdio::{serve as serve_stdio, serve_over};
pub use tools::definitions;
