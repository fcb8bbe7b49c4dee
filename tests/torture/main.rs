//! The torture battery: what Postroom promises, put to the proof against the release binary.
//!
//! `torture [ID…] [--tier N] [--soak MINUTES] [--seeds A..B]` runs the named tests, or those of a tier, each in the size that tier asks
//! for; `--soak` runs O1 for that long, `--seeds` P1 with these histories; `--list` shows the table. One line is printed for each test:
//! `A1 passed …`, `A1 failed …` with what was found below it, or `skipped: A1: …`. `POSTROOM_BIN` names the binary.
//!
//! The letter of a test says what it is about, and begins the name of its file:
//!
//! ```text
//! A  killed, or a call fails            K  modes, loose directories, secrets
//! B  full disks and limits              L  agents, and what mail can make them do
//! C  many at once                       M  the server over HTTP
//! D  the power is cut                   N  mail between machines, O  the soak
//! E  names, links, kinds of files       P  random histories, races, look-ups, codecs, settings of others
//! F  what a message holds               Q  questions and claims
//! G  forged senders, holders, locks     V  the dispatcher
//! H  clocks                             W  trees and workspaces
//! I  waiting                            X  workflows
//! J  odd and network disks
//! ```

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the battery arranges files, processes and time as it needs, and a broken arrangement must stop it"
)]

mod a_crash;
mod a_errno;
mod a_output;
mod b_limits;
mod b_many;
mod b_space;
mod c_crowd;
mod c_merge;
mod c_scan;
#[path = "../cli/support/closure.rs"]
mod closure;
mod d_load;
mod d_mutants;
mod d_order;
mod d_power;
mod disk;
#[allow(dead_code, reason = "some of what it draws is for the property tests alone")]
#[path = "../cli/support/drawn.rs"]
mod drawn;
mod e_case;
mod e_links;
mod e_names;
mod e_swap;
mod e_types;
mod f_content;
mod f_fuzz;
mod f_terminal;
mod fire;
mod g_forged;
mod g_holder;
mod g_lock;
mod g_other;
mod g_registry;
mod h_clock;
mod h_time;
mod i_gap;
mod i_gone;
mod i_latency;
mod i_overflow;
mod i_wake;
mod j_fuse;
mod j_network;
mod j_odd;
mod k_loose;
mod k_modes;
mod k_secrets;
mod l_agents;
mod l_fence;
mod l_told;
mod lab;
mod ledger;
mod lint;
mod m_abuse;
mod m_content;
mod m_http;
mod m_page;
mod m_server;
mod n_clock;
mod n_courier;
mod n_policy;
mod n_scene;
mod o_soak;
mod ops;
mod ops_claims;
mod ops_setup;
mod p_codec;
mod p_lookup;
mod p_model;
mod p_races;
mod p_races_scene;
mod p_races_state;
mod p_races_stop;
mod p_scene;
mod p_settings;
mod place;
mod process;
mod q_ask;
mod q_claims;
#[allow(dead_code, reason = "some of it is for the tests of the command line alone")]
#[path = "../cli/support/seat.rs"]
mod seat;
mod strace;
mod v_dispatch;
mod v_morning;
mod v_night;
mod w_errno;
mod w_killed;
mod w_power;
mod w_scene;
mod w_tree;
mod waiter;
#[allow(dead_code, reason = "some of it is for the tests of the command line alone")]
#[path = "../cli/web_http/client.rs"]
mod web_client;
mod x_pipeline;
mod x_workflow;

use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use lab::{Lab, NotPassed, Outcome};

/// Both servers over HTTP: MCP and the page. The first that does not pass is reported.
fn both(lab: &Lab, mcp: fn(&Lab) -> Outcome, page: fn(&Lab) -> Outcome) -> Outcome {
    Ok(format!("{}; {}", mcp(lab)?, page(lab)?))
}

/// One test of the battery.
struct Test {
    id: &'static str,
    /// The tiers it has a size for; alone, it runs in the first.
    tiers: &'static [u8],
    title: &'static str,
    run: fn(&Lab) -> Outcome,
}

const fn test(id: &'static str, tiers: &'static [u8], title: &'static str, run: fn(&Lab) -> Outcome) -> Test {
    Test { id, tiers, title, run }
}

