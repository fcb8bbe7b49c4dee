//! The examples of docs/start/agents.md, docs/reference/protocols.md and the README are run as they stand: what they show is what happens.

use crate::support::page::{Bound, examples, run};

fn text(path: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The section "Five minutes" of the README.
fn five_minutes() -> String {
    let readme = text("README.md");
    let (_, rest) = readme.split_once("\n## Five minutes\n").unwrap();
    rest.split_once("\n## ").unwrap().0.to_owned()
}

#[track_caller]
fn plays(what: &str, page: &str, at_least: usize) {
    match run(page) {
        Ok(count) => assert!(count >= at_least, "{what} has only {count} examples"),
        Err(why) => panic!("{what}: {why}"),
    }
}

#[test]
fn the_flows_are_as_the_page_shows_them() {
    plays("docs/start/agents.md", &text("docs/start/agents.md"), 45);
}

#[test]
fn the_protocols_are_as_the_page_shows_them() {
    plays("docs/reference/protocols.md", &text("docs/reference/protocols.md"), 60);
}

#[test]
fn the_page_of_the_protocols_has_each_by_command_and_by_hand() {
    let page = text("docs/reference/protocols.md");
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections, ["maildir", "workspace", "tree", "Across"]);
    for section in page.split("\n## ").skip(1) {
        let found = examples(section);
        let some = |part: &str| found.iter().any(|example| example.command.contains(part));
        for part in ["postroom --as", " reply ", " thread ", "cat > "] {
            assert!(some(part), "`{part}` is not in: {section}");
        }
    }
    let fences: Vec<&str> = page.lines().filter(|line| line.starts_with("```")).collect();
    assert!(fences.chunks(2).all(|pair| pair == ["```console", "```"]), "{fences:?}");
    assert!(text("README.md").contains("(docs/reference/protocols.md)"), "the README leads to it");
}

#[test]
fn a_page_of_protocols_that_differs_from_the_files_fails() {
    let page = text("docs/reference/protocols.md");
    for (from, to) in [
        ("MESSAGE_TYPE: NEW\nRECEIVER", "MESSAGE_TYPE: REPLY\nRECEIVER"),
        ("status: in_progress\n$", "status: pending\n$"),
        ("-004 2026", "-005 2026"),
        ("of explore\n```", "of writer\n```"),
        ("carol high re=", "carol re="),
    ] {
        let changed = page.replacen(from, to, 1);
        assert_ne!(changed, page, "`{from}` is not on the page any more");
        assert!(run(&changed).is_err(), "`{to}` instead of `{from}` goes unnoticed");
    }
}

#[test]
fn five_minutes_are_as_the_readme_shows_them() {
    plays("README.md", &five_minutes(), 6);
}

#[test]
fn the_first_dispatched_answer_is_as_the_page_shows_it() {
    plays("docs/guides/dispatcher.md", &text("docs/guides/dispatcher.md"), 9);
}

#[test]
fn workflows_are_as_the_page_shows_them() {
    let page = text("docs/guides/workflows.md");
    plays("docs/guides/workflows.md", &page, 25);
    let fences: Vec<&str> = page.lines().filter(|line| line.starts_with("```")).collect();
    assert!(fences.chunks(2).all(|pair| pair == ["```console", "```"]), "{fences:?}");
    for (name, _) in postroom::workflow::templates::SHIPPED {
        assert!(page.contains(name), "the page does not teach {name}");
    }
}

#[test]
fn the_page_has_every_flow_and_nothing_that_is_not_run() {
    let page = text("docs/start/agents.md");
    assert!(page.lines().count() <= 220, "{} lines", page.lines().count());
    let flows: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(
        flows,
        ["setup", "send", "check", "reply", "wait", "work", "takeover", "prune", "adopt", "channel", "tree"]
    );
    for flow in flows {
        let (_, section) = page.split_once(&format!("\n## {flow}\n")).unwrap();
        let section = section.split("\n## ").next().unwrap();
        assert!(!examples(section).is_empty(), "{flow} has no example");
    }
    let fences: Vec<&str> = page.lines().filter(|line| line.starts_with("```")).collect();
    assert!(fences.chunks(2).all(|pair| pair == ["```console", "```"]), "{fences:?}");
    assert!(text("README.md").contains("(docs/start/agents.md)"), "the README leads to it");
}

