//! The server for programs that speak the Model Context Protocol.

pub(crate) mod clients;
pub(crate) mod http;
pub(crate) mod real;
pub(crate) mod stdio;
pub(crate) mod strangers;
pub(crate) mod wait;
pub(crate) mod who;
