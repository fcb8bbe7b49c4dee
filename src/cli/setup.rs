//! `postroom setup`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{GREEN, Output};
use crate::hint::{Hint, quoted};
use crate::message::visible;
use crate::name::MailboxId;
use crate::post::{self, NewMailbox, Why};
use crate::surroundings::whole_path;
use crate::view;

/// Make your mailbox and give it a name
///
/// Without NAME it takes a free given name. The mailbox is bound to the agent's session or to this terminal, so that
/// later commands need no --as. Taking your own name again is success; a taken name exits 4. Mail goes between all
/// kinds of mailboxes; --workspace and --tree make those of other protocols.
#[derive(Debug, Args)]
pub(super) struct Setup {
    /// Your name; with --tree, one name for each agent
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Another name for the same mailbox; may be repeated
    #[arg(long, value_name = "NAME")]
    alias: Vec<String>,
    /// What this agent can do, shown by `names`
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// Set up another agent: its mailbox, its name, and the prompt that tells it
    #[arg(long)]
    child: bool,
    /// Your mailbox is the .mailbox of this directory, whose name is your default name
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Lay out a .claude tree in this project, with inboxes for its agents, and name them here
    #[arg(long, value_name = "DIR", conflicts_with_all = ["workspace", "child", "alias", "about"])]
    tree: Option<PathBuf>,
    /// With --tree: list the tree's mail in the project's .gitignore
    #[arg(long, requires = "tree")]
    gitignore: bool,
}

impl Verb for Setup {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        context.must_stay_in_place()?;
        if let Some(project) = &self.tree {
            let project = whole_path(project)?;
            context.may_make_in(&project, Path::new(".claude/inboxes"))?;
            let post = context.post_or_new()?;
            let adopted = post.setup_tree(&project, &self.names, self.gitignore)?;
            return super::adopt::tell(context, post, &adopted);
        }
        let mut names = self.names.into_iter();
        let (name, more) = (names.next(), names.next());
        if let Some(more) = more {
            let why = format!("setup takes one name; `{}` is a second", visible::clip(&more, 60));
            return Err(Fail::usage(why, "`setup --tree DIR AGENT…` names several"));
        }
        let workspace = self.workspace.map(|dir| whole_path(&dir)).transpose()?;
        if let Some(dir) = &workspace {
            context.may_make_in(dir, Path::new(".mailbox"))?;
        }
        let post = context.post_or_new()?;
        let wanted = NewMailbox {
            name,
            aliases: self.alias,
            about: self.about,
            child: self.child,
            workspace,
            program: None,
        };
        let setup = post.setup(&wanted)?;
        context.done = true;
        if let Some(kind) =
            crate::os::network(&context.root).filter(|_| setup.created && !context.output.quiet)
        {
            let what = format!("this room is on a network disk ({kind})");
            context.warn(&what, Hint::run(&["doctor"]).to("what that means"));
        }
        // The person is not an agent that somebody briefs.
        let is_briefed = self.child && !setup.name.eq_ignore_ascii_case(post::USER);
        let prompt = is_briefed.then(|| prompt(context, &setup));
        let room = context.room_shown();
        let place = context.place();
        let back = context.hint(Hint::run(&["setup", post::USER]));
        let output = &mut context.output;
        if output.json {
            output.json(&view::names::Setup::of(place, &setup, prompt.as_deref()));
            return Ok(());
        }
        if output.quiet {
            return Ok(());
        }
        let name = visible::line(&setup.name);
        output.line(&format!("name: {}", output.paint(GREEN, &name)));
        if setup.chosen {
            output.line("chosen: no name was given, and this one was free");
        }
        output.line(&format!("id: {}", setup.id));
        output.line(&format!("room: {room}"));
        match setup.unread {
            Some(0) => {}
            Some(unread) => output.line(&format!("unread: {unread}")),
            None => output.line("unread: ?"),
        }
        match prompt {
            Some(prompt) => {
                output
                    .remark("an agent in postroom.toml needs nothing more; for one that you start by hand:");
                output.text(&format!("prompt for the new agent:\n{prompt}"));
            }
            None => tell_how(output, setup.bound, &name, &setup.id),
        }
        if let Some(was) = &setup.was {
            let back = match was.eq_ignore_ascii_case(post::USER) {
                true => format!("; {back} goes back"),
                false => String::new(),
            };
            output.line(&format!("it acted as {} until now{back}", visible::line(was)));
        }
        Ok(())
    }
}

/// Prints how to act as a mailbox from now on.
pub(super) fn tell_how(output: &mut Output, bound: Option<Why>, name: &str, id: &MailboxId) {
    match bound {
        None => output.line(&format!("to act as it: --as {name}, or export AGENT_MAILBOX_ID={id}")),
        Some(Why::Terminal) => output.line(&format!("this terminal acts as {name} in this room")),
        Some(_) => {}
    }
}

/// The prompt for a new agent: its name and the place of its mail.
fn prompt(context: &Context, setup: &post::Setup) -> String {
    let (name, id, root) = (visible::line(&setup.name), &setup.id, context.root.display().to_string());
    let quoted = quoted(&root);
    format!(
        "You are the agent {name}. Your mailbox is {id} in the room {root}.\n\
         Before anything else, set it up: AGENT_MAILBOX_ID={id} POSTROOM_ROOT={quoted} postroom setup\n\
         Keep both variables set for every later postroom command. Then check your mail: a first message whose\n\
         subject begins with `spawn:` is your task, and you hand back its result by replying to it.\n"
    )
}
