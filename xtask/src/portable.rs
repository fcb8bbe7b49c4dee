//! The tests on the portable layer (`src/os/posix/`), which is what other Unixes build from: the whole suite, and tier 0 of the
//! torture battery, both on a debug build.
//!
//! A test of a promise that the layer cannot keep is left out by its name, and printed with the reason. A name that is no test is
//! an error, so that nothing falls out of the run by being renamed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::repo::Repo;
use crate::run;

/// What is left out of the suite: the reason, and the tests.
const TESTS: [(&str, &[&str]); 9] = [
    (
        "a watch is Linux's inotify; here a waiter looks every two seconds",
        &["wait::tests::an_arrival_wakes_and_a_read_does_not", "wait::tests::a_removed_directory_is_told"],
    ),
    (
        "nobody shows the environment of a process; here a run ends what is in its group",
        &[
            "process::marked::tests::the_git_of_a_living_supervisor_is_left_alone",
            "process::marked::tests::who_left_group_and_session_is_found_and_others_are_let_be",
            "dispatch::bad::a_program_that_forks_away",
            "dispatch::hostile::a_process_that_threw_its_mark_and_its_parent_away_ends_with_its_run",
            // It kills the process of a gate so soon that the group may not be noted yet.
            "workflow::gates::a_gate_whose_process_was_killed_is_run_again",
        ],
    ),
    (
        "a terminal cannot be told from a later one, so none is bound",
        &[
            "command_line::pages::five_minutes_are_as_the_readme_shows_them",
            "command_line::pages::rooms_are_as_they_print",
            "command_line::pages::start_agents_is_as_it_prints",
            "command_line::pages::start_shell_is_as_it_prints",
            "rooms::everywhere::a_terminal_is_looked_for_as_well",
            "rooms::terminal_bound::flags_environment_and_agents_come_first",
            "rooms::terminal_bound::a_pruned_mailbox_is_brought_back_in_its_own_terminal",
            "rooms::terminal_bound::it_is_bound_in_one_room_alone",
            "rooms::terminal_bound::the_last_setup_counts_and_the_same_again_changes_nothing",
            "rooms::terminal_bound::what_is_typed_after_a_setup_acts_as_that_mailbox",
        ],
    ),
    (
        "the terminal of another process cannot be seen, so no session is woken from outside",
        &[
            "agents::idle::a_codex_of_the_daemon_is_woken_while_its_terminal_is_open_and_not_after",
            "agents::idle::an_idle_codex_is_woken",
            "agents::launch_real::a_started_codex_is_woken_also_when_it_is_resumed",
            "agents::idle::an_idle_gemini_is_woken_by_typing_where_that_was_allowed",
            "agents::waker::a_push_that_fails_is_not_counted_as_one",
            "agents::waker::a_session_is_woken_once_for_a_message_while_its_terminal_is_open",
            "agents::waker::one_waker_comes_and_goes_with_the_session",
        ],
    ),
    (
        "not all of the parents can be seen, so a person also types the name, and who says no has not",
        &[
            "dispatch::trust_items::trust_shows_what_would_run_and_then_what_changed",
            "rooms::person::only_a_person_s_command_approves",
            "rooms::person::trust_asks_and_is_made_elsewhere_where_nobody_has_a_terminal",
            "rooms::person::what_has_left_its_agent_for_a_terminal_of_its_own_is_not_stopped",
        ],
    ),
    (
        "there is no boot id, so a lease also ends by the wall clock",
        &[
            "mail::lease::the_boot_clock_decides_and_on_another_host_the_wall_clock",
            "mail::lease::the_terms_say_who_until_when_and_which_attempt",
        ],
    ),
    (
        "the kind of a disk cannot be told, so more files are opened",
        &[
            "mailbox::maildir::recent::tests::only_what_may_have_come_since_is_named",
            "mailbox::maildir::recent::tests::what_was_moved_or_written_since_counts_as_come",
        ],
    ),
    (
        "access lists cannot be seen, so they are not kept",
        &["agents::install_struck::group_and_access_list_stay"],
    ),
    (
        "a program whose file was replaced cannot start itself, but what is there now",
        &["dispatch::hostile::a_watch_goes_on_when_its_program_file_was_replaced"],
    ),
];

