//! The scene of a history: a room with two mailboxes of each protocol, put back for every run, and the doing of steps.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::lab::Lab;
use crate::ledger::body;
use crate::p_model::look::Look;
use crate::p_model::oracle::Oracle;
use crate::p_model::step::{EVERYONE, Step, TEAM, Who};
use crate::place::{Place, ago, copy_tree, names_in, set_time};
use crate::process::{Ended, Run};

pub(crate) struct Scene {
    pub(crate) place: Place,
    /// Variables of tokens, by name.
    tokens: BTreeMap<String, String>,
    /// The time since boot was put forward.
    pub(crate) later: bool,
}

const BESIDE: [&str; 3] = ["web", "api", "site"];

impl Scene {
    pub(crate) fn prepare(lab: &Lab, base: &Path) -> Self {
        let place = Place::with(lab, base, &["alice", "bob"]);
        for name in BESIDE {
            fs::create_dir_all(base.join(name)).expect("a directory beside the room");
        }
        place.ok(&["setup", "carol", "--workspace", "web"]);
        place.ok(&["setup", "dave", "--workspace", "api"]);
        place.ok(&["setup", "--tree", "site", "explore", "writer"]);
        place.ok(&[&["group", "add", "team"][..], &TEAM].concat());
        place.save();
        for name in BESIDE {
            copy_tree(&base.join(name), &base.join("kept").join(name));
        }
        Self { place, tokens: BTreeMap::new(), later: false }
    }

    /// As it was at the beginning.
    pub(crate) fn restore(&mut self) {
        self.place.restore();
        for name in BESIDE {
            let _ = fs::remove_dir_all(self.place.base.join(name));
            copy_tree(&self.place.base.join("kept").join(name), &self.place.base.join(name));
        }
        self.tokens.clear();
        self.later = false;
    }

    /// The command of a step; an error if it needs a message that is nowhere.
    pub(crate) fn command(&self, step: &Step, oracle: &Oracle) -> Result<Run, String> {
        let look = Look::at(&self.place);
        let words: Result<Vec<String>, String> =
            step.words(&oracle.token(step)).iter().map(|word| self.resolved(word, &look, oracle)).collect();
        let words = words?;
        let run = self.run_of(&words.iter().map(String::as_str).collect::<Vec<_>>());
        Ok(match step {
            Step::Takeover { .. } => run.env("CLAUDE_CODE_SESSION_ID", "another-session"),
            _ => run,
        })
    }

    pub(crate) fn run_of(&self, words: &[&str]) -> Run {
        let run = self.place.command(words);
        if self.later { run.behind(["unshare", "--time", "--boottime", "86400", "--"]) } else { run }
    }

    /// Keeps the token that a claim told.
    pub(crate) fn keep_token(&mut self, variable: &str, ended: &Ended) -> bool {
        let told: Option<Value> = serde_json::from_slice(&ended.out).ok();
        let token = told.and_then(|told| told["claim"]["token"].as_str().map(str::to_owned));
        let kept = token.map(|token| self.tokens.insert(variable.to_owned(), token));
        kept.is_some()
    }

    /// Does a step by hand, as a shell would: a file is written elsewhere and moved, what it answers is put away.
    pub(crate) fn by_hand(&self, step: &Step, oracle: &Oracle) -> Result<(), String> {
        let look = Look::at(&self.place);
        let (path, text) = step.file().ok_or("not by hand")?;
        let mut path = PathBuf::from(self.resolved(&path, &look, oracle)?);
        let text = self.resolved(&text, &look, oracle)?;
        let moves = step.moves();
        let moves = moves.map(|(from, to)| {
            Ok::<_, String>((self.resolved(&from, &look, oracle)?, self.resolved(&to, &look, oracle)?))
        });
        let moves = moves.transpose()?;
        while path.exists() {
            path = PathBuf::from(format!("{}.2", path.display()));
        }
        let made =
            |dir: &Path| DirBuilder::new().recursive(true).mode(0o700).create(dir).expect("a directory");
        made(path.parent().expect("a directory"));
        let draft = self.place.base.join("draft");
        fs::write(&draft, text).expect("a draft");
        fs::set_permissions(&draft, PermissionsExt::from_mode(0o600)).expect("its mode");
        // Written a moment ago and moved now: nobody has to wait to see whether it grows.
        set_time(&draft, ago(10));
        synced(&draft);
        fs::rename(&draft, &path).expect("a file in its place");
        synced(path.parent().expect("a directory"));
        if let Some((from, to)) = moves {
            made(Path::new(&to));
            let name = Path::new(&from).file_name().expect("a name").to_owned();
            fs::rename(&from, Path::new(&to).join(name)).expect("a message put away");
            synced(Path::new(&to));
        }
        Ok(())
    }