#[rustfmt::skip]
const TABLE: &[Test] = &[
    test("A1", &[1], "killed at every system call", a_crash::kill_at_every_call),
    test("Q2", &[0, 1], "claims killed at every system call", q_claims::killed_at_every_call),
    test("A2", &[0, 1], "killed at random", q_claims::killed_at_random),
    test("A6", &[0, 1], "stopped and continued", q_claims::stopped_and_continued),
    test("A3", &[1, 2], "every call fails once", a_errno::every_call_fails),
    test("A4", &[0], "a sync fails", a_errno::a_sync_fails),
    test("A5", &[0], "nobody listens", a_output::nobody_listens),
    test("B1", &[1], "no bytes are left", b_space::no_bytes),
    test("B2", &[1], "no inodes are left", b_space::no_inodes),
    test("B3", &[0], "file size runs out", b_limits::file_size),
    test("B4", &[0, 1], "descriptors run out", b_limits::descriptors),
    test("B5", &[0], "memory runs out", b_limits::memory),
    test("B6", &[2], "many messages and many agents", b_many::many),
    test("C1", &[0, 1], "senders and readers", c_crowd::senders_and_readers),
    test("C2", &[1], "a scan while everything moves", c_scan::scan_while_moving),
    test("C3", &[0], "one winner", c_crowd::one_winner),
    test("C4", &[0], "two machines", c_merge::two_machines),
    test("D1", &[1], "the power is cut at every system call", d_power::cut_at_every_call),
    test("D2", &[1, 2], "the power is cut under load", d_load::cut_under_load),
    test("D3", &[0], "the order of syncs", d_order::order_of_calls),
    test("D4", &[2], "every sync and flag left out in turn", d_mutants::every_mutant_is_caught),
    test("D5", &[2], "the power is cut on other file systems", d_power::on_other_file_systems),
    test("E1", &[0, 1], "hostile names", e_names::hostile_names),
    test("E2", &[0, 1], "planted links", e_links::planted_links),
    test("E3", &[1], "directories swapped for links", e_swap::swapped_directories),
    test("E4", &[0, 1], "file types", e_types::file_types),
    test("E5", &[0], "one name in many forms", e_case::one_name_in_many_forms),
    test("F1", &[0], "hostile frontmatter", f_content::hostile_frontmatter),
    test("F2", &[0, 1], "round trip", f_content::round_trip),
    test("F3", &[2], "fuzzing", f_fuzz::fuzz),
    test("F4", &[0], "what a terminal gets", f_terminal::nothing_is_obeyed),
    test("G1", &[0], "forged senders", g_forged::forged_senders),
    test("G2", &[1], "another user", g_other::another_user),
    test("G3", &[0, 1], "one name wanted by many", g_registry::one_name),
    test("G4", &[0, 1], "a holder that died", g_holder::dead_holder),
    test("G5", &[0, 1], "locks whose file is removed", g_lock::removed_locks),
    test("H1", &[0, 1], "clocks that are wrong", h_clock::wrong_clocks),
    test("H2", &[0], "old litter", h_time::old_litter),
    test("I1", &[0, 1], "mail between the look and the sleep", i_gap::lost_wake_up),
    test("I2", &[0, 1], "more mail than the watch can tell", i_overflow::overflow),
    test("I3", &[0], "no watches", i_wake::no_watches),
    test("I4", &[0], "the mailbox is gone under its waiter", i_gone::gone),
    test("I5", &[0, 1], "how soon a waiter wakes", i_latency::latency),
    test("J1", &[0], "calls that are lacking", j_odd::lacking_calls),
    test("J2", &[0], "network disks", j_network::network_disks),
    test("J3", &[0], "a disk that remembers too much", j_fuse::cached_links),
    test("K1", &[0], "modes", k_modes::umasks),
    test("K2", &[0], "rooms that others could change", k_loose::loose_rooms),
    test("K3", &[0], "secrets", k_secrets::secrets_stay),
    test("L1", &[0], "bodies that want to break out", l_fence::no_body_breaks_out),
    test("L2", &[0], "notices", l_fence::notices_are_one_line),
    test("L3", &[0], "storms", l_agents::storms_end),
    test("L4", &[0], "mail that wants to be a command", l_agents::mail_is_no_command),
    test("M1", &[0], "other names of the server", |lab| both(lab, m_http::other_names, m_page::other_names)),
    test("M2", &[0], "other sites", |lab| both(lab, m_http::other_sites, m_page::other_sites)),
    test("M3", &[0, 1], "no token", |lab| both(lab, m_http::no_token, m_page::no_code)),
    test("M4", &[0], "hostile content on the page", m_content::hostile_content),
    test("M5", &[1, 2], "too much over HTTP", |lab| both(lab, m_abuse::too_much, m_page::too_much)),
    test("M6", &[0], "other machines", |lab| both(lab, m_http::other_machines, m_page::other_machines)),
    test("N1", &[0, 1], "mail between machines", n_courier::exchange),
    test("N2", &[0], "servers that promise less", n_policy::policy),
    test("N3", &[0, 1], "couriers and the server killed", n_courier::killed),
    test("N4", &[0, 1], "streams that forget", n_courier::forgetful),
    test("N5", &[1, 2], "the power of the server is cut", n_courier::power_cut),
    test("N6", &[1, 2], "links, losses, kills and a full disk together", n_courier::partitions),
    test("O1", &[2], "the soak", o_soak::soak),
    test("P5", &[0, 1], "settings of others", p_settings::settings_of_others),
    test("P1", &[0, 1], "random histories with one fault", p_model::histories),
    test("P2", &[1, 2], "two verbs at once", p_races::race_matrix),
    test("P3", &[1, 2], "look-ups that fail", p_lookup::lookups_fail),
    test("P4", &[0, 1, 2], "codec closure", p_codec::codec_closure),
    test("Q1", &[0, 1], "questions and answers", q_ask::questions),
    test("V1", &[0, 1], "dispatchers and supervisors that are killed", v_dispatch::killed_dispatchers),
    test("V2", &[0, 1], "a night without a person", v_night::night),
    test("W1", &[0, 1], "numbers of a tree", w_tree::numbers),
    test("W2", &[0, 1], "shared state of a tree", w_tree::shared_state),
    test("W3", &[0, 1, 2], "a tree and a workspace killed at every system call", w_killed::killed_at_every_call),
    test("W4", &[1, 2], "a tree and a workspace whose power is cut", w_power::cut_at_some_calls),
    test("W5", &[1, 2], "calls that fail in a tree and a workspace", w_errno::calls_fail),
    test("X1", &[0, 1], "a run of a workflow whose processes are killed", x_workflow::killed_runs),
    test("X2", &[0, 1], "a feature in two repositories whose processes are killed", x_pipeline::killed_pipelines),
];

