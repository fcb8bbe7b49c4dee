//! The page docs/reference/verbs.md: the help of every verb, made from the table of verbs and compared with the page.

use std::path::Path;

use clap::Command;

use super::{compact, verbs};

const OPENING: &str = "# Verbs

For people and agents who look up what a command takes. This page is what `postroom --help`, `postroom help all`
and `postroom help VERB` print; tests make it from the table of verbs, so do not edit it (`VERBS=write cargo nextest run
verbs` writes it anew). Exit codes are in [exit-codes.md](exit-codes.md), documents of `--json` in [json.md](json.md).

";

/// Wraps as on a terminal of this width.
const WIDTH: usize = 100;

fn block(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", lines.join("\n"))
}

/// The help of a command as `help` shows it on a terminal, without the line about the options of every verb.
fn help(command: Command, name: &str) -> String {
    let command = compact(command).after_help("").bin_name(name);
    command.term_width(WIDTH).render_help().to_string()
}

/// The options of every verb.
fn everywhere(command: Command) -> String {
    let text = command.term_width(WIDTH).render_help().to_string();
    text.split_once("\nEverywhere:\n").map(|(_, options)| options.to_owned()).unwrap_or_default()
}

/// Adds the section of a command, and those of its subcommands.
fn add(page: &mut String, command: &Command, name: &str) {
    // Verbs that share a parser share a section.
    let own = help(command.clone(), &format!("postroom {}", name.split(", ").next().unwrap_or(name)));
    page.push_str(&format!("\n## {name}\n{}", block(&own)));
    for inside in command.get_subcommands().filter(|inside| inside.get_name() != "help") {
        add(page, inside, &format!("{name} {}", inside.get_name()));
    }
}

fn page() -> String {
    let mut shown: Vec<_> =
        verbs::VERBS.iter().filter(|e| e.group != verbs::Group::Hidden && verbs::is_first(e)).collect();
    shown.sort_by_key(|entry| entry.name);
    let everywhere = everywhere((shown[0].command)());
    let [first, all] = [verbs::overview(), verbs::everything()].map(|text| block(&text));
    let mut page = format!("{OPENING}{first}\n## All\n{all}\n## Everywhere\n{}", block(&everywhere));
    for entry in shown {
        add(&mut page, &(entry.command)(), &verbs::names(entry));
    }
    page
}

#[test]
fn the_page_of_verbs_is_that_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/verbs.md");
    if std::env::var_os("VERBS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let is_same = std::fs::read_to_string(path).unwrap_or_default() == page();
    assert!(is_same, "docs/reference/verbs.md is not that of the table: VERBS=write cargo nextest run verbs");
}
