//! The deeds of P5, each with the file of another program in which it works, and the scene before it: a home, a project
//! and a room, kept beside themselves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::lab::Lab;
use crate::place::{Place, copy_tree, names_in};
use crate::process::{Ended, Run};

/// What is disturbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    /// Into settings that are there.
    Install,
    /// Where there are none.
    FirstInstall,
    /// Settings come back.
    Uninstall,
    /// The file goes.
    LastUninstall,
    Trust,
    Distrust,
    Shared,
    Ignore,
}

/// How another program saves a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writer {
    InPlace,
    ByRename,
}

const SETTINGS: &str = "// mine\n{\n\t\"hooks\": {\"AfterTool\": [ ] },  /* odd */\n  \"x\" : [1,\n2] }\n\n";
const KEPT: [&str; 3] = ["home", "project", "room"];

impl Deed {
    pub(crate) const ALL: [Self; 8] = [
        Self::Install,
        Self::FirstInstall,
        Self::Uninstall,
        Self::LastUninstall,
        Self::Trust,
        Self::Distrust,
        Self::Shared,
        Self::Ignore,
    ];

    /// Whether only a person may do it. Below an agent program not even the battery passes for one.
    pub(crate) fn is_persons(self) -> bool {
        matches!(self, Self::Trust | Self::Distrust)
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Install | Self::FirstInstall => &["install", "gemini"],
            Self::Uninstall | Self::LastUninstall => &["uninstall", "gemini"],
            Self::Trust => &["trust", "project", "--yes"],
            Self::Distrust => &["trust", "project", "--revoke"],
            Self::Shared => &["tree", "--tree", "project", "shared", "set", "notes", "step", "2"],
            Self::Ignore => &["setup", "--tree", "project", "--gitignore", "explore"],
        }
    }
}

/// A home, a project and a room in the state before a deed.
pub(crate) struct Scene {
    pub(crate) place: Place,
    deed: Deed,
    /// The files as they have to be once everything is taken out again.
    original: BTreeMap<PathBuf, Option<Vec<u8>>>,
    /// The target after an undisturbed run.
    pub(crate) after: Option<Vec<u8>>,
}

impl Scene {
    pub(crate) fn prepare(lab: &Lab, base: &Path, deed: Deed) -> Self {
        let place = Place::with(lab, base, &["alice"]);
        let write = |path: &str, text: &str| {
            let path = place.base.join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file of the scene");
        };
        write("home/.gemini/other", "theirs");
        write("project/postroom.toml", "[agents.worker]\npreset = \"claude\"\n");
        write("project/.gitignore", "/target");
        if !matches!(deed, Deed::FirstInstall | Deed::LastUninstall) {
            write("home/.gemini/settings.json", SETTINGS);
        }
        if deed == Deed::Shared {
            place.ok(&["setup", "--tree", "project", "explore"]);
            write("project/.claude/shared/notes.md", "---\nstep: 1\n---\n\n# Notes\n");
        }
        let mut scene = Self { place, deed, original: BTreeMap::new(), after: None };
        scene.original = scene.picture();
        match deed {
            Deed::Uninstall | Deed::LastUninstall => drop(scene.place.ok(&["install", "gemini"])),
            Deed::Distrust => drop(scene.place.ok(&["trust", "project"])),
            _ => {}
        }
        for folder in KEPT {
            copy_tree(&base.join(folder), &base.join("kept").join(folder));
        }
        scene.place.ok(deed.words());
        scene.after = fs::read(scene.target()).ok();
        scene.restore();
        scene
    }

    pub(crate) fn restore(&self) {
        for folder in KEPT {
            let _ = fs::remove_dir_all(self.place.base.join(folder));
            copy_tree(&self.place.base.join("kept").join(folder), &self.place.base.join(folder));
        }
    }

    pub(crate) fn run(&self) -> Run {
        let run = self.place.command(self.deed.words());
        if self.deed.is_persons() { run.at_terminal() } else { run }
    }

    /// Whether its calls are those of another deed but for the file.
    pub(crate) fn is_variant(&self) -> bool {
        matches!(self.deed, Deed::FirstInstall | Deed::Uninstall)
    }

    /// Whether the file goes: what is saved between the look and that is lost most easily.
    pub(crate) fn removes(&self) -> bool {
        self.deed == Deed::LastUninstall
    }

