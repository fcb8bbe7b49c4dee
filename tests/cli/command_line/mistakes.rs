//! Mistakes on the command line: mistyped verbs, guesses, and what the parser refuses.

use super::help::verbs;
use crate::support::pasted::commands;
use crate::support::room::TestRoom;

#[test]
fn a_mistyped_verb_is_told_what_may_have_been_meant() {
    let room = TestRoom::empty();
    let ran = room.bare(["chekc"]).exits(2);
    insta::assert_snapshot!(ran.err, @"
    postroom: there is no command `chekc`
      postroom check
      postroom help all
    ");
    // What was typed comes back with the right verb; where that would not do, the verb is explained.
    for (typed, meant) in [
        ("--room r sned bob -m 'x y'", "--room r send bob -m 'x y'"),
        ("--as=bob chekc --json", "--as=bob check --json"),
        ("sned", "help send"),
        ("repyl", "help reply"),
        ("chekc more", "help check"),
        ("name", "names"),
        ("help chekc", "help check"),
        ("tools man chekc", "tools man check"),
        ("--room r --as bob inbox", "--room r --as bob check"),
        ("inbox --as=bob --room r", "--room r --as bob check"),
    ] {
        let ran = room.paste(&format!("postroom {typed}")).exits(2);
        let told = format!("{}{}", ran.out, ran.err);
        let hint = commands(&told).next().unwrap();
        assert_eq!(hint, format!("postroom {meant}"), "{typed}: {told}");
    }
    assert!(room.bare(["frobnicate"]).exits(2).err.ends_with("\n  postroom help all\n"));
    assert!(!room.bare(["mbb"]).exits(2).err.contains("postroom mb"), "what is hidden is not advertised");
}

/// Three commands came without a word about what they show, and `show` named no runs.
#[test]
fn a_hint_did_not_say_what_its_command_shows() {
    let room = TestRoom::empty();
    for guess in ["inbox", "list", "ls", "mail"] {
        let told = room.bare([guess]).exits(2).err;
        assert!(
            told.contains(" check  # unread mail\n") && told.contains(" names  # who is here\n"),
            "{told}"
        );
    }
    let told = room.bare(["workflow", "show"]).exits(2).err;
    assert!(told.contains("\n  postroom workflow list  # "), "{told}");
    let told = room.bare(["uninstall"]).exits(2).err;
    assert!(told.contains("\n  postroom install --check  # "), "{told}");
}

#[test]
fn an_obvious_guess_leads_to_the_right_verb() {
    let room = TestRoom::empty();
    for (typed, meant) in [
        ("inbox", "check"),
        ("list", "check"),
        ("ls", "check"),
        ("messages", "check"),
        ("msgs", "check"),
        ("inbx", "check"),
        ("start", "claude"),
        ("mail", "check"),
        ("get", "read"),
        ("msg", "help send"),
        ("rm", "help archive"),
        ("delete", "help archive"),
        ("who", "names"),
        ("new", "setup"),
        ("register", "setup"),
        ("login", "setup"),
        ("overview", "status"),
        ("ps", "status"),
        ("history", "log"),
        ("logs", "log"),
        ("tail", "log"),
        ("outbox", "sent"),
        ("mv", "help rename"),
        ("version", "--version"),
        ("completions", "tools completions"),
        ("man", "tools man"),
    ] {
        let ran = room.bare([typed]).exits(2);
        let first = ran.err.lines().nth(1).unwrap_or_default();
        let is_meant =
            first == format!("  postroom {meant}") || first.starts_with(&format!("  postroom {meant} "));
        assert!(is_meant, "{typed}: {}", ran.err);
        let told = room.bare(["--json", typed]).exits(2);
        let told: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        assert_eq!(told["error"]["hints"][0], first.trim_start(), "{typed}");
    }
    // A guess leads to verbs that are there.
    for verb in
        ["check", "names", "read", "send", "archive", "prune", "whoami", "rename", "setup", "agents", "rooms"]
    {
        assert!(verbs().iter().any(|known| known == verb), "{verb}");
    }
}

/// The hint for `postroom broadcast` was `postroom send @all -m TEXT`: pasted, it mailed "TEXT" to everybody.
#[test]
fn a_guess_that_needs_a_name_or_a_text_leads_to_the_help_of_its_verb() {
    let room = TestRoom::with(&["alice", "bob"]);
    for (typed, meant) in [
        ("broadcast", "help send"),
        ("forward", "help send"),
        ("tell", "help send"),
        ("remove", "help archive"),
        ("take", "claim"),
        ("ack", "help done"),
        ("recall", "help trace"),
        ("move", "help rename"),
        ("kill", "help stop"),
        ("cancel", "help stop"),
        ("grep", "help search"),
        ("launch", "claude"),
    ] {
        let ran = room.bare([typed]).exits(2);
        let hints: Vec<String> = commands(&ran.err).collect();
        assert_eq!(hints[0], format!("postroom {meant}"), "{typed}");
        for help in hints.iter().filter(|hint| hint.starts_with("postroom help")) {
            room.paste(help).succeeds();
        }
    }
    let ran = room.by("alice", ["send", "-"]).exits(2);
    assert!(ran.err.ends_with("\n  postroom help send\n"), "{ran:?}");
    assert!(room.files("bob", "inbox").is_empty());
}

#[test]
fn errors_of_the_parser_have_the_form_of_all_others() {
    let room = TestRoom::with(&["bob"]);
    for (arguments, what, hints) in [
        (&["check", "--limt", "3"][..], "--limt", &["did you mean `--limit`?", "postroom help check"][..]),
        (&["check", "--limit", "many"], "many", &["postroom help check"]),
        (&["check", "--limit"], "--limit", &["postroom help check"]),
        (&["check", "more"], "more", &["postroom help check"]),
        (&["send"], "<TO>", &["postroom help send"]),
        (&["done"], "<TOKEN|ID>", &["postroom help done"]),
        (&["send", "bob", "--priority", "soon"], "soon", &["postroom help send"]),
        (&["wait", "--timeout", "x"], "45s", &["postroom help wait"]),
        (&["workflow"], "workflow", &["postroom help workflow"]),
        (&["workflow", "chekc"], "chekc", &["did you mean `check`?", "postroom help workflow"]),
        (
            &["workflow", "run", "--inptu"],
            "--inptu",
            &["did you mean `--input`?", "postroom help workflow run"],
        ),
        (
            &["tools", "completions", "tcsh"],
            "tcsh",
            &["did you mean `zsh`?", "postroom help tools completions"],
        ),
        (&["--room", "a", "check"], "--room", &["postroom help check"]),
    ] {
        let ran = room.by("bob", arguments.iter().copied()).exits(2);
        let (said, told) = ran.err.split_once('\n').unwrap();
        assert!(said.starts_with("postroom: ") && said.contains(what), "{arguments:?}: {}", ran.err);
        let indented: Vec<String> = hints.iter().map(|hint| format!("  {hint}\n")).collect();
        assert_eq!(told, indented.concat(), "{arguments:?}");
        assert_eq!(ran.out, "");
        for clap in ["error:", "For more information", "Usage:", "tip:"] {
            assert!(!ran.err.contains(clap), "{arguments:?}: {}", ran.err);
        }
        let json = room.by("bob", arguments.iter().copied()).arg("--json").exits(2);
        let json: serde_json::Value =
            serde_json::from_str(&json.out).unwrap_or_else(|e| panic!("{e}: {json:?}"));
        assert_eq!(json["error"]["code"], 2);
        // The last option of the line may want a value, which is then `--json`.
        if !arguments.ends_with(&["--limit"]) {
            assert_eq!(json["error"]["message"], said["postroom: ".len()..], "{arguments:?}");
            assert_eq!(json["error"]["hints"], serde_json::json!(hints), "{arguments:?}");
        }
        // What is to be pasted works.
        let words: Vec<&str> = hints.last().unwrap().split(' ').skip(1).collect();
        room.bare(words).succeeds();
    }
}

/// `postroom --verison` printed the overview and exited 0, and `postroom --json` printed text.
#[test]
fn options_without_a_verb_are_read_too() {
    let room = TestRoom::empty();
    for (words, what, hints) in [
        (&["--verison"][..], "--verison", &["did you mean `--version`?", "postroom help"][..]),
        (&["--bogus"], "--bogus", &["postroom help"]),
        (&["--bogus", "--help"], "--bogus", &["postroom help"]),
        (&["--as"], "--as", &["postroom help"]),
        (&[], "a command is missing", &["postroom help all"]),
    ] {
        let told = room.bare(words.iter().copied()).arg("--json").exits(2);
        let document: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        assert!(document["error"]["message"].as_str().unwrap().contains(what), "{told:?}");
        assert_eq!(document["error"]["hints"], serde_json::json!(hints), "{words:?}");
        if !words.is_empty() {
            let told = room.bare(words.iter().copied()).exits(2);
            assert!(told.err.starts_with("postroom: ") && told.err.contains(what), "{told:?}");
            assert_eq!(told.out, "");
        }
    }
    for words in [&[][..], &["--as", "alice"], &["-q"], &["--help"], &["--json", "--help"]] {
        let told = room.bare(words.iter().copied()).succeeds();
        assert!(told.out.starts_with("Mail for coding agents"), "{words:?}: {told:?}");
    }
}

/// People and models try the options of other mail programs.
#[test]
fn a_guessed_option_comes_back_as_the_right_form() {
    let room = TestRoom::with(&["alice", "bob"]);
    let root = room.root().display().to_string();
    for (typed, right) in [
        ("--as alice send --to bob --body 'a text'", "send --as alice bob -m 'a text'"),
        ("send --from alice --to=bob --title hi --text=x", "send --as alice bob -s hi -m x"),
        ("--as alice send bob --message x --title hi", "send --as alice bob --message x -s hi"),
    ] {
        let ran = room.paste(&format!("postroom {typed} --root {root}")).exits(2);
        let hint = commands(&ran.err).next().unwrap_or_else(|| panic!("{typed}: {}", ran.err));
        assert_eq!(hint.replace(&format!(" --root {root}"), ""), format!("postroom {right}"), "{typed}");
        assert!([0, 1].contains(&room.paste(&hint).ends().code), "{hint}");
    }
    // Where the whole cannot be given back, its form is.
    let long = "x".repeat(200);
    for (words, form) in [
        (&["send", "--to"][..], "send NAME -m TEXT"),
        (&["send", "bob", "--body", &long], "-m TEXT"),
        (&["send", "bob", "--title", "two\nlines", "-m", "x"], "-s SUBJECT"),
        (&["send", "bob", "--from", &long, "-m", "x"], "--as NAME"),
    ] {
        let ran = room.run(words.iter().copied()).exits(2);
        assert!(ran.err.contains(form) && !ran.err.contains(&long), "{words:?}: {}", ran.err);
    }
    let ran = room.run(["log", "--from", "alice"]).exits(2);
    assert!(!ran.err.contains("--as"), "nobody else is guessed at: {}", ran.err);
    let ran = room.by("bob", ["check", "--from", "alice"]).ends();
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "where it exists, it is no guess");
}

/// The first line of the help was printed as if it were an error.
#[test]
fn a_verb_that_needs_another_one_lists_them() {
    let room = TestRoom::with(&["alice"]);
    for (verb, words) in
        [("workflow", "run, list, show, "), ("tools", "completions, man, "), ("tree", "status, cleanup, ")]
    {
        for before in [&[][..], &["--as", "alice"]] {
            let ran = room.run(before.iter().copied().chain([verb])).exits(2);
            let said = format!("postroom: `{verb}` needs one of these words: {words}");
            assert!(ran.err.starts_with(&said), "{ran:?}");
            assert!(ran.err.ends_with(&format!("\n  postroom help {verb}\n")), "{ran:?}");
        }
    }
}
