//! Mail from one machine to another and back, over every server of this machine.

use crate::support::nats::{Machine, Server, acquaint, current, programs};
use crate::support::until::{skip, until_at_last};

/// The states of what a mailbox sent, newest first.
fn states(machine: &Machine, by: &str) -> Vec<String> {
    let sent = machine.room.by(by, ["sent", "--json"]).json();
    let all = sent["sent"].as_array().unwrap();
    all.iter().map(|sent| sent["state"].as_str().unwrap_or("gone").to_owned()).collect()
}

#[test]
fn a_letter_crosses_and_its_answer_comes_back() {
    let programs = programs();
    if programs.is_empty() {
        return skip("a_letter_crosses_and_its_answer_comes_back", "no nats-server");
    }
    for program in programs {
        let server = Server::start(&program);
        let laptop = Machine::join(&server, "laptop", &["alice"]);
        let build = Machine::join(&server, "build", &["reviewer"]);
        acquaint(&[&laptop, &build]);
        let sent = laptop.room.by("alice", ["send", "reviewer@build", "-m", "please look"]).succeeds();
        assert!(sent.out.starts_with("queued") && sent.out.contains("reviewer@build"), "{sent:?}");
        assert_eq!(states(&laptop, "alice"), ["waits for network"]);
        assert!(laptop.once().contains("sent 1"));
        assert_eq!(states(&laptop, "alice"), ["carried"]);
        assert!(build.once().contains("received 1"));
        laptop.once();
        assert_eq!(states(&laptop, "alice"), ["delivered"]);
        let read = build.room.by("reviewer", ["read"]).succeeds().out;
        assert!(read.contains("alice@laptop") && read.contains("please look"), "{read}");
        build.once();
        laptop.once();
        assert_eq!(states(&laptop, "alice"), ["shown"]);
        let id = sent.out.split(' ').nth(1).unwrap();
        build.room.by("reviewer", ["reply", id, "-m", "looks good"]).succeeds();
        assert!(build.once().contains("sent 1"));
        assert!(laptop.once().contains("received 1"));
        let answer = laptop.room.by("alice", ["read"]).succeeds().out;
        assert!(answer.contains("reviewer@build") && answer.contains("looks good"), "{answer}");
        build.once();
        laptop.once();
        assert_eq!(states(&laptop, "alice"), ["answered"]);
        let trace = laptop.room.by("alice", ["trace", id]).succeeds().out;
        assert!(trace.contains("reviewer@build") && trace.contains("answered"), "{trace}");
        let thread = laptop.room.by("alice", ["thread", id]).succeeds().out;
        assert_eq!(thread.lines().count(), 2, "{thread}");
    }
}