/// How many findings of one test are printed.
const SHOWN: usize = 60;

struct Wanted {
    ids: Vec<String>,
    tier: Option<u8>,
    /// How long the soak lasts.
    soak: Duration,
    /// Which histories P1 plays.
    seeds: Option<Range<u64>>,
}

/// How long the soak lasts if nobody says.
const SOAK: Duration = Duration::from_secs(2 * 3600);

fn main() -> ExitCode {
    let wanted = match arguments() {
        Ok(Some(wanted)) => wanted,
        Ok(None) => return ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("torture: {why}");
            return ExitCode::from(2);
        }
    };
    let Some(binary) = std::env::var_os("POSTROOM_BIN").map(PathBuf::from).filter(|path| path.is_file())
    else {
        eprintln!("torture: POSTROOM_BIN does not name the binary; cargo xtask torture sets it");
        return ExitCode::from(2);
    };
    alone_with_mounts();
    let workers = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
    let start = Instant::now();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for test in TABLE {
        let Some(tier) = wanted.tier_of(test) else { continue };
        let mutant = std::env::var_os("POSTROOM_MUTANT_BIN").map(PathBuf::from).filter(|path| path.is_file());
        let (binary, soak, seeds) = (binary.clone(), wanted.soak, wanted.seeds.clone());
        let lab = Lab { binary, tier, workers, soak, seeds, mutant, mutation: None };
        match report(test, &lab) {
            Ok(_) => passed += 1,
            Err(NotPassed::Failed { .. }) => failed += 1,
            Err(NotPassed::Skipped(_)) => skipped += 1,
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("torture: {passed} passed, {failed} failed, {skipped} skipped in {seconds:.1} s");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Wanted {
    /// The tier a test is to be run in, if it is wanted.
    fn tier_of(&self, test: &Test) -> Option<u8> {
        let named = self.ids.iter().any(|id| id == test.id);
        match self.tier {
            Some(tier) if named || self.ids.is_empty() => test.tiers.iter().copied().find(|t| *t == tier),
            None if named || self.ids.is_empty() => test.tiers.first().copied(),
            _ => None,
        }
    }
}

/// What to run; `None` if something else was asked for and is done.
fn arguments() -> Result<Option<Wanted>, String> {
    let mut wanted = Wanted { ids: vec![], tier: None, soak: SOAK, seeds: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => {
                for Test { id, tiers, title, .. } in TABLE {
                    let tiers: Vec<String> = tiers.iter().map(u8::to_string).collect();
                    println!("{id:<4}tier {:<6}{title}", tiers.join(","));
                }
                return Ok(None);
            }
            "--tier" => {
                let tier = arguments.next().and_then(|tier| tier.parse().ok());
                wanted.tier = Some(tier.ok_or("--tier takes a number")?);
            }
            "--soak" => {
                let minutes = arguments.next().and_then(|minutes| minutes.parse::<f64>().ok());
                let minutes = minutes.filter(|m| *m > 0.0 && *m < 1e5);
                let minutes = minutes.ok_or("--soak takes a number of minutes")?;
                wanted.soak = Duration::from_secs_f64(60.0 * minutes);
                wanted.ids.push("O1".to_owned());
            }
            "--seeds" => {
                let seeds = arguments.next().and_then(|seeds| {
                    let (from, to) = seeds.split_once("..")?;
                    Some(from.parse().ok()?..to.parse().ok()?)
                });
                wanted.seeds = Some(seeds.ok_or("--seeds takes two numbers, such as 0..300")?);
            }
            i_latency::BARE_WAIT => {
                let [inbox, alive] = [(); 2].map(|()| PathBuf::from(arguments.next().unwrap_or_default()));
                i_latency::bare_wait(&inbox, &alive);
                return Ok(None);
            }
            n_clock::COURIER => return n_clock::run(&arguments.collect::<Vec<_>>()).map(|()| None),
            id if TABLE.iter().any(|test| test.id == id) => wanted.ids.push(id.to_owned()),
            other => return Err(format!("there is no test `{other}`; --list shows them")),
        }
    }
    Ok(Some(wanted))
}

/// Starts over in a mount namespace of its own, where that is possible: then nobody else sees, copies or
/// keeps the disks that are cut off, and none is left behind.
fn alone_with_mounts() {
    const ALONE: &str = "POSTROOM_TORTURE_ALONE";
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--"]).stderr(Stdio::null());
        command
    };
    let alone = std::env::var_os(ALONE).is_some();
    if alone || !unshare().arg("true").status().is_ok_and(|status| status.success()) {
        return;
    }
    let myself = std::env::current_exe().expect("the path of this program");
    let mut command = unshare();
    command.arg(myself).args(std::env::args_os().skip(1)).env(ALONE, "1").stderr(Stdio::inherit());
    let e = command.exec();
    eprintln!("torture: not in a mount namespace of its own: {e}");
}

