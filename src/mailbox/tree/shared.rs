//! Shared state of a tree: the files in `.claude/shared/`, read and changed part by part.
//!
//! ```text
//! shared/session-context.md   who works on what: session_id, started, user_goal, agents_invoked
//!       /workflow-state.md    how far a workflow is: workflow_id, status, current_step, total_steps
//!       /<name>.md            whatever agents agree on
//! ```
//!
//! A change is made under the tree's lock and written only if the file is still as it was read. So our updates wait for
//! each other, and an update by hand is seen and kept. [`crate::message::shared`] defines the parts and their changes.

use rustix::fs::FileType;

use super::{LIMIT, Tree};
use crate::mailbox::disk::{Dir, Swapped};
use crate::mailbox::fault::{Error, Result};
use crate::message::{ParseError, file_name, frontmatter, shared, yaml};
use crate::name::MailboxId;

impl Tree {
    /// The names of the shared files, with `.md`, sorted.
    pub fn shared_files(&self) -> Result<Vec<String>> {
        let mut names = vec![];
        if let Some(dir) = self.walk(&["shared"])? {
            dir.scan_once(|name, kind| {
                let regular = kind == FileType::RegularFile && file_name::is_message(name);
                let name = str::from_utf8(name).ok().filter(|name| regular && MailboxId::parse(name).is_ok());
                names.extend(name.map(str::to_owned));
            })?;
        }
        names.sort();
        Ok(names)
    }

    /// The whole text of a shared file.
    pub fn shared(&self, name: &str) -> Result<Option<String>> {
        let name = self.file_of(name)?;
        let Some(dir) = self.walk(&["shared"])? else { return Ok(None) };
        let Some(bytes) = dir.read(&name, LIMIT)? else { return Ok(None) };
        Ok(Some(text(&dir, &name, &bytes)?.to_owned()))
    }

    /// The fields of a shared file that have a single value.
    pub fn shared_fields(&self, name: &str) -> Result<Vec<(String, String)>> {
        let Some(text) = self.shared(name)? else { return Ok(vec![]) };
        // A file without frontmatter has no fields.
        let Ok(split) = frontmatter::split(&text) else { return Ok(vec![]) };
        let fields = yaml::fields(split.header)
            .map_err(|source| Error::Unparsed { path: self.path().join("shared").join(name), source })?;
        let value =
            |field: yaml::Field| Some((field.key, field.value?)).filter(|(_, v)| !v.is_empty() && v != "~");
        Ok(fields.into_iter().filter_map(value).collect())
    }

    /// One part of a shared file: a scalar, a list by lines, or the text of a section.
    pub fn get(&self, name: &str, key: &str) -> Result<Option<String>> {
        let Some(text) = self.shared(name)? else { return Ok(None) };
        let path = self.path().join("shared").join(self.file_of(name)?);
        shared::get(&text, key).map_err(|source| Error::Unparsed { path, source })
    }

    /// Sets a scalar of the frontmatter, and adds it at the end if it is missing. Durable on return.
    pub fn set(&self, name: &str, key: &str, value: &str) -> Result<()> {
        self.rewrite(name, |text| shared::set(text, key, value))
    }

    /// Appends an item to a list of the frontmatter, or a line to a section, which is added if it is missing. Durable on
    /// return.
    pub fn append(&self, name: &str, key: &str, line: &str) -> Result<()> {
        self.rewrite(name, |text| shared::append(text, key, line))
    }

    /// The directory with the states of workflow runs, made if it is missing.
    pub fn shared_runs(&self) -> Result<Dir> {
        self.dir.create_dir_synced("shared")?.create_dir_synced("workflows")
    }

    /// Replaces a file by the result of a change, and makes it if it is missing. Durable on return.
    pub fn rewrite(
        &self,
        name: &str,
        change: impl Fn(&str) -> std::result::Result<String, ParseError>,
    ) -> Result<()> {
        let name = self.file_of(name)?;
        let _held = self.hold()?;
        let dir = self.dir.create_dir_synced("shared")?;
        let path = || dir.path().join(&name);
        self.persist(path, || {
            let (bytes, stat) = dir.read_known(&name, LIMIT)?.unzip();
            let bytes = bytes.unwrap_or_default();
            let before = text(&dir, &name, &bytes)?;
            let after = change(before).map_err(|source| Error::Unparsed { path: path(), source })?;
            let done = match stat {
                Some(_) if after == before => Ok(Swapped::Done),
                Some(stat) => dir.compare_and_swap(&name, after.as_bytes(), (&bytes, &stat)),
                None => dir.create_synced(&name, after.as_bytes()).map(|()| Swapped::Done),
            };
            match done {
                Ok(Swapped::Done) => Ok(Some(())),
                // Changed, removed or made by another process meanwhile.
                Ok(Swapped::Changed) | Err(Error::Exists { .. }) => Ok(None),
                Err(e) if e.is_missing() => Ok(None),
                Err(e) => Err(e),
            }
        })
    }

