//! E2: planted links. Wherever Postroom reads or writes, somebody put a symbolic link to something outside.
//!
//! The canary behind the link is neither read (its time of access tells), nor changed, nor added to; the
//! command refuses, or goes on without what it cannot trust.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lab::{Findings, Lab, Outcome, spread};
use crate::ledger::body;
use crate::ops::{ASKED, Op};
use crate::place::{Place, ago, names_in, set_time};

/// What is replaced by a link, below the root; `@` is bob's mailbox, `#` alice's.
const PLANTED: [&str; 24] = [
    "",
    "..",
    "@",
    "@/inbox",
    "@/tmp",
    "@/archive",
    "@/quarantine",
    "@/answering",
    "@/card.json",
    "@/seen",
    "@/.alive",
    "@/.deliver.lock",
    "@/.answer.lock",
    "@/inbox/20200101T000000Z-00000000-link.md",
    "#/inbox",
    "#/tmp",
    "registry.json",
    ".registry.lock",
    ".journal",
    ".journal/DAY.jsonl",
    ".staging",
    ".postroom",
    "postroom.toml",
    "README.md",
];

/// What the canary must stay: a file that would be a fine message, and would serve as registry, card or note
/// as well as any.
const SECRET: &str = "the-canary-was-read";

pub(crate) fn planted_links(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let places: Vec<Place> = (0..lab.workers)
        .map(|worker| Op::Reply.prepare(lab, &dir.path().join(format!("w{worker}"))))
        .collect();
    findings.check(time_of_access_is_kept(&places[0].base), || {
        "the file system keeps no time of access".to_owned()
    });
    let new = body("new");
    let commands: [&[&str]; 15] = [
        &["--as", "alice", "send", "bob", "-m", &new],
        &["--as", "alice", "send", "bob", "--id", "abcd0123", "-m", &new],
        &["--as", "bob", "send", "alice", "-m", &new],
        &["--as", "bob", "check"],
        &["--as", "bob", "read"],
        &["--as", "bob", "read", ASKED],
        &["--as", "bob", "reply", ASKED, "-m", &new],
        &["--as", "bob", "archive", ASKED],
        &["--as", "bob", "wait", "--timeout", "0.01"],
        &["names"],
        &["whoami"],
        &["log"],
        &["setup", "dave"],
        &["doctor"],
        &["doctor", "--fix"],
    ];
    let mut all = vec![];
    for planted in PLANTED {
        for kind in ["a file", "a directory", "nothing"] {
            all.extend(commands.map(|command| (planted, kind, command)));
        }
    }
    // Tier 0 has time for every third; as there are three kinds for each place, each command meets each place.
    let some: Vec<_> = all
        .into_iter()
        .enumerate()
        .filter(|(n, _)| lab.tier > 0 || (n % commands.len() + n / commands.len()).is_multiple_of(3))
        .map(|(_, case)| case)
        .collect();
    let (runs, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    spread(lab.workers, &some, |worker, (planted, kind, command)| {
        let place = &places[worker];
        let Some(mut guard) = Planted::new(place, planted, kind) else { return };
        let at =
            format!("{} with a link to {kind} at `{planted}`", command[..3.min(command.len())].join(" "));
        let ended = place.command(command).env("CLAUDE_CODE_SESSION_ID", "of the link").end();
        runs.fetch_add(1, Ordering::Relaxed);
        refused.fetch_add(usize::from(!ended.ok()), Ordering::Relaxed);
        findings.extend(&at, ended.crash());
        let told = [ended.stdout(), ended.stderr()].concat();
        findings.check(!told.contains(SECRET), || format!("{at}: it shows the canary"));
        findings.extend(&at, guard.harm());
        guard.remove();
    });
    let (runs, refused) = (runs.into_inner(), refused.into_inner());
    findings.verdict(format!(
        "{} places, {runs} runs, {refused} of them refused, canaries unread and unchanged",
        PLANTED.len()
    ))
}

/// A room with one link in it, and the canary that the link leads to.
struct Planted {
    canary: PathBuf,
    before: Vec<String>,
    accessed: Vec<(PathBuf, i64)>,
    /// The link in the place of the room's parent, and where that was put meanwhile.
    swapped: Option<(PathBuf, PathBuf)>,
}

impl Planted {
    fn new(place: &Place, planted: &str, kind: &str) -> Option<Self> {
        place.restore();
        let canary = place.outside().join("canary");
        let _ = fs::remove_dir_all(&canary);
        let _ = fs::remove_file(&canary);
        let at = resolve(place, planted);
        match kind {
            "a file" => fs::write(
                &canary,
                format!("---\nfrom: x\nmsg_id: 00000000\nsubject: {SECRET}\n---\n\n{SECRET}\n"),
            ),
            // What lies behind a directory is a copy of what was there, so that nothing else gives the link
            // away.
            "a directory" => {
                let copied = if planted == ".." { place.root.clone() } else { at.clone() };
                let copied = Some(copied).filter(|path| path.is_dir());
                let below = if planted == ".." { canary.join("room") } else { canary.clone() };
                fs::create_dir_all(&canary).expect("a canary");
                copied.iter().for_each(|from| crate::place::copy_tree(from, &below));
                fs::write(canary.join("20200101T000000Z-00000000-canary.md"), SECRET)
            }
            _ => Ok(()),
        }
        .expect("a canary");
        let mut swapped = None;
        if planted == ".." {
            // The parent of the room is the base of the place; a second base that is a link stands for it.
            if kind != "a directory" {
                return None;
            }
            let (real, kept) = (place.base.clone(), place.base.with_extension("kept"));
            fs::rename(&real, &kept).expect("the base out of the way");
            symlink(kept.join("outside/canary"), &real).expect("a link");
            swapped = Some((real, kept));
        } else {
            let _ = fs::remove_dir_all(&at);
            let _ = fs::remove_file(&at);
            if let Some(parent) = at.parent() {
                fs::create_dir_all(parent).expect("the directory of the link");
            }
            symlink(&canary, &at).expect("a link");
        }
        let canary = swapped.as_ref().map_or(canary, |(_, kept)| kept.join("outside/canary"));
        let mut planted = Self { canary, before: vec![], accessed: vec![], swapped };
        planted.mark();
        Some(planted)
    }

    /// Makes every later look at the canary show: an old time of access is renewed by the next.
    fn mark(&mut self) {
        for line in listing(&self.canary) {
            let path = PathBuf::from(line.split(' ').next().unwrap_or_default());
            if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file() || meta.is_dir()) {
                set_time(&path, ago(7 * 86_400));
                self.accessed.push((path.clone(), fs::symlink_metadata(&path).expect("the canary").atime()));
            }
        }
        self.before = listing(&self.canary);
    }

    fn harm(&self) -> Vec<String> {
        let mut harm = vec![];
        // The times first: a look at the contents renews them.
        for (path, accessed) in &self.accessed {
            match fs::symlink_metadata(path) {
                Ok(meta) if meta.atime() == *accessed => {}
                Ok(_) => harm.push(format!("{} was read", path.display())),
                Err(_) => harm.push(format!("{} is gone", path.display())),
            }
        }
        let after = listing(&self.canary);
        if after != self.before {
            harm.push(format!("the canary was changed: {after:?}"));
        }
        harm
    }

    fn remove(&mut self) {
        if let Some((real, kept)) = self.swapped.take() {
            fs::remove_file(&real).expect("the link");
            fs::rename(kept, real).expect("the base back in its place");
        }
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        if self.swapped.is_some() {
            self.remove();
        }
    }
}