    /// Replaces what a shell would: `$base`, `$t_…` and `$(…)`.
    fn resolved(&self, text: &str, look: &Look, oracle: &Oracle) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            rest = if let Some(after) = after.strip_prefix("base") {
                out.push_str(&self.place.base.display().to_string());
                after
            } else if let Some(after) = after.strip_prefix('(') {
                let (inner, after) = after.split_once(')').ok_or("an open bracket")?;
                out.push_str(&self.asked(inner, look, oracle)?);
                after
            } else {
                let token = self.tokens.get(&format!("${after}"));
                out.push_str(token.ok_or_else(|| format!("there is no token ${after}"))?);
                ""
            };
        }
        out.push_str(rest);
        Ok(out)
    }

    fn asked(&self, inner: &str, look: &Look, oracle: &Oracle) -> Result<String, String> {
        let words: Vec<&str> = inner.split(' ').collect();
        let copy = |key: &str, who: &str| {
            let state =
                oracle.copies.iter().find(|((k, w), _)| k == key && *w == who).map(|(_, held)| held.state);
            look.find(key, who, state).ok_or_else(|| format!("{key} of {who} is nowhere"))
        };
        match words[..] {
            ["body", key] => Ok(body(key)),
            ["mailbox", who] => {
                let home = self.place.mailbox(who);
                Ok(home.file_name().expect("a name").to_string_lossy().into_owned())
            }
            ["id_of", key, who] => Ok(copy(key, who)?.id()),
            ["path", key, who] => Ok(copy(key, who)?.path.display().to_string()),
            ["field", name, key, who] => {
                let copy = copy(key, who)?;
                let value = copy.fields.get(name).cloned();
                value.ok_or_else(|| format!("{key} of {who} has no field {name}"))
            }
            _ => Err(format!("unknown: {inner}")),
        }
    }

    /// Everybody looks into their mailbox.
    pub(crate) fn all_look(&self) -> Vec<(Who, Ended)> {
        EVERYONE.map(|who| (who, self.run_of(&["--as", who, "check", "--count"]).end())).into()
    }

    /// The directories of all claims.
    pub(crate) fn claims(&self) -> Vec<PathBuf> {
        let base = &self.place.base;
        let homes = EVERYONE.map(|who| self.place.mailbox(who).join("claimed"));
        let beside = ["web", "api"].map(|name| base.join(name).join(".mailbox/claimed"));
        let trees = ["explore", "writer"]
            .map(|agent| base.join("site/.claude/.postroom/claims").join(agent).join("claimed"));
        let folders = homes.into_iter().chain(beside).chain(trees);
        folders.flat_map(|folder| names_in(&folder).into_iter().map(move |name| folder.join(name))).collect()
    }

    /// Ends the leases of all claims but these, as if their time were over.
    pub(crate) fn end_leases_but(&self, known: &[PathBuf]) {
        for claim in self.claims().into_iter().filter(|claim| !known.contains(claim)) {
            let path = claim.join("claim.json");
            let terms = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
            if let Some(mut terms) = terms.filter(Value::is_object) {
                terms["until_ms"] = 0.into();
                fs::write(&path, terms.to_string()).expect("the terms of a claim");
            }
        }
    }
}

/// What is done by hand is not Postroom's to make durable.
fn synced(path: &Path) {
    File::open(path).and_then(|file| file.sync_all()).expect("a sync");
}
