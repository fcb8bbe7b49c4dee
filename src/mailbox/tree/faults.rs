//! Faults in the trays of an agent, each with its file, and its line and field if known.
//!
//! A fault is an unreadable file, two requests with one id in one inbox, or a response without its request. Nothing is
//! moved or repaired: these files are written by hand, and only their writers know what was meant.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::facts::{Seen, Tray};
use super::{LIMIT, Tree};
use crate::mailbox::place::PlaceFault;
use crate::message::workspace::file_name_of;
use crate::message::{ParseError, frontmatter, yaml};
use crate::name::MailboxId;

impl Tree {
    /// The faults in the trays of an agent.
    pub fn faults(&self, agent: &MailboxId, inbox: &Seen, outbox: &Seen) -> Vec<PlaceFault> {
        let path = |tray: Tray, name: &std::ffi::OsStr| self.tray_path(tray, agent).join(name);
        let mut found = vec![];
        for (tray, seen) in [(Tray::Inbox, inbox), (Tray::Outbox, outbox)] {
            let strange = seen.strange.iter().map(|(name, what)| (name.as_os_str(), format!("it is {what}")));
            // A file without frontmatter is a note, and the next look files it.
            let bare = ParseError::NoFrontmatter.to_string();
            let broken =
                seen.facts.iter().filter(|(_, facts)| facts.as_ref().err() != Some(&bare)).filter_map(
                    |(name, facts)| facts.as_ref().err().map(|why| (std::ffi::OsStr::new(name), why.clone())),
                );
            found.extend(strange.chain(broken).map(|(name, why)| fault(path(tray, name), why, "§11.2")));
        }
        let at = |tray: Tray, name: &str, field: &str, why: String| {
            let line =
                self.line_of(tray, agent, name, field).map_or(String::new(), |n| format!("line {n}: "));
            (path(tray, name.as_ref()), format!("{line}`{field}`: {why}"))
        };
        let mut ids: HashMap<&str, &str> = HashMap::new();
        for (name, facts) in inbox.readable() {
            if let Some(other) = ids.insert(&facts.id, name) {
                let why = format!("{} is in this inbox twice, also in {other}", facts.id);
                let (path, why) = at(Tray::Inbox, name, "id", why);
                found.push(fault(path, why, "§11.2"));
            }
        }
        // An unreadable request is already reported above; the missing request of its response would be noise.
        let unread: HashSet<String> = inbox.broken().into_iter().collect();
        for (name, facts) in outbox.readable() {
            let request = facts.request_id.as_deref().or_else(|| name.strip_suffix("-response.md"));
            let request = request.unwrap_or(name);
            let file = format!("{}.md", file_name_of(request));
            let is_archived = || {
                self.tray(Tray::ArchivedInbox, agent).is_ok_and(|t| t.is_some_and(|t| t.stat(&file).is_ok()))
            };
            if !ids.contains_key(request) && !unread.contains(&format!("{request}.md")) && !is_archived() {
                let why = format!("the request {request} is not in the inbox of {agent}");
                let (path, why) = at(Tray::Outbox, name, "request_id", why);
                found.push(fault(path, why, "§11.4"));
            }
        }
        found
    }

    /// The line of a field; it is searched only for a fault.
    fn line_of(&self, tray: Tray, agent: &MailboxId, name: &str, field: &str) -> Option<usize> {
        let bytes = self.tray(tray, agent).ok()??.read(name, LIMIT).ok()??;
        let split = frontmatter::split(frontmatter::text(&bytes).ok()?).ok()?;
        yaml::fields(split.header).ok()?.into_iter().find(|f| f.key == field).map(|f| f.line)
    }
}

fn fault(path: PathBuf, why: String, rule: &'static str) -> PlaceFault {
    PlaceFault { path, why, rule, is_litter: false }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::super::scene::*;
    use super::*;

    #[test]
    fn each_fault_names_its_file_and_its_line() {
        let scene = Scene::new(&["a"]);
        scene.put("a", "2026-11-15-001", "");
        let text = scene.text("inboxes/a/2026-11-15-001.md");
        let moved = text.replacen("id: 2026-11-15-001\n", "", 1).replacen(
            "to: a\n",
            "to: a\nid: 2026-11-15-001\n",
            1,
        );
        std::fs::write(scene.path("inboxes/a/copy.md"), moved).unwrap();
        scene.put("a", "2026-11-15-002", "status: waiting\n");
        std::os::unix::fs::symlink("/etc/hostname", scene.path("inboxes/a/link.md")).unwrap();
        for (id, request) in [("007", "request_id: 2026-11-15-007\n"), ("002", ""), ("008", "")] {
            let text = text.replacen("---\n", &format!("---\n{request}"), 1);
            std::fs::write(scene.path(&format!("outboxes/a/2026-11-15-{id}-response.md")), text).unwrap();
        }
        let agent = scene.agent("a");
        let (inbox, outbox) = (agent.facts(Tray::Inbox).unwrap(), agent.facts(Tray::Outbox).unwrap());
        let found = scene.tree.faults(&id("a"), &inbox, &outbox);
        let shown: Vec<_> = found
            .iter()
            .map(|fault| {
                (fault.path.file_name().unwrap().to_str().unwrap(), fault.why.as_str(), fault.rule == "§11.4")
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("link.md", "it is a symbolic link", false),
                (
                    "2026-11-15-002.md",
                    "line 6: `status`: not one of pending, in_progress, completed, failed",
                    false
                ),
                (
                    "copy.md",
                    "line 4: `id`: 2026-11-15-001 is in this inbox twice, also in 2026-11-15-001.md",
                    false
                ),
                (
                    "2026-11-15-007-response.md",
                    "line 2: `request_id`: the request 2026-11-15-007 is not in the inbox of a",
                    true
                ),
                (
                    "2026-11-15-008-response.md",
                    "`request_id`: the request 2026-11-15-008 is not in the inbox of a",
                    true
                ),
            ]
        );
    }
}
