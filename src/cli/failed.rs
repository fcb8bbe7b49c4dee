//! `postroom failed`: dead letters.

use clap::{Args, Subcommand};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{CYAN, Output, PLAIN, RED};
use super::shown::Shown;
use crate::mailbox::Folder;
use crate::message::{file_name, visible};
use crate::post::DeadLetter;
use crate::view::claim as view;

/// Show dead letters, and retry them
#[derive(Debug, Args)]
pub(super) struct Failed {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// One line each: ID, attempts, reason, subject
    List,
    /// A dead letter with all its attempts
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Make it unread again, and count its attempts anew
    Retry {
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

impl Verb for Failed {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        match self.what {
            What::List => {
                let letters = post.dead_letters(&me)?;
                context.output.list(&view::FailedList::of(&me, &letters), &letters, show);
                if letters.is_empty() { Err(context.nothing("no dead letters")) } else { Ok(()) }
            }
            What::Show { id } => {
                let opened = post.open_in(&me, &id, Folder::Failed)?;
                let attempts =
                    post.dead_letters(&me)?.into_iter().find(|l| l.name == opened.name).map(|l| l.attempts);
                let attempts = attempts.unwrap_or_default();
                if context.output.json {
                    context.output.json(&view::FailedShow::of(post, &opened, &attempts));
                    return Ok(());
                }
                let shown = Shown {
                    remark: Some("it is a dead letter".into()),
                    path: me.mailbox.path(Folder::Failed, &opened.name),
                    ..Shown::default()
                };
                let text = shown.text(context, post, &me.id, &opened);
                context.output.text(&text);
                for a in &attempts {
                    let owner = visible::line(post.name_of(&a.owner));
                    let line = format!(
                        "{} {owner} {} {}",
                        visible::line(&a.time),
                        visible::line(&a.how),
                        visible::line(&a.why)
                    );
                    context.output.line(line.trim_end());
                }
                Ok(())
            }
            What::Retry { ids } => {
                // Find all before moving the first, and retry each once.
                let mut names = vec![];
                for id in &ids {
                    let name = post.open_in(&me, id, Folder::Failed)?.name;
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                let again = names.iter().map(|name| post.retry(&me, name)).collect::<Result<Vec<_>, _>>()?;
                context.done = true;
                let lines = ids.iter().map(|id| format!("unread again {}", visible::line(id)));
                context.output.receipt(&view::FailedRetry { retried: again }, lines);
                Ok(())
            }
        }
    }
}

fn show(output: &mut Output, letter: &DeadLetter) {
    let id = visible::line(file_name::short(&letter.name).unwrap_or(&letter.name));
    let (tries, why) = (letter.tries, letter.reason());
    let unreadable = |why: &String| format!("(unreadable: {why})");
    let subject = letter.envelope.as_ref().map_or_else(unreadable, |e| e.subject.clone());
    let line = format!("{id} attempts={tries} {}: {}", visible::line(why), visible::line(&subject));
    let tries = format!("{tries} attempts");
    output.entry(&[(CYAN, id), (PLAIN, tries), (RED, why.to_owned()), (PLAIN, subject)], &line);
}
