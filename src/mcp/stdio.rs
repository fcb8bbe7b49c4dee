//! Standard input and output: one client, which started this process. It ends when its input ends.

use std::io;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;

use super::desk::Desk;
use super::evidence::{Gate, Watched};
use super::server::Server;

/// Serves until the input ends.
pub fn serve(desk: Desk) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let (input, output) = stdio_pipes();
        let gate = Gate::default();
        let transport = Watched::new(AsyncRwTransport::new_server(input, output), Arc::clone(&gate));
        match Server::new(desk, gate).serve(transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // A client that only asked what is there, or said nothing at all.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(e) => Err(io::Error::other(e)),
        }
    });
    // A wait that still goes on has nobody to tell.
    runtime.shutdown_background();
    ended
}
