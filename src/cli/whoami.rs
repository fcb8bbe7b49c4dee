//! `postroom whoami`.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use crate::message::visible;
use crate::view;

/// Show who this command acts as and why, and in which room
#[derive(Debug, Args)]
pub(super) struct Whoami {}

impl Verb for Whoami {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        let unread = post.count(&me)?;
        if context.output.json {
            context.output.json(&view::names::Whoami::of(context.place(), &me, unread));
            return Ok(());
        }
        let room = context.room_shown();
        context.output.line(&format!("name: {}", visible::line(me.shown())));
        context.output.line(&format!("id: {}", me.id));
        context.output.line(&format!("by: {}", me.why.as_str()));
        context.output.line(&format!("room: {room}"));
        context.output.line(&format!("unread: {unread}"));
        Ok(())
    }
}
