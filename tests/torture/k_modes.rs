//! K1: modes. Whatever the umask, every directory is 0700 and every file 0600.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::lab::{Findings, Lab, Outcome};
use crate::ledger::body;
use crate::place::{Place, ago, names_in, set_time};

pub(crate) fn umasks(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let (mut commands, mut entries) = (0, 0);
    for umask in ["000", "022", "077", "777"] {
        let dir = lab.fast_dir();
        let place = Place::new(lab, dir.path());
        let at = format!("umask {umask}");
        let mut run = |words: &[&str], wanted: i32| {
            let run = place.command(words).env("CLAUDE_CODE_SESSION_ID", words.join(" "));
            let ended = run.in_shell(&format!("umask {umask}"), "").end();
            findings.check(ended.code == Some(wanted), || format!("{at}: {words:?}: {}", ended.shown()));
            commands += 1;
            ended.stdout()
        };
        let text = body("modes");
        for name in ["alice", "bob"] {
            run(&["setup", name, "--about", "tests modes"], 0);
        }
        run(&["--as", "alice", "setup", "--alias", "al"], 0);
        run(&["setup", "--child", "carol"], 0);
        run(&["--as", "alice", "send", "bob", "-s", "question", "--id", "a5ced000", "-m", &text], 0);
        run(&["--as", "alice", "send", "bob", "-s", "more", "--priority", "urgent", "-m", &text], 0);
        run(&["--as", "alice", "send", "bob", "-s", "third", "--id", "abcd0003", "-m", &text], 0);
        run(&["--as", "bob", "check"], 0);
        run(&["--as", "bob", "wait", "--timeout", "1"], 0);
        run(&["--as", "bob", "reply", "a5ced000", "-m", &text], 0);
        run(&["--as", "bob", "archive", "abcd0003"], 0);
        run(&["--as", "bob", "unarchive", "abcd0003"], 0);
        let broken = place.folder("bob", "inbox").join("broken.md");
        fs::write(&broken, "---\nfrom: nobody closes this\n").expect("a broken message");
        fs::set_permissions(&broken, PermissionsExt::from_mode(0o600)).expect("its mode");
        set_time(&broken, ago(3600));
        run(&["--as", "bob", "read"], 0);
        run(&["--as", "bob", "read"], 0);
        run(&["--as", "bob", "read"], 1);
        run(&["log"], 0);
        run(&["names"], 0);
        let agent = "[agents.carol]\npreset = \"command\"\nsession = true\ncommand = [\"sh\", \"-c\", \"echo fine\"]\n";
        place.settle(agent);
        run(&["--as", "alice", "send", "carol", "-m", &text], 0);
        run(&["dispatch"], 0);
        run(&["runs"], 0);
        // Beside the mail itself: everything that any of these commands can make has been made.
        let in_root = [
            "registry.json",
            ".registry.lock",
            ".journal",
            ".dispatch",
            ".staging",
            ".postroom",
            "README.md",
        ];
        for made in in_root {
            findings.check(place.root.join(made).exists(), || format!("{at}: {made} was never made"));
        }
        for made in ["quarantine", "answering", "seen", ".alive", ".deliver.lock", "card.json"] {
            findings.check(place.folder("bob", made).exists(), || format!("{at}: {made} was never made"));
        }
        entries += look(&place.root, &at, &findings) + look(&place.sessions(), &at, &findings);
        // Only now, because it repairs modes.
        run(&["doctor", "--fix"], 0);
        look(&place.root, &at, &findings);
    }
    findings.verdict(format!("4 umasks, {commands} commands, {entries} files and directories"))
}

/// Checks the modes of a directory and all below it, and counts them.
fn look(path: &Path, at: &str, findings: &Findings) -> usize {
    let meta = fs::symlink_metadata(path).expect("what is there");
    let mode = meta.permissions().mode() & 0o7777;
    let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
    findings.check(mode == wanted, || format!("{at}: {} has mode {mode:04o}", path.display()));
    1 + names_in(path).iter().map(|name| look(&path.join(name), at, findings)).sum::<usize>()
}