#[test]
fn a_page_that_differs_from_the_program_fails() {
    let page = text("docs/start/agents.md");
    for (from, to) in [
        ("queued a73054b9 for bob", "delivered a73054b9 for bob"),
        ("alice urgent: The build", "alice: The build"),
        ("answered by bob", "answered by carol"),
        ("archived 51f00ab2\n", "archived a73054b9\n"),
        ("nothing came\n$", "something came\n$"),
        ("attempts=1", "attempts=2"),
        ("--force\nname: alice", "--force\nname: bob"),
        ("check --count\n3\n", "check --count\n30\n"),
        ("removed the mailbox carol", "removed the mailbox bob"),
        ("terminal acts as alice", "terminal acts as  alice"),
    ] {
        let changed = page.replacen(from, to, 1);
        assert_ne!(changed, page, "`{from}` is not on the page any more");
        assert!(run(&changed).is_err(), "`{to}` instead of `{from}` goes unnoticed");
    }
}

#[test]
fn placeholders_are_bound_and_nothing_else_gives_way() {
    let shows = "queued a73054b9 for bob: x\n";
    let mut bound = Bound::default();
    bound.compare(shows, "queued 01234567 for bob: x\n").unwrap();
    bound.compare(shows, "queued 01234567 for bob: x\n").unwrap();
    bound.compare(shows, "queued 89abcdef for bob: x\n").unwrap_err();
    let whole = "message: a73054b9-81c8-47b6-8978-9c4e5c9771c8\n";
    bound.compare(whole, "message: 99999999-81c8-47b6-8978-9c4e5c9771c8\n").unwrap_err();
    bound.compare(whole, "message: 01234567-0000-4000-8000-000000000000\n").unwrap();
    bound.compare(whole, "message: 01234567-1111-4000-8000-000000000000\n").unwrap_err();
    for (shows, printed, same) in [
        ("a\n", "a\n", true),
        ("a\n", "a", false),
        ("a\n", "a\nb\n", false),
        ("a\n…\n", "a\nb\nc\n", true),
        ("a … d\n", "a b c d\n", true),
        ("a … d\n", "a b c\n", false),
        ("", "a\n", false),
        ("at 2026-11-15T03:01:47Z.\n", "at 2001-02-03T04:05:06Z.\n", true),
        ("at 2026-11-15T03:01:47Z\n", "at noon\n", false),
        ("[bf9949b5b935c725 end]\n", "[0123456789abcdef end]\n", true),
        ("[bf9949b5b935c725 end]\n", "[0123456789ABCDEF end]\n", false),
        ("[bf9949b5b935c725 x bf9949b5b935c725]\n", "[0123456789abcdef x 0123456789abcdee]\n", false),
        ("(carol-7d1e02b6)\n", "(carol-00000000)\n", true),
        ("(carol-7d1e02b6)\n", "(bob-00000000)\n", false),
        ("a.c\n", "abc\n", false),
        ("id: 2026-11-15-001-response\n", "id: 2001-02-03-001-response\n", true),
        ("id: 2026-11-15-001\n", "id: 2001-02-03-002\n", false),
        ("2026-11-15-001 2026-11-15-002\n", "2001-02-03-001 2001-02-04-002\n", false),
        ("20261115T030147Z-a73054b9-x.md\n", "20010203T040506Z-01234567-x.md\n", true),
        ("20261115T030147Z-a73054b9-x.md\n", "20010203T040506Z-01234567-y.md\n", false),
        ("a73054b981c847b689789c4e5c9771c8\n", "0123456789abcdef0123456789abcdef\n", true),
        ("a73054b981c847b689789c4e5c9771c8 a73054b9\n", "0123456789abcdef0123456789abcdef 01234567\n", true),
        ("a73054b981c847b689789c4e5c9771c8 a73054b9\n", "0123456789abcdef0123456789abcdef 01234568\n", false),
    ] {
        let result = Bound::default().compare(shows, printed);
        assert_eq!(result.is_ok(), same, "{shows:?} {printed:?}: {result:?}");
    }
}

#[test]
fn examples_are_taken_out_with_their_here_documents() {
    let page = "text\n```console\n$ postroom send bob <<'EOF'\n> line\n> EOF\nqueued\n$ second\n```\n$ no\n```sh\n$ no\n```\n";
    let found = examples(page);
    let commands: Vec<&str> = found.iter().map(|example| example.command.as_str()).collect();
    assert_eq!(commands, ["postroom send bob <<'EOF'\nline\nEOF", "second"]);
}