/// Runs one test and prints its line.
fn report(test: &Test, lab: &Lab) -> Outcome {
    let start = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| (test.run)(lab))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let figures = format!("the test itself broke: {}", text.unwrap_or_default());
        Err(NotPassed::Failed { figures, problems: vec![] })
    });
    let (id, title, seconds) = (test.id, test.title, start.elapsed().as_secs_f64());
    match &outcome {
        Ok(figures) => println!("{id} passed {title}: {figures} ({seconds:.1} s)"),
        Err(NotPassed::Failed { figures, problems }) => {
            println!("{id} failed {title}: {} findings; {figures} ({seconds:.1} s)", problems.len());
            problems.iter().take(SHOWN).for_each(|problem| println!("    {problem}"));
            if problems.len() > SHOWN {
                println!("    and {} more", problems.len() - SHOWN);
            }
        }
        Err(NotPassed::Skipped(reason)) => skip(&format!("skipped: {id}: {reason}")),
    }
    outcome
}

/// Says that a test was skipped, also in the file that collects that.
fn skip(line: &str) {
    println!("{line}");
    let Some(path) = std::env::var_os("POSTROOM_SKIPPED") else { return };
    let file = OpenOptions::new().append(true).create(true).open(path);
    if let Err(e) = file.and_then(|mut file| writeln!(file, "{line}")) {
        eprintln!("torture: the skipped test could not be recorded: {e}");
    }
}
