//! Evidence: actions that wait until an answer is written. A message is archived after its text was written, not
//! before, and the note of a reply is removed after its receipt is written.
//!
//! Each request carries its [`AfterSend`]. The writer of the answer does them: [`Watched`] around the pipe of stdio once
//! the line was written, and [`BodyThenActions`] around the body of an HTTP response once the connection has taken all of it.
//! An answer that is never written leaves everything as it was.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};
use rmcp::RoleServer;
use rmcp::model::{GetExtensions, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::task::JoinHandle;

type Action = Box<dyn FnOnce() + Send>;

/// The actions to do once the answer to a request is written.
#[derive(Clone, Default)]
pub(super) struct AfterSend(Arc<Mutex<Vec<Action>>>);

impl std::fmt::Debug for AfterSend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AfterSend")
    }
}

impl AfterSend {
    pub(super) fn add(&self, deed: impl FnOnce() + Send + 'static) {
        self.list().push(Box::new(deed));
    }

    fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Action>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn perform(&self) {
        let deeds = std::mem::take(&mut *self.list());
        deeds.into_iter().for_each(|deed| deed());
    }
}

/// Held while an answer is written and its deeds are done: a client that acts on the answer finds them done.
pub(super) type WriteLock = Arc<tokio::sync::Mutex<()>>;

/// A transport that does the deeds of each request once its answer was written.
#[derive(Debug)]
pub(super) struct Watched<T> {
    pub(super) inner: T,
    pub(super) gate: WriteLock,
    open: HashMap<RequestId, AfterSend>,
}

impl<T> Watched<T> {
    pub(super) fn new(inner: T, gate: WriteLock) -> Self {
        Self { inner, gate, open: HashMap::new() }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let id = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let deeds = id.and_then(|id| self.open.remove(id)).filter(|deeds| !deeds.is_empty());
        let gate = Arc::clone(&self.gate);
        let sending = self.inner.send(item);
        async move {
            let Some(deeds) = deeds else { return sending.await };
            let _gate = gate.lock().await;
            sending.await?;
            let _ = tokio::task::spawn_blocking(move || deeds.perform()).await;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.inner.receive().await?;
        match &mut message {
            JsonRpcMessage::Request(request) => {
                let deeds = AfterSend::default();
                request.request.extensions_mut().insert(deeds.clone());
                self.open.insert(request.id.clone(), deeds);
            }
            // No answer follows a cancelled request.
            JsonRpcMessage::Notification(notification) => {
                if let rmcp::model::ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                {
                    cancelled.params.request_id.iter().for_each(|id| drop(self.open.remove(id)));
                }
            }
            _ => {}
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

/// The body of a response. It does the deeds when it was taken to its end, and ends once they are done.
#[derive(Debug)]
pub(super) struct BodyThenActions<B> {
    inner: B,
    deeds: AfterSend,
    /// They wait for the disk, so they run on their own thread: all connections share one.
    doing: Option<JoinHandle<()>>,
}

impl<B> BodyThenActions<B> {
    pub(super) fn new(inner: B, deeds: AfterSend) -> Self {
        Self { inner, deeds, doing: None }
    }
}

impl<B: Body + Unpin> Body for BodyThenActions<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        if self.doing.is_none() {
            match Pin::new(&mut self.inner).poll_frame(context) {
                Poll::Ready(None) if !self.deeds.is_empty() => {
                    let deeds = self.deeds.clone();
                    self.doing = Some(tokio::task::spawn_blocking(move || deeds.perform()));
                }
                polled => return polled,
            }
        }
        let Some(doing) = &mut self.doing else { return Poll::Ready(None) };
        // AfterSend that panicked count as not done: the message is not archived.
        let ended = Pin::new(doing).poll(context).map(|_| None);
        if ended.is_ready() {
            self.doing = None;
        }
        ended
    }

    // Neither the end nor the size is announced, so that the connection asks once more after the last frame.
    fn is_end_stream(&self) -> bool {
        false
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use http_body_util::{BodyExt, Full};
    use hyper::body::Bytes;

    use super::*;

    #[test]
    fn while_a_deed_waits_for_the_disk_other_connections_go_on() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (go_on, may_go_on) = mpsc::channel();
        let (done, is_done) = mpsc::channel();
        let deeds = AfterSend::default();
        deeds.add(move || {
            begun.send(()).unwrap();
            done.send(may_go_on.recv_timeout(Duration::from_secs(20)).is_ok()).unwrap();
        });
        let text = runtime.block_on(async {
            let taken = tokio::spawn(BodyThenActions::new(Full::new(Bytes::from("text")), deeds).collect());
            // This can be sent only if the thread is free.
            has_begun.await.unwrap();
            assert!(!taken.is_finished(), "the answer ends after its deeds");
            go_on.send(()).unwrap();
            taken.await.unwrap().unwrap().to_bytes()
        });
        assert_eq!(text, "text");
        assert_eq!(is_done.try_recv(), Ok(true));
    }
}