/// Modes, sizes and times of change, without opening anything that would renew a time of access.
fn listing(path: &Path) -> Vec<String> {
    let Ok(meta) = fs::symlink_metadata(path) else { return vec!["nothing".to_owned()] };
    let mut lines = vec![format!("{} {:o} {} {}", path.display(), meta.mode(), meta.len(), meta.mtime())];
    if meta.is_dir() {
        let (accessed, changed) = (meta.accessed().expect("a time"), meta.modified().expect("a time"));
        for name in names_in(path) {
            lines.extend(listing(&path.join(name)));
        }
        // Listing it was a look of ours.
        let file = fs::File::open(path).expect("the directory");
        file.set_times(fs::FileTimes::new().set_accessed(accessed).set_modified(changed)).expect("its times");
    }
    lines
}

fn resolve(place: &Place, planted: &str) -> PathBuf {
    let day = names_in(&place.root.join(".journal")).pop().unwrap_or_default();
    // What the binding of the session of these commands is called (format.md, sessions).
    let hash = &crate::ledger::sha256(b"claude\0of the link")[..32];
    let text = planted.replace('@', &id(place, "bob")).replace('#', &id(place, "alice"));
    let text = text.replace("DAY.jsonl", &day).replace("HASH", hash);
    if text.is_empty() { place.root.clone() } else { place.root.join(text) }
}

fn id(place: &Place, name: &str) -> String {
    place.mailbox(name).file_name().expect("a name").to_string_lossy().into_owned()
}

/// Whether a look at a file shows in its time of access; without that the test could not fail.
fn time_of_access_is_kept(base: &Path) -> bool {
    let probe = base.join("outside/probe");
    fs::write(&probe, "probe").expect("a probe");
    set_time(&probe, ago(7 * 86_400));
    let before = fs::metadata(&probe).expect("the probe").atime();
    fs::read(&probe).expect("the probe");
    let after = fs::metadata(&probe).expect("the probe").atime();
    fs::remove_file(&probe).expect("the probe");
    after != before
}
