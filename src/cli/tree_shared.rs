//! `postroom tree shared get|set|append`.

use std::path::Path;

use clap::{Args, Subcommand};

use super::context::Context;
use super::fail::Fail;
use crate::message::visible;
use crate::post::{self, Failure};
use crate::view::tree as view;

/// Read and change shared files; no update is lost
///
///   postroom tree shared get                                   the names of the files
///   postroom tree shared get workflow-state current_step       a field, or a section by its heading
///   postroom tree shared set workflow-state current_step 2
///   postroom tree shared append session-context agents_invoked 'explore (completed)'
///   postroom tree shared append session-context 'Decisions Made' '- pytest, not unittest'
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
                match context.output.json {
                    true => context.output.json(&view::SharedFiles { files: &files }),
                    false => files.iter().for_each(|file| context.output.line(&visible::line(file))),
                }
                if files.is_empty() { Err(Fail::Code(Failure::Nothing)) } else { Ok(()) }
            }
            Deed::Get { file: Some(file), part } => {
                let Some(text) = shared.get(&file, part.as_deref())? else {
                    let what = part.map_or_else(
                        || format!("shared/{file}"),
                        |part| format!("`{part}` in shared/{file}"),
                    );
                    let hint = "postroom tree shared get lists the files";
                    return Err(Fail::unknown(format!("there is no {}", visible::clip(&what, 120)), hint));
                };
                match context.output.json {
                    true => {
                        let (file, part, text) = (file.as_str(), part.as_deref(), text.as_str());
                        context.output.json(&view::SharedText { file, part, text });
                    }
                    false => {
                        let shown = if context.output.terminal { visible::text(&text) } else { text };
                        context.output.text(&shown);
                        if !shown.ends_with('\n') {
                            context.output.line("");
                        }
                    }
                }
                Ok(())
            }
            Deed::Set { file, field, value } => {
                shared.set(&file, &field, &value)?;
                done(context)
            }
            Deed::Append { file, part, text } => {
                shared.append(&file, &part, &text)?;
                done(context)
            }
        }
    }
}

fn done(context: &mut Context) -> Result<(), Fail> {
    context.done = true;
    if context.output.json {
        context.output.json(&view::SharedDone { done: true });
    }
    Ok(())
}