    /// The file of another program.
    pub(crate) fn target(&self) -> PathBuf {
        self.place.base.join(match self.deed {
            Deed::Trust | Deed::Distrust => "project/postroom.toml",
            Deed::Shared => "project/.claude/shared/notes.md",
            Deed::Ignore => "project/.gitignore",
            _ => "home/.gemini/settings.json",
        })
    }

    /// What only the n-th save says.
    pub(crate) fn mark(&self, n: usize) -> String {
        format!("saved_{n}_")
    }

    /// The n-th text that the other program saves.
    pub(crate) fn saved(&self, n: usize) -> String {
        let mark = self.mark(n);
        match self.deed {
            Deed::Trust | Deed::Distrust => format!("# {mark}\n[agents.worker]\npreset = \"codex\"\n"),
            Deed::Shared => format!("---\nby: {mark}\n---\n\n# Notes\n"),
            Deed::Ignore => format!("/{mark}\n"),
            _ => format!("{{ // another program\n  \"{mark}\": [1, 2]\n}}\n"),
        }
    }

    /// What lies beside the file under the name of a write that was not finished.
    pub(crate) fn beside(&self) -> Vec<String> {
        let target = self.target();
        let start = format!(".{}.", target.file_name().expect("a name").to_string_lossy());
        let mut names = names_in(target.parent().expect("a directory"));
        names.retain(|name| name.starts_with(&start));
        names
    }

    /// Removes what a command that was killed, or could not remove it, may leave beside a file of which nothing is recorded.
    pub(crate) fn sweep(&self) {
        if matches!(self.deed, Deed::Shared | Deed::Ignore) {
            for name in self.beside() {
                fs::remove_file(self.target().with_file_name(name)).expect("litter can be removed");
            }
        }
    }

    /// Ends what was begun as a user would, by the same command again and then by taking it out. `saved`: the last save of
    /// the other program. What is not as it has to be then.
    pub(crate) fn finish(&self, saved: Option<usize>) -> Vec<String> {
        let mut wrong = vec![];
        let mut ends = |words: &[&str], good: &[i32]| -> Ended {
            let ended = self.place.run(words);
            if !ended.code.is_some_and(|code| good.contains(&code)) {
                wrong.push(format!("then {words:?}: {}", ended.shown()));
            }
            ended
        };
        match self.deed {
            // A save that came first can be settings that it may not change.
            Deed::Install | Deed::FirstInstall => {
                ends(self.deed.words(), &[0]);
                ends(&["uninstall", "gemini"], &[0]);
            }
            Deed::Uninstall | Deed::LastUninstall => drop(ends(self.deed.words(), &[0, 1])),
            Deed::Trust => {
                ends(self.deed.words(), &[0]);
                ends(Deed::Distrust.words(), &[0]);
                ends(Deed::Distrust.words(), &[1]);
            }
            Deed::Distrust => {
                ends(self.deed.words(), &[0, 1]);
                ends(self.deed.words(), &[1]);
            }
            Deed::Shared | Deed::Ignore => drop(ends(self.deed.words(), &[0])),
        }
        let left = self.beside();
        if !left.is_empty() {
            wrong.push(format!("{left:?} are left beside the file"));
        }
        match self.deed {
            Deed::Shared | Deed::Ignore => {
                let text = fs::read_to_string(self.target()).unwrap_or_default();
                let done = if self.deed == Deed::Shared { "step: 2\n" } else { "/.claude/inboxes/\n" };
                let theirs = saved.map(|n| self.mark(n)).unwrap_or_default();
                if !text.contains(done) || !text.contains(&theirs) {
                    wrong.push(format!("the file says {text:?}"));
                }
            }
            _ => {
                let mut expected = self.original.clone();
                if let Some(n) = saved {
                    expected.insert(self.target(), Some(self.saved(n).into_bytes()));
                }
                let now = self.picture();
                for path in
                    expected.keys().chain(now.keys()).filter(|path| now.get(*path) != expected.get(*path))
                {
                    wrong.push(format!("{} is not as it was", path.display()));
                }
            }
        }
        wrong
    }

    /// Every file and directory of the home and the project, without what is postroom's own.
    fn picture(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.place.base.join("home"), self.place.base.join("project")];
        while let Some(path) = open.pop() {
            if path.ends_with("home/state") {
                continue;
            }
            let is_file = path.is_file();
            open.extend(names_in(&path).into_iter().map(|name| path.join(name)));
            let bytes = is_file.then(|| fs::read(&path).unwrap_or_default());
            found.insert(path, bytes);
        }
        found
    }
}
