//! Help, completions and man pages: what an agent is told that knows nothing but the program's name.

use crate::support::room::TestRoom;

/// What every agent needs: a line each in the overview.
const MAIN: [&str; 11] =
    ["setup", "whoami", "names", "send", "check", "read", "reply", "wait", "ask", "archive", "unarchive"];

/// What the overview only names.
const MORE: [&str; 38] = [
    "tree",
    "adopt",
    "claim",
    "done",
    "release",
    "fail",
    "failed",
    "group",
    "takeover",
    "prune",
    "undo",
    "rooms",
    "trace",
    "thread",
    "sent",
    "search",
    "stats",
    "log",
    "doctor",
    "dispatch",
    "workflow",
    "agents",
    "approve",
    "reject",
    "runs",
    "trust",
    "mcp",
    "install",
    "uninstall",
    "attend",
    "spawn",
    "handback",
    "compose",
    "verify",
    "demo",
    "shell-init",
    "completions",
    "man",
];

fn verbs() -> impl Iterator<Item = &'static str> {
    MAIN.into_iter().chain(MORE)
}

/// The verbs that an overview names, in its order: first those with a line each, then the lists.
pub(crate) fn named(overview: &str) -> Vec<&str> {
    let part = |title: &str| {
        let (_, rest) = overview.split_once(&format!("\n{title}:\n")).unwrap_or_else(|| panic!("no {title}"));
        rest.split_once("\n\n").unwrap().0.lines()
    };
    let main = part("Mail").map(|line| line.split_whitespace().next().unwrap());
    main.chain(part("More").flat_map(|line| line.split_at(15).1.split(", "))).collect()
}