#[test]
fn a_letter_that_was_shown_is_told_once_by_however_many_processes() {
    let Some(program) = current("a_letter_that_was_shown_is_told_once_by_however_many_processes") else {
        return;
    };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    laptop.room.by("alice", ["send", "bob@build", "-m", "hello"]).succeeds();
    laptop.once();
    build.once();
    build.room.by("bob", ["read"]).succeeds();
    for _ in 0..3 {
        build.once();
        laptop.once();
    }
    let journal = laptop.room.root().join(".courier/rooms/team/build/.journal");
    let days = std::fs::read_dir(journal).unwrap().flatten();
    let lines: String = days.map(|day| std::fs::read_to_string(day.path()).unwrap()).collect();
    let shown = lines.lines().filter(|line| line.contains(r#""event":"shown""#)).count();
    assert_eq!((shown, states(&laptop, "alice")), (1, vec!["shown".to_owned()]), "{lines}");
}

#[test]
fn every_document_of_the_courier_fits_its_schema() {
    let Some(program) = current("every_document_of_the_courier_fits_its_schema") else { return };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = crate::support::room::TestRoom::with(&["bob"]);
    let (url, name) = (server.url(), ["--network", "team", "--room-as", "build"]);
    let join = ["courier", "join", &url].into_iter().chain(name).chain(["--json"]);
    let mut documents = build.run(join).succeeds().documents;
    for words in [["once", "--json"], ["status", "--json"], ["reconcile", "--json"]] {
        documents.extend(build.run(["courier"].into_iter().chain(words)).succeeds().documents);
    }
    laptop.once();
    documents.extend(build.run(["courier", "accept", "laptop", "--json"]).by_person().with(0).documents);
    documents.extend(build.run(["courier", "leave", "--json"]).succeeds().documents);
    let found: std::collections::BTreeSet<String> = documents.into_iter().collect();
    let wanted = ["courier-carried", "courier-join", "courier-said", "courier-status"].map(str::to_owned);
    assert_eq!(found, wanted.into_iter().collect());
    build.run(["courier", "status"]).exits(3);
    let unit = laptop.courier(["--unit"]).succeeds().out;
    assert!(unit.contains("\"courier\" \"run\""), "{unit}");
}

#[test]
fn couriers_that_run_carry_at_once_and_ask_gets_its_answer() {
    let Some(program) = current("couriers_that_run_carry_at_once_and_ask_gets_its_answer") else { return };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["reviewer"]);
    acquaint(&[&laptop, &build]);
    let _couriers = (laptop.run(), build.run());
    let asked = laptop.room.by("alice", ["ask", "reviewer@build", "-m", "ok?", "--timeout", "60"]).start();
    until_at_last("the question", || build.room.by("reviewer", ["check"]).ends().code == 0);
    let id = build.room.by("reviewer", ["check", "--json"]).json()["messages"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    build.room.by("reviewer", ["reply", &id, "-m", "yes"]).succeeds();
    let answer = asked.wait_with_output().unwrap();
    assert!(answer.status.success() && String::from_utf8_lossy(&answer.stdout).contains("yes"), "{answer:?}");
}

#[test]
fn without_a_server_sending_is_as_usual_and_mail_waits() {
    let Some(program) = current("without_a_server_sending_is_as_usual_and_mail_waits") else { return };
    let mut server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    server.kill();
    for number in 0..3 {
        laptop.room.by("alice", ["send", "bob@build", "-m", &format!("letter {number}")]).succeeds();
    }
    let failed = laptop.courier(["once"]).exits(5);
    assert!(failed.err.contains("cannot reach"), "{failed:?}");
    let status = laptop.courier(["status"]).succeeds().out;
    assert!(status.contains("3 waiting since") && status.contains("trouble since"), "{status}");
    // The overview says so too, in one line for the network.
    let overview = laptop.room.run(["status"]).succeeds().out;
    let seen = overview.lines().find(|line| line.contains("as laptop")).unwrap();
    for said in ["team", "1 room;", "3 waiting since", "last contact", "cannot reach"] {
        assert!(seen.contains(said), "{said}: {seen}");
    }
    let joined = &laptop.room.run(["status", "--json"]).json()["joined"];
    assert_eq!((&joined["waiting"], &joined["rooms"], &joined["lag"]), (&3.into(), &1.into(), &0.into()));
    server.up();
    assert!(laptop.once().contains("sent 3"));
    assert!(build.once().contains("received 3"));
    let checked = build.room.by("bob", ["check", "--json"]).json();
    let subjects: Vec<_> =
        checked["messages"].as_array().unwrap().iter().map(|m| m["subject"].clone()).collect();
    assert_eq!(subjects, ["letter 0", "letter 1", "letter 2"]);
}

#[test]
fn a_name_that_is_unknown_there_is_told_and_one_known_elsewhere_suggested() {
    let Some(program) = current("a_name_that_is_unknown_there_is_told_and_one_known_elsewhere_suggested")
    else {
        return;
    };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    let wrong = laptop.room.by("alice", ["send", "bab@build", "-m", "x"]).exits(3);
    assert!(wrong.err.contains("bob"), "{wrong:?}");
    let bare = laptop.room.by("alice", ["send", "bob", "-m", "x"]).exits(3);
    assert!(bare.err.contains("bob@build"), "{bare:?}");
    let nowhere = laptop.room.by("alice", ["send", "bob@nowhere", "-m", "x"]).exits(3);
    assert!(nowhere.err.contains("nowhere"), "{nowhere:?}");
    // Somebody who leaves while the letter is on its way: the sender is told.
    laptop.room.by("alice", ["send", "bob@build", "-m", "too late"]).succeeds();
    build.room.run(["setup", "carol"]).succeeds();
    build.room.by("carol", ["prune", "--yes", "bob"]).succeeds();
    laptop.once();
    build.once();
    laptop.once();
    let told = laptop.room.by("alice", ["read"]).succeeds().out;
    assert!(told.contains("failed: too late") && told.contains("bob@build was given up"), "{told}");
    assert_eq!(states(&laptop, "alice"), ["failed"]);
}

/// Lets the letters of a folder be this many days old.
fn aged(machine: &Machine, room: &str, folder: &str, days: u64) {
    let mailboxes = machine.room.root().join(".courier/rooms/team").join(room);
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 24 * 3600);
    let mut changed = 0;
    for mailbox in std::fs::read_dir(mailboxes).unwrap().flatten() {
        for letter in std::fs::read_dir(mailbox.path().join(folder)).into_iter().flatten().flatten() {
            std::fs::File::options().write(true).open(letter.path()).unwrap().set_modified(then).unwrap();
            changed += 1;
        }
    }
    assert_ne!(changed, 0, "no letter in {folder}");
}

#[test]
fn a_copy_that_arrived_long_ago_leaves_with_its_files_and_old_days_of_its_journal() {
    let test = "a_copy_that_arrived_long_ago_leaves_with_its_files_and_old_days_of_its_journal";
    let Some(program) = current(test) else { return };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    let file = laptop.room.around().join("file.bin");
    std::fs::write(&file, b"bytes").unwrap();
    let send = ["send", "bob@build", "-m", "hello", "--attach", file.to_str().unwrap()];
    let peer = laptop.room.root().join(".courier/rooms/team/build");
    let found = |what: &str| {
        let entries = std::fs::read_dir(peer.join(build.room.id("bob")).join(what)).unwrap();
        entries.flatten().count()
    };
    laptop.room.by("alice", send).succeeds();
    laptop.once();
    build.once();
    laptop.once();
    laptop.room.by("alice", send).succeeds();
    assert_eq!((found("archive"), found("attachments")), (1, 2));
    let old = peer.join(".journal/2020-01-01.jsonl");
    std::fs::write(&old, b"").unwrap();
    aged(&laptop, "build", "archive", 8);
    laptop.once();
    assert_eq!((found("archive"), found("attachments"), old.exists()), (0, 1, false));
    build.once();
    assert!(build.room.by("bob", ["check"]).succeeds().out.contains("hello"));
}

#[test]
fn a_letter_that_no_network_takes_for_a_week_comes_back_and_one_without_a_receipt_after_two() {
    let Some(program) =
        current("a_letter_that_no_network_takes_for_a_week_comes_back_and_one_without_a_receipt_after_two")
    else {
        return;
    };
    let mut server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    let send = |text: &str| laptop.room.by("alice", ["send", "bob@build", "-m", text]).succeeds();
    // Carried, and no receipt for thirteen days: it is still on its way. After fifteen it is given up.
    send("no receipt");
    assert!(laptop.once().contains("sent 1"));
    aged(&laptop, "build", "carried", 13);
    laptop.once();
    assert_eq!(states(&laptop, "alice"), ["carried"]);
    aged(&laptop, "build", "carried", 15);
    laptop.once();
    assert_eq!(states(&laptop, "alice"), ["failed"]);
    let told = laptop.room.by("alice", ["read"]).succeeds().out;
    assert!(told.contains("its room gave no receipt for two weeks"), "{told}");
    // What arrives after all is not told as delivered, and not told twice.
    assert!(build.once().contains("received 1"));
    laptop.once();
    laptop.room.by("alice", ["check"]).exits(1);
    // Never carried, also without a server: the courier that cannot connect gives it up.
    server.kill();
    send("no network");
    aged(&laptop, "build", "inbox", 8);
    laptop.courier(["once"]).exits(5);
    let told = laptop.room.by("alice", ["read"]).succeeds().out;
    assert!(told.contains("the network could not be reached for a week"), "{told}");
}

#[test]
fn a_letter_to_a_room_that_nobody_accepts_expires_too() {
    let Some(program) = current("a_letter_to_a_room_that_nobody_accepts_expires_too") else { return };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    build.once();
    laptop.once();
    laptop.room.by("alice", ["send", "bob@build", "-m", "hello"]).succeeds();
    aged(&laptop, "build", "inbox", 8);
    laptop.once();
    assert_eq!(states(&laptop, "alice"), ["failed"]);
}

#[test]
fn the_copy_of_a_letter_that_waited_long_is_kept_after_it_has_arrived() {
    let Some(program) = current("the_copy_of_a_letter_that_waited_long_is_kept_after_it_has_arrived") else {
        return;
    };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    laptop.room.by("alice", ["send", "bob@build", "-m", "hello"]).succeeds();
    laptop.once();
    aged(&laptop, "build", "carried", 8);
    build.once();
    for _ in 0..2 {
        laptop.once();
        assert_eq!(states(&laptop, "alice"), ["delivered"]);
    }
}