/// What is left out of tier 0: the test, and the reason.
const TORTURE: [(&str, &str); 9] = [
    ("C3", "a move is a link and an unlink, so two who archive one message may give it a name with a number"),
    ("H1", "there is no boot id, so a lease also ends by the wall clock"),
    ("I1", "there is no watch, so there is no gap between a look and a sleep that it would have to close"),
    ("I2", "there is no watch whose queue could overflow"),
    ("I5", "there is no watch, so a waiter wakes within two seconds"),
    ("J2", "the kind of a disk cannot be told, so nobody is warned"),
    ("J3", "no call asks a disk for its link count past a cache"),
    (
        "P5",
        "two names cannot be exchanged, so a save between a comparison and a rename is lost; and a person types",
    ),
    ("Q2", "a move is a link and an unlink, and a claim killed between them leaves a message with two names"),
];

/// Runs everything on the portable layer; what is left out is written into the given file too.
pub(crate) fn test(repo: &Repo, skipped: &Path) -> Result<(), String> {
    let names: Vec<&str> = TESTS.iter().flat_map(|(_, names)| *names).copied().collect();
    let listed = run::unseen(cargo(repo, &["nextest", "list"]).args(["--message-format", "oneline"]))?;
    let known: BTreeSet<&str> = listed.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    refuse_unknown(&names, &known)?;
    let left_out = TESTS.iter().flat_map(|(why, names)| names.iter().map(move |name| (*name, *why)));
    record(skipped, left_out)?;
    run::run(cargo(repo, &["nextest", "run"]).args(["-E", &without(&names)]).env("POSTROOM_SKIPPED", skipped))
}

/// Runs tier 0 of the battery on the portable layer.
pub(crate) fn torture(repo: &Repo, skipped: &Path) -> Result<(), String> {
    let battery = ["test", "--test", crate::torture::TARGET];
    run::run(cargo(repo, &["build"]).args(["--bin", "postroom"]))?;
    let listed = run::unseen(cargo(repo, &battery).args(["--", "--list"]))?;
    let of_tier = listed.lines().filter_map(in_tier_0).collect::<BTreeSet<_>>();
    let ids: Vec<&str> = TORTURE.iter().map(|(id, _)| *id).collect();
    refuse_unknown(&ids, &of_tier)?;
    record(skipped, TORTURE.into_iter())?;
    let mut driver = cargo(repo, &battery);
    driver.args(["--", "--tier", "0"]).args(of_tier.iter().filter(|id| !ids.contains(id)));
    driver.env("POSTROOM_BIN", repo.binary("debug", "postroom")).env("POSTROOM_SKIPPED", skipped);
    run::run(&mut driver)
}

fn cargo(repo: &Repo, words: &[&str]) -> Command {
    let mut cargo = repo.cargo();
    cargo.args(words).args(["--locked", "--features", "portable"]);
    cargo
}

/// The id of a line such as `A2  tier 0,1   killed at random`, if it has a size for tier 0.
fn in_tier_0(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let (id, tier, tiers) = (words.next()?, words.next()?, words.next()?);
    (tier == "tier" && tiers.split(',').any(|tier| tier == "0")).then_some(id)
}

fn without(names: &[&str]) -> String {
    let meant: Vec<String> = names.iter().map(|name| format!("test(={name})")).collect();
    format!("not ({})", meant.join(" or "))
}

fn refuse_unknown(names: &[&str], known: &BTreeSet<&str>) -> Result<(), String> {
    match names.iter().find(|name| !known.contains(**name)) {
        Some(name) => Err(format!("xtask/src/portable.rs leaves out `{name}`, and there is no such test")),
        None => Ok(()),
    }
}

/// Says what is left out, now and in the summary.
fn record<'a>(skipped: &Path, left_out: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), String> {
    let lines: String = left_out.map(|(name, why)| format!("skipped: {name}: {why}\n")).collect();
    print!("{lines}");
    let before = fs::read_to_string(skipped).unwrap_or_default();
    fs::write(skipped, before + &lines).map_err(|e| format!("cannot write {}: {e}", skipped.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_must_be_there_and_is_written_down() {
        let known = BTreeSet::from(["a::b", "c"]);
        assert_eq!(refuse_unknown(&["c", "a::b"], &known), Ok(()));
        assert!(refuse_unknown(&["c", "d"], &known).unwrap_err().contains("`d`"));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("skipped");
        record(&path, [("a", "why")].into_iter()).unwrap();
        record(&path, [("b", "why not")].into_iter()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "skipped: a: why\nskipped: b: why not\n");
        assert_eq!(without(&["a::b", "c"]), "not (test(=a::b) or test(=c))");
    }

    #[test]
    fn a_name_is_left_out_once() {
        let names: Vec<&str> = TESTS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn tier_0_is_read_off_the_table() {
        assert_eq!(in_tier_0("A2  tier 0,1   killed at random"), Some("A2"));
        assert_eq!(in_tier_0("D2  tier 1     under load"), None);
        assert_eq!(in_tier_0(""), None);
    }
}