#[test]
fn the_overview_is_the_contract() {
    let room = TestRoom::empty();
    insta::assert_snapshot!(room.bare(["--help"]).succeeds().out, @r#"
    Mail for coding agents, on plain files.

    Start:  postroom setup NAME     then send, check, read, reply, wait.
    Usage:  postroom COMMAND [ARGUMENTS]     postroom help COMMAND tells more

    Mail:
      setup        Make your mailbox and claim its name
      whoami       Show who this command acts as and why, and in which room
      names        Show who exists, what waits for them, and who is there
      send         Send a message to one or several names
      check        Show the headers of unread mail; consumes nothing
      read         Show messages and archive each once it was written out
      reply        Answer a message, then archive it
      wait         Block until mail is there, then show its headers
      ask          Send a question, wait for its answer, and show it
      archive      Archive messages without reading them
      unarchive    Make archived messages unread again

    More:
      work queues  claim, done, release, fail, failed, tree
      people       adopt, group, takeover, prune, undo, rooms
      agents       dispatch, workflow, agents, runs, trust, approve, reject
      at home      mcp, install, uninstall, attend, spawn, handback
      look         trace, thread, sent, search, stats, log, doctor
      tools        compose, verify, demo, shell-init, completions, man

    Everywhere: --as NAME  --root DIR  --room NAME  --json  --quiet
    A message is named by the first digits of its id. A text is given by -m, --file or standard input:
      postroom send bob -s 'parser review' <<'EOF'
      The parser is done. Please review src/parse.rs.
      EOF
    Exit: 0 done, 1 nothing there or timed out, 2 usage, 3 no such name or message, 4 refused,
          5 not done (try again), 6 delivered but not proven durable.
    "#);
}

#[test]
fn the_overview_fits_a_screen() {
    let room = TestRoom::empty();
    let out = room.bare(["--help"]).succeeds().out;
    assert!(out.lines().count() <= 40, "{} lines", out.lines().count());
    for line in out.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
    for other in [vec![], vec!["-h"], vec!["help"], vec!["help", "--json"]] {
        assert_eq!(room.bare(other.clone()).succeeds().out, out, "{other:?}");
    }
}

#[test]
fn every_verb_is_in_the_overview_and_has_help() {
    let room = TestRoom::empty();
    let overview = room.bare(["--help"]).succeeds().out;
    for verb in verbs() {
        let about = room.bare(["help", verb]).succeeds().out.lines().next().unwrap().to_owned();
        assert!(about.len() > 10 && !about.contains("Usage"), "{verb}: {about}");
        if MAIN.contains(&verb) {
            assert!(overview.contains(&format!("\n  {verb:<12} {about}\n")), "{verb} has no line: {about}");
        }
        for arguments in [vec![verb, "--help"], vec!["--json", verb, "--help"], vec![verb, "-h"]] {
            let ran = room.bare(arguments.clone()).succeeds();
            assert!(ran.out.starts_with(&about), "{arguments:?}: {}", ran.out);
            assert!(ran.out.contains(&format!("Usage: postroom {verb}")), "{arguments:?}: {}", ran.out);
            for option in ["--root", "--room", "--as", "--json", "--quiet"] {
                assert!(ran.out.contains(option), "{arguments:?} does not tell of {option}");
            }
        }
    }
}

#[test]
fn the_overview_names_each_verb_once_and_no_other() {
    let room = TestRoom::empty();
    let overview = room.bare(["--help"]).succeeds().out;
    let mut known: Vec<&str> = verbs().collect();
    known.sort_unstable();
    let mut found = named(&overview);
    found.sort_unstable();
    assert_eq!(found, known);
}

#[test]
fn help_is_about_the_verb_and_not_about_the_value_of_an_option() {
    let room = TestRoom::empty();
    let plain = room.bare(["help", "trust"]).succeeds().out;
    for words in [&["--root", "/x", "help", "trust"][..], &["help", "--as", "bob", "trust"]] {
        assert_eq!(room.bare(words.iter().copied()).succeeds().out, plain);
    }
}

#[test]
fn help_needs_no_room_and_makes_none() {
    let room = TestRoom::empty();
    for arguments in [
        vec!["--help"],
        vec!["send", "--help"],
        vec!["man"],
        vec!["completions", "bash"],
        vec!["shell-init", "bash"],
        vec!["--version"],
    ] {
        room.bare(arguments).succeeds();
    }
    assert_eq!(std::fs::read_dir(room.around()).unwrap().count(), 0);
}

#[test]
fn a_mistyped_verb_is_told_what_may_have_been_meant() {
    let room = TestRoom::empty();
    let ran = room.bare(["chekc"]).exits(2);
    insta::assert_snapshot!(ran.err, @"
    postroom: there is no command `chekc`
      did you mean `postroom check`?
      postroom --help lists the commands
    ");
    for (typed, meant) in [("sned", "send"), ("repyl", "reply"), ("archve", "archive"), ("name", "names")] {
        let ran = room.bare([typed]).exits(2);
        assert!(ran.err.contains(&format!("did you mean `postroom {meant}`?")), "{typed}: {}", ran.err);
    }
    let ran = room.bare(["help", "chekc"]).exits(2);
    assert!(ran.err.contains("postroom check"), "{}", ran.err);
    let ran = room.bare(["frobnicate"]).exits(2);
    assert!(ran.err.contains("postroom --help lists the commands"), "{}", ran.err);
    assert!(!room.bare(["mbb"]).exits(2).err.contains("`postroom mb`"), "what is hidden is not advertised");
}

#[test]
fn a_mistyped_option_is_told_too() {
    let room = TestRoom::with(&["bob"]);
    let ran = room.by("bob", ["check", "--limt", "3"]).exits(2);
    assert!(ran.err.contains("--limit") && ran.err.contains("--help"), "{}", ran.err);
    let ran = room.by("bob", ["check", "--limit", "many"]).exits(2);
    assert!(ran.err.contains("--limit"), "{}", ran.err);
}

#[test]
fn global_options_stand_before_or_after_the_verb() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hi");
    let root = room.root();
    let root = root.to_str().unwrap();
    let after = room.bare(["check", "--root", root, "--as", "bob", "--json"]).succeeds().out;
    for arguments in [
        vec!["--root", root, "--as", "bob", "--json", "check"],
        vec!["--json", "check", "--as", "bob", "--root", root],
        vec![&format!("--root={root}"), "check", "--as=bob", "--json"],
        vec!["--as=bob", "--json", "--root", root, "check", "--quiet"],
    ] {
        assert_eq!(room.bare(arguments.clone()).succeeds().out, after, "{arguments:?}");
    }
    // The value of an option is never taken for the verb.
    room.bare(["--as", "check", "--root", root, "names"]).succeeds();
    assert_eq!(
        room.bare(["-q", "send", "bob", "--root", root, "--as", "alice", "-m", "x"]).succeeds().out,
        ""
    );
}

#[test]
fn completions_are_made_for_every_shell() {
    let room = TestRoom::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = room.bare(["completions", shell]).succeeds().out;
        for verb in verbs() {
            assert!(script.contains(verb), "{shell} does not complete {verb}");
        }
    }
    let ran = room.bare(["completions", "tcsh"]).exits(2);
    assert!(ran.err.contains("zsh"), "{}", ran.err);
    let complete = "eval \"$(postroom completions bash)\"
        COMP_WORDS=(postroom una); COMP_CWORD=1; _postroom postroom una postroom; echo \"${COMPREPLY[@]}\"";
    assert_eq!(room.bash(complete).succeeds().out, "unarchive\n");
    assert!(
        !room.bash(&complete.replace("una", "m")).succeeds().out.contains("mb"),
        "what is hidden is not completed"
    );
}

