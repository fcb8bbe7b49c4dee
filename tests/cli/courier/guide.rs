//! The ten minutes of docs/guides/courier.md: its own lines, in its order, with a real server.

use std::process::{Command, Stdio};

use crate::support::nats::{Machine, Running, Server, current};
use crate::support::room::{Run, TestRoom};
use crate::support::until::until_at_last;

/// The words behind `postroom` in the lines of the guide that begin like this.
fn lines(beginning: &str) -> Vec<Vec<String>> {
    let guide = include_str!("../../../docs/guides/courier.md");
    let lines = guide.lines().filter_map(|line| line.strip_prefix("postroom ")?.strip_prefix(beginning));
    let words = |rest: &str| {
        let plain = rest.split('#').next().unwrap();
        let quoted: Vec<&str> = plain.split('\'').collect();
        let words = beginning.split(' ').chain(quoted[0].split_whitespace()).map(str::to_owned);
        words
            .chain(quoted.get(1).map(|text| (*text).to_owned()))
            .chain(quoted.get(2).into_iter().flat_map(|rest| rest.split_whitespace()).map(str::to_owned))
            .filter(|word| !word.is_empty())
            .collect()
    };
    lines.map(words).collect()
}

/// A laptop of somebody who types lines of the guide.
struct Laptop(TestRoom);

impl Laptop {
    fn with(mailbox: &str) -> Self {
        let place = TestRoom::empty();
        place.bare(["setup", "--child", mailbox]).succeeds();
        Self(place)
    }

    fn types(&self, words: &[String]) -> Run {
        self.0.bare(words.iter().map(String::as_str))
    }

    fn by(&self, name: &str, words: &[&str]) -> Run {
        self.0.bare(["--as", name].into_iter().chain(words.iter().copied()).collect::<Vec<_>>())
    }

    fn joins(&self, server: &Server, words: &[String]) {
        let words: Vec<String> =
            words.iter().map(|word| word.replace("nats://SERVER", &server.url())).collect();
        let said = self.types(&words).succeeds();
        assert!(said.out.contains("fingerprint: "), "{said:?}");
    }
}

#[test]
fn the_ten_minutes_of_the_guide_work_line_by_line() {
    let Some(program) = current("the_ten_minutes_of_the_guide_work_line_by_line") else { return };
    let server = Server::start(&program);
    let (anna, build) = (Laptop::with("alice"), Laptop::with("reviewer"));
    let both = [&anna, &build];
    for (laptop, words) in both.into_iter().zip(lines("courier join")) {
        laptop.joins(&server, &words);
    }
    for (laptop, words) in both.into_iter().zip(lines("courier accept")) {
        laptop.types(&words).by_person().with(0);
    }
    let run = &lines("courier run")[0];
    let _couriers = both.map(|laptop| Running(laptop.types(run).start()));
    let names = anna.types(&lines("names")[0]).succeeds().out;
    let line =
        names.lines().find(|line| line.starts_with("reviewer@build ")).unwrap_or_else(|| panic!("{names}"));
    assert!(line.contains(" network ") && line.contains(" old, from main"), "{line}");
    let alice = |words: &[String]| anna.by("alice", &words.iter().map(String::as_str).collect::<Vec<_>>());
    alice(&lines("send")[0]).succeeds();
    let asked = alice(&lines("ask")[0]).start();
    let list = || build.by("reviewer", &["check", "--json"]).ends().out;
    until_at_last("the question", || list().contains("Which branch?"));
    let list: serde_json::Value = serde_json::from_str(&list()).unwrap();
    let question =
        list["messages"].as_array().unwrap().iter().find(|m| m["subject"] == "Which branch?").unwrap();
    build.by("reviewer", &["reply", question["id"].as_str().unwrap(), "-m", "main"]).succeeds();
    let answer = asked.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&answer.stdout).contains("main"), "{answer:?}");
    until_at_last("the receipts", || {
        let sent = alice(&lines("sent")[0]).succeeds().out;
        sent.contains("answered") && sent.contains("delivered")
    });
    let status = anna.types(&["status".to_owned()]).succeeds().out;
    let seen = status.lines().find(|line| line.contains("as anna")).unwrap_or_else(|| panic!("{status}"));
    assert!(
        seen.contains("1 room;") && seen.contains("last contact") && seen.contains("at the server"),
        "{seen}"
    );
    // A room of this machine with that name comes first, and that is shown.
    anna.0.bare(["--room", "build", "setup", "--child", "eve"]).succeeds();
    let hidden = anna.by("alice", &["send", "reviewer@build", "-m", "x"]).exits(3);
    assert!(hidden.err.contains("reviewer"), "{hidden:?}");
    let status = anna.0.bare(["courier", "status"]).succeeds().out;
    assert!(status.contains("a room here has the same name and comes first"), "{status}");
}

#[test]
fn accepting_a_room_that_is_not_there_ends_with_advice() {
    let Some(program) = current("accepting_a_room_that_is_not_there_ends_with_advice") else { return };
    let mut server = Server::start(&program);
    let anna = Machine::join(&server, "anna", &["alice"]);
    let nobody = anna.courier(["accept", "nobody"]).by_person().with(3);
    assert!(nobody.err.contains("the room nobody is not known on the network"), "{nobody:?}");
    assert!(nobody.err.contains("courier status"), "{nobody:?}");
    server.kill();
    let away = anna.courier(["accept", "nobody"]).by_person().with(5);
    assert!(away.err.contains("cannot reach"), "{away:?}");
}

#[test]
fn a_server_that_cannot_be_reached_replaces_none_that_works() {
    let Some(program) = current("a_server_that_cannot_be_reached_replaces_none_that_works") else { return };
    let server = Server::start(&program);
    let anna = Machine::join(&server, "anna", &["alice"]);
    let typo = ["join", "nats://127.0.0.1:1", "--network", "team", "--room-as", "anna"];
    anna.courier(typo).exits(5);
    anna.once();
    assert!(anna.courier(["status"]).succeeds().out.contains(&server.url()));
    // Another server that works does replace it.
    let second = Server::start(&program);
    anna.courier(["join", &second.url(), "--network", "team", "--room-as", "anna"]).succeeds();
    assert!(anna.courier(["status"]).succeeds().out.contains(&second.url()));
}

#[test]
fn a_courier_ends_in_order_on_a_signal_and_lets_no_second_one_beside_it() {
    let test = "a_courier_ends_in_order_on_a_signal_and_lets_no_second_one_beside_it";
    let Some(program) = current(test) else { return };
    let server = Server::start(&program);
    let anna = Machine::join(&server, "anna", &["alice"]);
    let courier = anna.courier(["run", "--json"]).start();
    until_at_last("the connection", || {
        anna.courier(["status", "--json"]).json()["connected"].as_bool() == Some(true)
    });
    for word in ["once", "run"] {
        let second = anna.courier([word]).exits(5);
        assert!(second.err.contains("another courier runs for this room"), "{second:?}");
    }
    let term = Command::new("kill").args(["-TERM", &courier.id().to_string()]).stdin(Stdio::null()).status();
    assert!(term.unwrap().success());
    let ended = courier.wait_with_output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(
        (ended.status.code(), &document["sent"], &document["received"]),
        (Some(0), &0.into(), &0.into())
    );
    let status = anna.courier(["status"]).succeeds().out;
    assert!(status.contains("no courier runs"), "{status}");
}
