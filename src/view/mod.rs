//! Views: one type for every document that Postroom prints for programs.
//!
//! A view is shape and nothing else. Its fields are the keys in printed order, and its constructor takes a value of the
//! library. It decides nothing, reads nothing and asks nothing. The doc comments are the descriptions in the JSON
//! Schema of each document, docs/schema/. The tests generate the schemas from these types and compare them.
//!
//! The table at the end of this file lists every document; nothing else can be printed.

pub mod agents;
pub mod answer;
pub mod board;
pub mod check;
pub mod claim;
pub mod courier;
pub mod install;
pub mod mcp;
pub mod message;
pub mod names;
pub mod notify;
pub mod prune;
pub mod rooms;
pub mod run;
#[cfg(test)]
mod schema;
pub mod send;
pub mod status;
pub mod status_network;
pub mod stop;
pub mod trace;
pub mod transcript;
pub mod tree;
pub mod trust;
pub mod workflow;

use serde::Serialize;

/// The version that every document carries. Keys are only ever added.
const VERSION: u8 = 1;

/// A document that `--json` prints.
pub trait Document: Serialize {}

/// The result of a tool of the Model Context Protocol.
pub trait ToolResult: Serialize {}

/// A document with its version, as printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "{T}"))]
pub struct Versioned<T> {
    /// The version of the format; keys are only ever added to it.
    #[cfg_attr(test, schemars(schema_with = "schema::version"))]
    v: u8,
    #[serde(flatten)]
    document: T,
}

impl<T> Versioned<T> {
    pub fn of(document: T) -> Self {
        Self { v: VERSION, document }
    }
}

/// Names documents: the file of each in docs/schema/, and its type.
macro_rules! documents {
    ($kind:ident, $schemas:ident, $printed:ident: $($name:literal $document:ty,)*) => {
        $(impl $kind for $document {})*

        #[cfg(test)]
        pub(crate) fn $schemas() -> Vec<(&'static str, serde_json::Value)> {
            vec![$(($name, schema::of::<$document, $printed<$document>>())),*]
        }
    };
}

/// The result of a tool as printed: without a version.
#[cfg(test)]
type Bare<T> = T;

documents! { Document, printed, Versioned:
    "adopt" names::Adoptions<'_>,
    "agents" agents::Agents<'_>,
    "approve" workflow::Approval<'_>,
    "archive" send::Archive,
    "ask" check::Ask<'_>,
    "check" check::Check<'_>,
    "check-all" check::CheckAll<'_>,
    "claim" claim::Claim<'_>,
    "claim-state" claim::ClaimState<'_>,
    "courier-carried" courier::CourierCarried,
    "courier-join" courier::CourierJoined<'_>,
    "courier-said" courier::CourierSaid<'_>,
    "courier-status" courier::CourierState<'_>,
    "dispatch" run::Dispatch<'_>,
    "doctor" rooms::Doctor<'_>,
    "error" answer::Error<'_>,
    "failed-list" claim::FailedList<'_>,
    "failed-list-all" claim::FailedListAll<'_>,
    "failed-retry" claim::FailedRetry,
    "failed-show" claim::FailedShow<'_>,
    "group" names::Groups<'_>,
    "install" install::Install<'_>,
    "install-check" install::InstallCheck,
    "install-plan" install::InstallPlan,
    "log" trace::Event<'_>,
    "mcp-http" answer::Listening<'_>,
    "names" names::Names<'_>,
    "names-all" names::NamesAll<'_>,
    "notify" notify::Notice<'_>,
    "pause" stop::Paused<'_>,
    "prune" prune::Prune<'_>,
    "read" check::Read<'_>,
    "receipts" send::Receipts<'_>,
    "rename" names::Rename<'_>,
    "rooms" rooms::Rooms<'_>,
    "rooms-prune" rooms::RoomsPrune<'_>,
    "rooms-relink" rooms::Relink<'_>,
    "runs" run::Runs<'_>,
    "runs-event" transcript::Followed<'_>,
    "runs-one" transcript::RunTranscript<'_>,
    "runs-output" run::RunOutput<'_>,
    "search" trace::Search<'_>,
    "send-wait-for" send::Fate<'_>,
    "sent" trace::Sent<'_>,
    "setup" names::Setup<'_>,
    "spawn" send::Spawn<'_>,
    "stats" rooms::Stats<'_>,
    "status" status::Status<'_>,
    "status-all" status::StatusAll<'_>,
    "stop" stop::Stopped<'_>,
    "takeover" names::Takeover<'_>,
    "text" answer::Text<'_>,
    "thread" trace::Thread<'_>,
    "trace" trace::Trace<'_>,
    "trash" prune::Trash<'_>,
    "tree-cleanup" tree::TreeCleanup<'_>,
    "tree-shared-done" tree::SharedDone,
    "tree-shared-files" tree::SharedFiles<'_>,
    "tree-shared-text" tree::SharedText<'_>,
    "tree-status" tree::TreeStatus<'_>,
    "trust" trust::TrustItems<'_>,
    "trust-export" trust::TrustRecord,
    "trust-said" trust::TrustSaid,
    "undo" prune::Undo<'_>,
    "unit" answer::Unit<'_>,
    "uninstall" install::Uninstall<'_>,
    "verify" rooms::Verify,
    "wait" check::Wait<'_>,
    "wait-all" check::WaitAll<'_>,
    "web" answer::Page<'_>,
    "whoami" names::Whoami<'_>,
    "workflow-check" workflow::WorkflowCheck<'_>,
    "workflow-graph" workflow::Graph<'_>,
    "workflow-graph-yaml" workflow::Definition<'_>,
    "workflow-list" workflow::WorkflowList<'_>,
    "workflow-run" workflow::Run<'_>,
    "workflow-step" workflow::StepResult<'_>,
    "workflow-unreadable" workflow::UnreadableRun<'_>,
}

documents! { ToolResult, of_tools, Bare:
    "mcp-archive" mcp::Archive<'_>,
    "mcp-check" mcp::Check,
    "mcp-names" mcp::Names,
    "mcp-read" mcp::Read<'_>,
    "mcp-receipts" mcp::Receipts<'_>,
    "mcp-setup" mcp::Setup<'_>,
    "mcp-wait" mcp::Wait,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::dispatcher::Event;
    use crate::dispatch::runs;

    fn printed(document: &impl Document) -> String {
        serde_json::to_string(&Versioned::of(document)).unwrap()
    }

    #[test]
    fn the_version_comes_first_and_keys_keep_their_order() {
        assert_eq!(printed(&answer::Text { text: "x" }), r#"{"v":1,"text":"x"}"#);
        let event = Event::Waits { agent: "a", why: "b" };
        let document = run::Dispatch::of(&event).unwrap();
        assert_eq!(printed(&document), r#"{"v":1,"event":"waits","agent":"a","why":"b"}"#);
    }

    #[test]
    fn the_end_of_a_run_is_the_run_and_then_its_event() {
        let record = r#"{"v":1,"id":"i","mailbox":"m","agent":"a","message":"x","file":"f","from":"b","thread":"t",
            "attempt":1,"started":"s","state":"done"}"#;
        let record: runs::Run = serde_json::from_str(record).unwrap();
        let document = printed(&run::Dispatch::of(&Event::Ended { run: &record }).unwrap());
        let run = serde_json::to_string(&record).unwrap();
        assert_eq!(document, format!(r#"{},"event":"ended"}}"#, run.strip_suffix('}').unwrap()));
    }
}