#[test]
fn there_is_a_man_page_for_every_verb() {
    let room = TestRoom::empty();
    let page = room.bare(["man"]).succeeds().out;
    assert!(page.contains(".TH postroom 1"), "{page}");
    for verb in verbs() {
        let page = room.bare(["man", verb]).succeeds().out;
        assert!(page.contains(&format!(".TH postroom-{verb} 1")), "{verb}: {page}");
    }
    let ran = room.bare(["man", "chekc"]).exits(2);
    assert!(ran.err.contains("postroom check"), "{}", ran.err);
}

#[test]
fn the_version_is_that_of_the_package() {
    let room = TestRoom::empty();
    let version = concat!("postroom ", env!("CARGO_PKG_VERSION"), "\n");
    for option in ["--version", "-V"] {
        assert_eq!(room.bare([option]).succeeds().out, version);
    }
}

#[test]
fn a_verbose_version_says_how_it_was_built() {
    let room = TestRoom::empty();
    let said = room.bare(["--version", "--verbose"]).succeeds().out;
    let line = |key: &str| {
        let found = said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        found.unwrap_or_else(|| panic!("no {key} in {said}"))
    };
    assert_eq!(said.lines().next(), Some(concat!("postroom ", env!("CARGO_PKG_VERSION"))));
    let commit = line("commit").trim_end_matches(" with changes");
    assert!(
        commit == "unknown" || (commit.len() >= 40 && commit.bytes().all(|b| b.is_ascii_hexdigit())),
        "{said}"
    );
    // As cargo calls the directory that the binary is in.
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_postroom"));
    assert_eq!(Some(line("profile")), binary.parent().and_then(|dir| dir.file_name()?.to_str()), "{said}");
    assert_eq!(line("features").contains("mcp"), cfg!(feature = "mcp"));
    assert_eq!(line("platform layer"), if cfg!(feature = "portable") { "posix" } else { "linux" });
    assert!(line("target").ends_with(", dynamic"), "{said}");
    assert_eq!(room.bare(["--verbose", "-V"]).succeeds().out, said);
}

#[test]
fn help_into_a_closed_pipe_is_no_panic() {
    let room = TestRoom::empty();
    for arguments in [vec!["--help"], vec!["completions", "zsh"], vec!["man"]] {
        let output = room.bare(arguments.clone()).closed_pipe().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{arguments:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{arguments:?}");
    }
}
