//! The methods of the protocol. Every verb runs on its own thread, so that a wait blocks nothing; it is stopped when
//! its request is cancelled.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, interval_at};

use super::desk::Desk;
use super::evidence::{AfterSend, WriteLock};
use super::resources::{self, Which};
use super::{calls, tools};
use crate::wait::Stop;

/// How often a client that asked for progress is notified.
const PROGRESS: Duration = Duration::from_secs(5);

/// How many resources one client may watch: each is a thread.
const WATCHES: usize = 16;

/// The server of one client.
#[derive(Debug)]
pub(super) struct Server {
    desk: Desk,
    gate: WriteLock,
    /// The watches of clients that subscribe by a call, by URI.
    watches: Mutex<HashMap<String, Ends>>,
}

/// Stops a thread when it is dropped.
#[derive(Debug)]
struct Ends(Stop);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.now();
    }
}

impl Server {
    pub(super) fn new(desk: Desk, gate: WriteLock) -> Self {
        Self { desk, gate, watches: Mutex::default() }
    }

    /// The desk for this request, once the deeds of earlier answers are done.
    async fn desk(&self, context: &RequestContext<RoleServer>) -> Desk {
        drop(self.gate.lock().await);
        let program = context.client_info().map(|info| info.name.to_ascii_lowercase());
        self.desk.at(&context.meta, program.as_deref())
    }

    fn watches(&self) -> std::sync::MutexGuard<'_, HashMap<String, Ends>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches resources. The channel reports changes until the last guard is dropped.
async fn watch(
    desk: &Desk,
    uris: Vec<(String, Which)>,
) -> Result<(Vec<Ends>, UnboundedReceiver<String>), ErrorData> {
    let (tell, changes) = unbounded_channel();
    let mut guards = vec![];
    for (uri, which) in uris {
        let stop = stop()?;
        guards.push(Ends(stop.clone()));
        let (desk, tell) = (desk.clone(), tell.clone());
        let watching = spawn_blocking(move || which.begin(desk, stop)).await.map_err(lost)?;
        spawn_blocking(move || watching.run(&uri, &tell));
    }
    Ok((guards, changes))
}

fn stop() -> Result<Stop, ErrorData> {
    Stop::new().map_err(|e| ErrorData::internal_error(format!("no descriptor is left: {e}"), None))
}

fn known(uri: &str) -> Result<Which, ErrorData> {
    Which::parse(uri).ok_or_else(|| {
        not_found("there is no such resource; there are postroom://inbox and postroom://thread/ID", uri)
    })
}

fn not_found(text: impl Into<Cow<'static, str>>, uri: &str) -> ErrorData {
    ErrorData::resource_not_found(text, Some([("uri", uri)].into_iter().collect()))
}

fn lost(e: tokio::task::JoinError) -> ErrorData {
    ErrorData::internal_error(format!("the call was lost: {e}"), None)
}

/// Reports the duration of a call to a client that asked for progress. Never returns.
async fn tell_progress(context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    let start = Instant::now();
    let mut ticks = interval_at(start + PROGRESS, PROGRESS);
    loop {
        ticks.tick().await;
        let seconds = start.elapsed().as_secs();
        let told = ProgressNotificationParam::new(token.clone(), seconds as f64);
        let told = told.with_message(format!("waiting for mail, {seconds} s so far"));
        let _ = context.peer.notify_progress(told).await;
    }
}

#[allow(deprecated, reason = "clients of older revisions subscribe by a call")]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_resources_subscribe();
        ServerConfig::new(capabilities.build())
            .with_server_info(Implementation::new("postroom", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::definitions()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::definitions().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut desk = self.desk(&context).await;
        let mut arguments = request.arguments.unwrap_or_default();
        desk.take_session(&mut arguments);
        let (stop, deeds) = (stop()?, AfterSend::of(&context.extensions));
        let _ends = Ends(stop.clone());
        let name = request.name.clone();
        let mut call = spawn_blocking(move || calls::call(&desk, &request.name, arguments, &deeds, &stop));
        let answer = tokio::select! {
            answer = &mut call => answer.map_err(lost)?,
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
            () = tell_progress(&context) => None,
        };
        let none =
            || ErrorData::invalid_params(format!("there is no tool `{name}`; tools/list names them"), None);
        Ok(answer.ok_or_else(none)?.result().into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let (desk, which, uri) = (self.desk(&context).await, known(&request.uri)?, request.uri);
        let text = spawn_blocking(move || which.text(&desk)).await.map_err(lost)?;
        let text = text
            .map_err(|e| not_found([vec![e.to_string()], calls::next_steps(&e)].concat().join("; "), &uri))?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (desk, which) = (self.desk(&context).await, known(&request.uri)?);
        if self.watches().contains_key(&request.uri) {
            return Ok(());
        }
        if self.watches().len() >= WATCHES {
            let text = format!("{WATCHES} resources are watched; unsubscribe from one first");
            return Err(ErrorData::invalid_request(text, None));
        }
        let (mut guards, mut changes) = watch(&desk, vec![(request.uri.clone(), which)]).await?;
        let Some(guard) = guards.pop() else { return Ok(()) };
        self.watches().insert(request.uri, guard);
        let peer = context.peer.clone();
        tokio::spawn(async move {
            while let Some(uri) = changes.recv().await {
                if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watches().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::default();
        accepted.resource_subscriptions = requested.resource_subscriptions.as_ref().map(|uris| {
            uris.iter().filter(|uri| Which::parse(uri).is_some()).take(WATCHES).cloned().collect()
        });
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let desk = self.desk(context.request_context()).await;
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let uris: Vec<_> =
            uris.into_iter().filter_map(|uri| Some((uri.clone(), Which::parse(&uri)?))).collect();
        let (_guards, mut changes) = watch(&desk, uris.clone()).await?;
        // The subscription was confirmed before the watches began, so each begins with a notification.
        for (uri, _) in uris {
            if context.sink().notify_resource_updated(uri).await.is_err() {
                return Ok(());
            }
        }
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                Some(uri) = changes.recv() => {
                    if context.sink().notify_resource_updated(uri).await.is_err() {
                        return Ok(());
                    }
                }
                else => {
                    context.cancelled().await;
                    return Ok(());
                }
            }
        }
    }
}

impl AfterSend {
    /// The deeds of a request, over either transport.
    fn of(extensions: &rmcp::model::Extensions) -> Self {
        let parts = extensions.get::<hyper::http::request::Parts>();
        let over_http = parts.and_then(|parts| parts.extensions.get::<Self>());
        extensions.get::<Self>().or(over_http).cloned().unwrap_or_default()
    }
}
