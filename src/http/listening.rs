//! Listening: accepts connections and answers their requests, until the process ends.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};

use super::connections::{Connection, Connections};
use super::{PATIENCE, Reply};

/// Serves a listener. `places`: how many connections may be let in at the same time; `answer`: answers one request.
pub(crate) async fn serve<F, A>(listener: TcpListener, places: usize, answer: F) -> io::Result<()>
where
    F: Fn(Arc<Connection>, Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Reply> + Send + 'static,
{
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let connections = Connections::new(places);
    for number in 0.. {
        // A connection that is gone before it was accepted, or a lack of descriptors, does not end the server.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        // An event that waits for the next packet would be late on a screen.
        let _ = stream.set_nodelay(true);
        let (answer, connection) = (answer.clone(), Arc::new(connections.connection(number)));
        let task = tokio::spawn(async move {
            let service = service_fn(|request| {
                let reply = answer(Arc::clone(&connection), request);
                async move { Ok::<_, Infallible>(reply.await) }
            });
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_headers(64);
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
        connections.came(number, task.abort_handle());
        // Read what this connection has already sent before another one can evict it.
        tokio::task::yield_now().await;
    }
    Ok(())
}