    /// The file of a shared name: one checked component that ends in `.md`.
    fn file_of(&self, name: &str) -> Result<String> {
        let stem = MailboxId::parse(name.strip_suffix(".md").unwrap_or(name)).map_err(|why| {
            let short: String = name.chars().take(64).collect();
            let why = format!("{short:?} cannot be part of a file name: {why}");
            Error::Content { path: self.path().join("shared"), why }
        })?;
        Ok(format!("{stem}.md"))
    }
}

fn text<'b>(dir: &Dir, name: &str, bytes: &'b [u8]) -> Result<&'b str> {
    frontmatter::text(bytes).map_err(|source| Error::Unparsed { path: dir.path().join(name), source })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::super::scene::*;
    use super::*;

    #[test]
    fn many_append_at_once_and_nothing_is_lost() {
        let scene = Scene::new(&[]);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let tree = scene.tree.clone();
                scope.spawn(move || {
                    for n in 0..25 {
                        let item = format!("agent-{thread}-{n} (completed)");
                        match n % 2 {
                            0 => tree.append("session-context", "agents_invoked", &item).unwrap(),
                            _ => tree.append("session-context.md", "Decisions Made", &item).unwrap(),
                        }
                    }
                });
            }
        });
        let get = |key: &str| scene.tree.get("session-context", key).unwrap().unwrap();
        let mut lines: Vec<_> = get("agents_invoked").lines().map(str::to_owned).collect();
        lines.extend(get("Decisions Made").lines().map(str::to_owned));
        lines.sort();
        let mut wanted: Vec<_> =
            (0..200).map(|n| format!("agent-{}-{} (completed)", n / 25, n % 25)).collect();
        wanted.sort();
        assert_eq!(lines, wanted);
        assert_eq!(std::fs::read_dir(scene.path("shared")).unwrap().count(), 2);
    }

    #[test]
    fn the_new_files_take_every_kind_of_change() {
        let scene = Scene::new(&[]);
        let tree = &scene.tree;
        assert_eq!(tree.shared_files().unwrap(), ["session-context.md", "workflow-state.md"]);
        tree.set("workflow-state", "current_step", "2").unwrap();
        tree.set("workflow-state", "note", "a: b").unwrap();
        tree.append("workflow-state", "Steps", "1. [x] Explore: look").unwrap();
        assert_eq!(
            tree.shared("workflow-state").unwrap().unwrap(),
            "---\nworkflow_id:\nstatus:\ncurrent_step: 2\ntotal_steps:\nnote: \"a: b\"\n---\n\n## Steps\n\n1. [x] Explore: look\n\n## Accumulated Results\n"
        );
        assert_eq!(tree.get("workflow-state", "current_step").unwrap().as_deref(), Some("2"));
        assert_eq!(tree.get("workflow-state", "status").unwrap().as_deref(), Some(""));
        assert_eq!(tree.get("nothing", "x").unwrap(), None);
        tree.append("results", "Found", "one").unwrap();
        assert_eq!(tree.shared("results").unwrap().unwrap(), "## Found\n\none\n");
        tree.set("numbers", "a", "1").unwrap();
        assert_eq!(scene.text("shared/numbers.md"), "---\na: 1\n---\n");
    }

    #[test]
    fn a_name_is_never_a_path_and_an_error_names_its_place() {
        let scene = Scene::new(&[]);
        for bad in ["../x", "a/b", "", ".md", ".x", "/etc/passwd"] {
            assert!(matches!(scene.tree.set(bad, "a", "1"), Err(Error::Content { .. })), "{bad}");
            assert!(matches!(scene.tree.shared(bad), Err(Error::Content { .. })), "{bad}");
        }
        std::fs::write(scene.path("shared/bad.md"), "---\na: 1\na: 2\n---\n").unwrap();
        let e = scene.tree.get("bad", "a").unwrap_err();
        assert!(
            e.to_string().contains("/.claude/shared/bad.md: line 3: the field `a` is there twice"),
            "{e}"
        );
        std::os::unix::fs::symlink("/etc/hostname", scene.path("shared/link.md")).unwrap();
        assert!(matches!(scene.tree.shared("link"), Err(Error::Link { .. })));
        assert!(scene.tree.append("link", "a", "x").is_err());
    }
}
