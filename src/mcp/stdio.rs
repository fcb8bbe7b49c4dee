//! Standard input and output: one client, which started this process. It ends when its input ends.

use std::io;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};

use super::desk::Desk;
use super::evidence::{Watched, WriteLock};
use super::server::Server;

/// Serves until the input ends.
pub fn serve(desk: Desk) -> io::Result<()> {
    serve_over(desk, stdio_pipes)
}

/// Serves over other streams, which are opened once there is a runtime for them.
pub fn serve_over<I, O>(desk: Desk, open: impl FnOnce() -> (I, O)) -> io::Result<()>
where
    I: AsyncRead + Send + Unpin + 'static,
    O: AsyncWrite + Send + Unpin + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let (input, output) = open();
        let gate = WriteLock::default();
        let transport = Watched::new(AsyncRwTransport::new_server(input, output), Arc::clone(&gate));
        match Server::new(desk, gate).serve(transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // A client that only probed, or sent nothing at all.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(e) => Err(io::Error::other(e)),
        }
    });
    // A wait that still runs has no client to answer.
    runtime.shutdown_background();
    ended
}
