//! The pages of docs/ and the README: their examples are run as they are written, every page says whom it is for, and
//! the map leads to each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::page::{Bound, examples, run};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Every page of docs/, as a path from the root.
fn pages() -> BTreeSet<String> {
    let mut folders: Vec<PathBuf> = vec![root().join("docs")];
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.insert(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

/// The section "Five minutes in a shell" of the README.
fn five_minutes() -> String {
    let readme = text("README.md");
    let (_, rest) = readme.split_once("\n## Five minutes in a shell\n").unwrap();
    rest.split_once("\n## ").unwrap().0.to_owned()
}

#[track_caller]
fn plays(what: &str, page: &str, at_least: usize) {
    match run(page) {
        Ok(count) => assert!(count >= at_least, "{what} has only {count} examples"),
        Err(why) => panic!("{what}: {why}"),
    }
}

/// One test for each page with examples, and the least number of them.
macro_rules! played {
    ($($test:ident: $page:literal, $at_least:literal;)*) => {
        const PLAYED: &[&str] = &[$($page),*];
        $(#[test]
        fn $test() {
            plays($page, &text($page), $at_least);
        })*
    };
}

played! {
    start_agents_is_as_it_prints: "docs/start/agents.md", 18;
    start_shell_is_as_it_prints: "docs/start/shell.md", 14;
    workflows_are_as_they_print: "docs/guides/workflows.md", 25;
    by_hand_is_as_it_prints: "docs/guides/by-hand.md", 30;
    the_first_dispatched_answer_is_as_it_prints: "docs/guides/dispatcher.md", 9;
    handing_over_work_is_as_it_prints: "docs/guides/hand-over-work.md", 10;
    mixed_protocols_are_as_they_print: "docs/guides/mixed-protocols.md", 18;
    the_queue_is_as_it_prints: "docs/guides/queue.md", 12;
    removing_is_as_it_prints: "docs/guides/remove.md", 9;
    rooms_are_as_they_print: "docs/guides/rooms.md", 15;
    what_happened_is_as_it_prints: "docs/guides/what-happened.md", 11;
    protocols_are_as_they_print: "docs/reference/protocols.md", 40;
}

#[test]
fn every_page_with_examples_is_played() {
    let has_examples = |page: &&String| !examples(&text(page)).is_empty();
    let found: Vec<String> = pages().iter().filter(has_examples).cloned().collect();
    let mut played: Vec<&str> = PLAYED.to_vec();
    played.sort_unstable();
    assert_eq!(found, played);
}

#[test]
fn five_minutes_are_as_the_readme_shows_them() {
    plays("README.md", &five_minutes(), 6);
}

#[test]
fn every_page_opens_with_its_readers() {
    for page in pages() {
        let text = text(&page);
        let opening: Vec<&str> = text.lines().take(3).collect();
        let opens =
            matches!(opening[..], [title, "", first] if title.starts_with("# ") && first.starts_with("For "));
        assert!(opens, "{page} does not open with a title and `For …`: {opening:?}");
    }
}

#[test]
fn the_map_leads_to_every_page_and_the_readme_to_the_map() {
    let map = text("docs/index.md");
    for page in pages().iter().filter(|page| *page != "docs/index.md") {
        let link = format!("({})", page.strip_prefix("docs/").unwrap());
        assert!(map.contains(&link), "docs/index.md does not lead to {page}");
    }
    assert!(text("README.md").contains("(docs/index.md)"));
}

#[test]
fn each_protocol_is_shown_by_command_and_by_hand() {
    let sections = |page: &str| -> Vec<(String, Vec<String>)> {
        let parts = page.split("\n## ").skip(1);
        let commands = |part: &str| examples(part).into_iter().map(|example| example.command).collect();
        parts.map(|part| (part.lines().next().unwrap().to_owned(), commands(part))).collect()
    };
    for (page, needed) in [
        ("docs/reference/protocols.md", ["postroom --as", " reply ", " thread "]),
        ("docs/guides/by-hand.md", ["cat > ", "check", " thread "]),
    ] {
        let found = sections(&text(page));
        for protocol in ["maildir", "workspace", "tree"] {
            let (_, commands) = found.iter().find(|(title, _)| title == protocol).unwrap();
            for part in needed {
                let has = commands.iter().any(|command| command.contains(part));
                assert!(has, "{page}: `{part}` is not in {protocol}");
            }
        }
    }
}

#[test]
fn every_shipped_workflow_is_taught() {
    let page = text("docs/guides/workflows.md");
    for (name, _) in postroom::workflow::templates::SHIPPED {
        assert!(page.contains(name), "the page does not teach {name}");
    }
}

#[test]
fn a_page_that_differs_from_the_program_fails() {
    for (page, from, to) in [
        ("docs/start/agents.md", "queued a73054b9 for bob", "delivered a73054b9 for bob"),
        ("docs/start/agents.md", "alice urgent: The build", "alice: The build"),
        ("docs/start/agents.md", "archived 51f00ab2\n", "archived a73054b9\n"),
        ("docs/start/agents.md", "nothing came\n```", "something came\n```"),
        ("docs/start/agents.md", "--force\nname: alice", "--force\nname: bob"),
        ("docs/start/agents.md", "check --count\n1\n", "check --count\n10\n"),
        ("docs/start/agents.md", "terminal acts as alice", "terminal acts as  alice"),
        ("docs/guides/what-happened.md", "answered by bob", "answered by carol"),
        ("docs/guides/queue.md", "attempts=1", "attempts=2"),
        ("docs/guides/remove.md", "removed the mailbox bob", "removed the mailbox alice"),
        ("docs/reference/protocols.md", "MESSAGE_TYPE: NEW\nRECEIVER", "MESSAGE_TYPE: REPLY\nRECEIVER"),
        ("docs/reference/protocols.md", "status: in_progress\n$", "status: pending\n$"),
        ("docs/guides/by-hand.md", "-002 2m", "-003 2m"),
        ("docs/guides/mixed-protocols.md", "of explore\n```", "of writer\n```"),
        ("docs/reference/protocols.md", "carol high re=", "carol re="),
    ] {
        let whole = text(page);
        let changed = whole.replacen(from, to, 1);
        assert_ne!(changed, whole, "`{from}` is not on {page} any more");
        assert!(run(&changed).is_err(), "{page}: `{to}` instead of `{from}` goes unnoticed");
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
