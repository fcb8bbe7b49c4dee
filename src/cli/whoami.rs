//! `postroom whoami`.

use clap::Parser;
use serde_json::json;

use super::context::Context;
use super::fail::Fail;
use super::{Globals, Verb};
use crate::message::visible;

/// Show who this command acts as and why, and in which room
#[derive(Debug, Parser)]
pub(super) struct Whoami {
    #[command(flatten)]
    globals: Globals,
}

impl Verb for Whoami {
    fn globals(&self) -> &Globals {
        &self.globals
    }

    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        let unread = post.count(&me)?;
        let root = context.root.display().to_string();
        if context.output.json {
            context.output.json(&json!({
                "v": 1, "name": me.name, "id": me.id.as_str(), "why": me.why.word(), "room": context.room, "root": root,
                "unread": unread,
            }));
            return Ok(());
        }
        let room = context.room_shown();
        context.output.line(&format!("name: {}", visible::line(me.shown())));
        context.output.line(&format!("id: {}", me.id));
        context.output.line(&format!("by: {}", me.why.word()));
        context.output.line(&format!("room: {room}"));
        context.output.line(&format!("unread: {unread}"));
        Ok(())
    }
}
