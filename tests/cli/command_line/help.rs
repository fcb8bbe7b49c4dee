//! Help and man pages: what an agent is told that knows nothing but the program's name.

use crate::support::room::TestRoom;

/// The verbs that `postroom help all` shows, in its order.
pub(crate) fn named(overview: &str) -> Vec<&str> {
    let is_verb = |line: &&str| line.len() > 19 && line.as_bytes()[18] == b' ' && line.as_bytes()[8] != b' ';
    let lines = overview.lines().skip(1).take_while(|line| !line.starts_with("Everywhere")).filter(is_verb);
    lines.map(|line| line[8..18].trim_end()).collect()
}

pub(super) fn verbs() -> Vec<String> {
    let all = TestRoom::empty().bare(["help", "all"]).succeeds().out;
    named(&all).into_iter().map(str::to_owned).collect()
}

#[test]
fn the_overview_is_the_contract() {
    let room = TestRoom::empty();
    insta::assert_snapshot!(room.bare(["--help"]).succeeds().out, @r#"
    Mail for coding agents, on plain files. Begin with: postroom claude
    Start   claude, codex, gemini, opencode, copilot  Start one here with a mailbox
            setup      Make your mailbox and give it a name
            names      Show who exists, what waits for them, and who is there
            install    Give an agent program its skill and hooks
    Write   send       Send a message to one or several names
            reply      Answer a message, then archive it
            ask        Send a question, wait for its answer, and show it
    Read    check      Show the headers of unread mail; consumes nothing
            read       Show messages and archive each once it was written out
            wait       Block until mail is there, then show its headers
    Work    claim      Take a message to work on; others leave it to you meanwhile
            done       Finish a claimed message; with a text, answer it first
            fail       Give up a claimed message and tell its sender
            failed     Show dead letters and parked messages, and retry them
    Agents  dispatch   Give waiting mail to agents, and carry their answers back
            workflow   Run many agents in many steps, each a message
            runs       Show the runs of agents, or what one agent did
    Look    status     Show what runs, what waits and for what, and what needs you
            trace      Show where a message is and what happened to it
            doctor     Check every rule of the format on this room; --fix repairs
    postroom help COMMAND explains one; help all shows more: tui, web, log, trust.
    "#);
    insta::assert_snapshot!(room.bare(["help", "all"]).succeeds().out, @r#"
    Usage: postroom COMMAND [ARGUMENTS]

    Start   claude, codex, gemini, opencode, copilot  Start one here with a mailbox
            setup      Make your mailbox and give it a name
            names      Show who exists, what waits for them, and who is there
            install    Give an agent program its skill and hooks
            uninstall  Remove what `install` put in
            whoami     Show who this command acts as and why, and in which room
            takeover   Become an existing mailbox: bind this session to it
            demo       Show the whole job, for real, in a temporary room
    Write   send       Send a message to one or several names
            reply      Answer a message, then archive it
            ask        Send a question, wait for its answer, and show it
    Read    check      Show the headers of unread mail; consumes nothing
            read       Show messages and archive each once it was written out
            wait       Block until mail is there, then show its headers
            search     Search the text of all mail in the room
            archive    Archive messages without reading them
            unarchive  Make archived messages unread again
    Work    claim      Take a message to work on; others leave it to you meanwhile
            done       Finish a claimed message; with a text, answer it first
            fail       Give up a claimed message and tell its sender
            failed     Show dead letters and parked messages, and retry them
            release    Give a claimed message back; it is unread again at once
            handback   Answer the message that began your work, and archive it
            tree       Show a .claude tree, clean it up, change its shared files
    Agents  dispatch   Give waiting mail to agents, and carry their answers back
            workflow   Run many agents in many steps, each a message
            agents     Show the agents: for which mailbox, with which program
            runs       Show the runs of agents, or what one agent did
            trust      Show what a repository, or a room, would run, and let it
            stop       Stop what an agent is doing
            pause      Keep an agent from being started
            resume     Let a paused agent be started again
            approve    Let a workflow run pass the gate at which it waits for you
            reject     Refuse the result at which a workflow run waits for you
            spawn      Open a new agent with a mailbox, a name and a first message
            mcp        Serve the room over the Model Context Protocol
            courier    Carry mail between machines, over a NATS server
    Look    status     Show what runs, what waits and for what, and what needs you
            web        Show the room in a browser, and act there
            tui        Show the room in this terminal, and act there
            trace      Show where a message is and what happened to it
            doctor     Check every rule of the format on this room; --fix repairs
            thread     Show a whole conversation, across all mailboxes, as a tree
            sent       Show what you sent, and where each message is now
            log        Show what happened in the room
            stats      Show how much mail there was and how long it took
    Manage  rename     Give a mailbox another name; its mail, claims and groups stay
            group      Make groups of mailboxes: `send @reviewers`
            rooms      Show your rooms, and what waits and runs in them
            adopt      Give mailboxes from elsewhere a name in this room
            prune      Remove mailboxes that you name, or old finished mail
            undo       Bring back what a prune removed; without an ID, list it
            tools      Completions, man pages, shell functions, messages as files

    Everywhere: --as NAME    act as this mailbox (else that of this session)
                --room NAME  a room by its name (else that of this repository)
                --root DIR   a room by its directory
                --json       one JSON document instead of text
                -q, --quiet  no receipts and no remarks
    A message is named by the first digits of its id. A text is given by -m, --file
    or standard input:
      postroom send bob -s 'parser review' <<'EOF'
      The parser is done. Please review src/parse.rs.
      EOF
    Exit: 0 done, 1 nothing there or timed out, 2 usage, 3 no such name or message,
          4 refused, 5 not done (try again), 6 delivered but not proven durable.
    "#);
}

#[test]
fn each_page_fits_its_screen() {
    let room = TestRoom::empty();
    let first = room.bare(["--help"]).succeeds().out;
    let all = room.bare(["help", "all"]).succeeds().out;
    assert!(
        first.lines().count() <= 22,
        "{} lines, and the command and the next prompt",
        first.lines().count()
    );
    for line in first.lines().chain(all.lines()) {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    for other in [vec![], vec!["-h"], vec!["help"], vec!["help", "--json"]] {
        assert_eq!(room.bare(other.clone()).succeeds().out, first, "{other:?}");
    }
    for verb in named(&first) {
        assert!(named(&all).contains(&verb), "{verb}");
    }
    for verb in ["claim", "done", "fail", "failed", "runs", "agents", "names", "tree", "workflow", "rename"] {
        assert!(named(&all).contains(&verb), "{verb} is at the top");
    }
}

#[test]
fn the_help_of_a_program_is_ours_and_says_where_its_own_is() {
    let room = TestRoom::empty();
    for word in ["claude", "codex", "gemini", "opencode", "copilot"] {
        let help = room.bare(["help", word]).succeeds().out;
        assert!(help.starts_with("Start one here with a mailbox\n"), "{help}");
        assert!(help.contains("`claude --help`") && help.len() <= 1200, "{} {help}", help.len());
        assert!(help.contains(&format!("Usage: postroom {word} [OPTIONS] [WORDS]...")), "{help}");
        assert_eq!(room.bare([word, "--help"]).succeeds().out, help);
    }
}

#[test]
fn every_verb_has_help() {
    let room = TestRoom::empty();
    let all = room.bare(["help", "all"]).succeeds().out;
    for verb in verbs() {
        let about = room.bare(["help", &verb]).succeeds().out.lines().next().unwrap().to_owned();
        assert!(about.len() > 10 && !about.contains("Usage"), "{verb}: {about}");
        assert!(all.contains(&format!("{verb:<10} {about}\n")), "{verb} has no line: {about}");
        for arguments in [vec![verb.as_str(), "--help"], vec!["--json", &verb, "--help"], vec![&verb, "-h"]] {
            let ran = room.bare(arguments.clone()).succeeds();
            assert!(ran.out.starts_with(&about), "{arguments:?}: {}", ran.out);
            assert!(ran.out.contains(&format!("Usage: postroom {verb}")), "{arguments:?}: {}", ran.out);
            for option in ["--root", "--room", "--as", "--json", "-q"] {
                assert!(ran.out.contains(option), "{arguments:?} does not tell of {option}");
            }
        }
    }
}

/// An installed binary has no docs/.
#[test]
fn no_text_for_people_names_a_page_that_is_not_installed() {
    let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![src.clone()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let shown = path.strip_prefix(&src).unwrap().display().to_string();
            let text = std::fs::read_to_string(&path).unwrap();
            seen += 1;
            // Tests come last in a file, and compare what is in the repository.
            let text = text.split("#[cfg(test)]").next().unwrap();
            // In `cli`, a doc comment is help.
            let is_comment = |line: &str| {
                line.starts_with("//!")
                    || line.starts_with("// ")
                    || line.starts_with("///") && !shown.starts_with("cli")
            };
            for line in text.lines().map(str::trim_start).filter(|line| !is_comment(line)) {
                let is_own_test = shown.ends_with("_tests.rs")
                    || line.contains("CARGO_MANIFEST_DIR")
                    || shown == "cli/reference.rs"
                    || shown == "view/schema.rs";
                assert!(is_own_test || !line.contains("docs/"), "{shown}: {line}");
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn help_and_man_go_down_to_sub_verbs() {
    let room = TestRoom::empty();
    for words in [&["workflow", "run"][..], &["tree", "shared", "get"], &["tools", "compose"]] {
        let name = words.join(" ");
        let help = room.bare([&["help"], words].concat()).succeeds().out;
        assert!(help.contains(&format!("Usage: postroom {name}")) && help.contains("--as NAME"), "{help}");
        let page = room.bare([&["tools", "man"], words].concat()).succeeds().out;
        assert!(page.contains(&format!(".TH postroom-{} 1", words.join("-"))), "{page}");
    }
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
        vec!["tools", "man"],
        vec!["tools", "completions", "bash"],
        vec!["tools", "shell-init", "bash"],
        vec!["--version"],
    ] {
        room.bare(arguments).succeeds();
    }
    assert_eq!(std::fs::read_dir(room.around()).unwrap().count(), 0);
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
fn there_is_a_man_page_for_every_verb() {
    let room = TestRoom::empty();
    let page = room.bare(["tools", "man"]).succeeds().out;
    assert!(page.contains(".TH postroom 1"), "{page}");
    for verb in verbs() {
        let page = room.bare(["tools", "man", &verb]).succeeds().out;
        assert!(page.contains(&format!(".TH postroom-{verb} 1")), "{verb}: {page}");
    }
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
    for arguments in [vec!["--help"], vec!["tools", "completions", "zsh"], vec!["tools", "man"]] {
        let output = room.bare(arguments.clone()).closed_pipe().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{arguments:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{arguments:?}");
    }
}
