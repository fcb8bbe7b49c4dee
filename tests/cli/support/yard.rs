//! A git repository beside a room, whose agent works in worktrees of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::room::{Ran, Run, TestRoom};
use crate::support::staffed::{AT_ONCE, runs};

/// A room with alice and coder, and a repository whose coder is a line of shell.
pub(crate) struct Yard {
    pub(crate) room: TestRoom,
    pub(crate) dir: PathBuf,
}

impl Yard {
    pub(crate) fn new(script: &str, more: &str) -> Self {
        let room = TestRoom::with(&["alice"]);
        room.run(["setup", "--child", "coder"]).succeeds();
        let dir = room.around().canonicalize().unwrap().join("web");
        std::fs::create_dir_all(dir.join("sub")).unwrap();
        std::fs::create_dir_all(room.around().join("home")).unwrap();
        let yard = Self { room, dir };
        yard.write("a.txt", "one\n");
        yard.write("sub/s.txt", "s\n");
        yard.write(".gitignore", "ignored\n");
        yard.settings(script, more);
        yard.git("init -q -b main");
        yard.commit("first");
        yard.trust();
        yard
    }

    pub(crate) fn settings(&self, script: &str, more: &str) {
        let table = format!(
            "[agents.coder]\npreset = \"command\"\ncommand = [\"sh\", \"-c\", '''{script}''']\n{more}\n{AT_ONCE}"
        );
        self.write("postroom.toml", &table);
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.dir.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn trust(&self) {
        self.room.run(["trust", "-q"]).arg(&self.dir).by_person().with(0);
    }

    /// A command of git, as the person gives it.
    #[track_caller]
    pub(crate) fn git(&self, words: &str) -> String {
        self.git_in(&self.dir, words)
    }

    #[track_caller]
    pub(crate) fn git_in(&self, dir: &Path, words: &str) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=p", "-c", "user.email=p@example.org", "-C"]).arg(dir);
        let out = command.args(words.split(' ')).output().unwrap();
        assert!(out.status.success(), "{words}: {out:?}");
        String::from_utf8(out.stdout).unwrap().trim_end().to_owned()
    }

    pub(crate) fn commit(&self, text: &str) {
        self.git("add -A");
        self.git(&format!("commit -qm {text}"));
    }

    pub(crate) fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Run {
        let own = Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", own.display());
        self.room.run(arguments).within(&self.dir).env("PATH", path)
    }

    pub(crate) fn dispatch(&self) -> Ran {
        self.command(["dispatch"]).ends()
    }

    /// A git whose checkout waits while the file `git.stop` beside it is there, and says then which process it is. Returns
    /// its directory.
    pub(crate) fn slow_git(&self) -> PathBuf {
        let bin = self.room.around().canonicalize().unwrap().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let script = "#!/bin/sh\ncase \"$*\" in *read-tree*) [ -e \"$0.stop\" ] && { echo $$ > \"$0.pid.new\"; mv \"$0.pid.new\" \"$0.pid\"; while :; do sleep 1; done; };; esac\nexec /usr/bin/git \"$@\"\n";
        std::fs::write(bin.join("git"), script).unwrap();
        std::fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        std::fs::write(bin.join("git.stop"), "").unwrap();
        bin
    }

    /// The worktree of the newest run, as its record has it.
    pub(crate) fn worktree(&self) -> Value {
        runs(&self.room).last().unwrap()["worktree"].clone()
    }

    /// The branches of the repository.
    pub(crate) fn branches(&self) -> Vec<String> {
        let all = self.git("for-each-ref --format=%(refname:short) refs/heads");
        all.lines().map(str::to_owned).collect()
    }

    /// Whatever there is where worktrees are, apart from the locks.
    pub(crate) fn left(&self) -> Vec<String> {
        let home = self.room.around().join("home/.local/state/postroom/worktrees");
        let Ok(repositories) = std::fs::read_dir(home) else { return vec![] };
        let inside = repositories.flat_map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap());
        let names = inside.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != ".turn" && name != ".sweep").collect()
    }
}
