//! `postroom tree shared get|set|append`.

use std::path::Path;

use clap::{Args, Subcommand};

use super::context::Context;
use super::fail::Fail;
use crate::hint::Hint;
use crate::message::visible;
use crate::post::{self, Failure};
use crate::view::tree as view;

/// Read and change shared files; no update is lost
///
///   postroom tree shared get                              the files
///   postroom tree shared get workflow-state current_step  a field or a section
///   postroom tree shared set workflow-state current_step 2
///   postroom tree shared append session-context agents_invoked explore
///   postroom tree shared append session-context 'Decisions Made' '- use pytest'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Shared {
    #[command(subcommand)]
    deed: Deed,
}

#[derive(Debug, Subcommand)]
enum Deed {
    /// Print a file, a field of its frontmatter, or a section
    Get {
        /// Its name, with or without .md; default: list the files
        file: Option<String>,
        /// A field, or the heading of a section; default: the whole file
        part: Option<String>,
    },
    /// Set a field of the frontmatter; a new one goes to its end
    Set {
        /// Its name, with or without .md
        file: String,
        field: String,
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Add an item to a list of the frontmatter, or a line to a section
    Append {
        /// Its name, with or without .md; created if missing
        file: String,
        /// A list field, or the heading of a section; created if missing
        part: String,
        #[arg(allow_hyphen_values = true)]
        text: String,
    },
}

impl Shared {
    pub(super) fn run(self, context: &mut Context, claude: &Path) -> Result<(), Fail> {
        let shared = post::Shared::open(claude)?;
        match self.deed {
            Deed::Get { file: None, .. } => {
                let files = shared.files()?;
                let document = view::SharedFiles { files: &files };
                context.output.list(&document, &files, |output, file| output.line(&visible::line(file)));
                if files.is_empty() { Err(Fail::Code(Failure::Nothing)) } else { Ok(()) }
            }
            Deed::Get { file: Some(file), part } => {
                let Some(text) = shared.get(&file, part.as_deref())? else {
                    let of = part.map(|part| format!("`{part}` in ")).unwrap_or_default();
                    let why = format!("there is no {}", visible::clip(&format!("{of}shared/{file}"), 120));
                    return Err(Fail::unknown(
                        why,
                        Hint::run(&["tree", "shared", "get"]).to("lists the files"),
                    ));
                };
                let (file, part, text) = (file.as_str(), part.as_deref(), text.as_str());
                match context.output.json {
                    true => context.output.json(&view::SharedText { file, part, text }),
                    false => context.output.text_of_others(text),
                }
                Ok(())
            }
            Deed::Set { file, field, value } => done(context, shared.set(&file, &field, &value)),
            Deed::Append { file, part, text } => done(context, shared.append(&file, &part, &text)),
        }
    }
}

fn done(context: &mut Context, changed: post::Result<()>) -> Result<(), Fail> {
    changed?;
    context.done = true;
    if context.output.json {
        context.output.json(&view::SharedDone { done: true });
    }
    Ok(())
}
