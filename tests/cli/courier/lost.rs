//! Servers that forget: the directory is the truth.

use crate::support::nats::{Machine, Server, acquaint, current};

fn subjects(machine: &Machine, by: &str) -> Vec<String> {
    let checked = machine.room.by(by, ["check", "--json", "--limit", "1000"]).json();
    let all = checked["messages"].as_array().unwrap();
    all.iter().map(|m| m["subject"].as_str().unwrap().to_owned()).collect()
}

fn send(machine: &Machine, numbers: std::ops::Range<usize>) {
    for number in numbers {
        machine.room.by("alice", ["send", "bob@build", "-m", &format!("letter {number:03}")]).succeeds();
    }
}

fn letters(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("letter {number:03}")).collect()
}

#[test]
fn a_wiped_server_gets_everything_again() {
    let Some(program) = current("a_wiped_server_gets_everything_again") else { return };
    let mut server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    send(&laptop, 0..5);
    assert!(laptop.once().contains("sent 5"));
    server.kill();
    std::fs::remove_dir_all(server.store()).unwrap();
    server.up();
    // The room makes its stream again, and what comes behind is kept back for what is missing.
    build.once();
    send(&laptop, 5..7);
    assert!(laptop.once().contains("sent 7"));
    build.once();
    assert_eq!(subjects(&build, "bob"), letters(7));
    laptop.once();
    let sent = laptop.room.by("alice", ["sent", "--json"]).json();
    assert!(sent["sent"].as_array().unwrap().iter().all(|m| m["state"] == "delivered"), "{sent}");
}

#[test]
fn an_old_snapshot_doubles_nothing_and_loses_nothing() {
    let Some(program) = current("an_old_snapshot_doubles_nothing_and_loses_nothing") else { return };
    let mut server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    send(&laptop, 0..4);
    laptop.once();
    server.kill();
    let copy = server.dir.path().join("snapshot");
    let cp = |from: &std::path::Path, to: &std::path::Path| {
        assert!(std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    };
    cp(&server.store(), &copy);
    server.up();
    build.once();
    laptop.once();
    send(&laptop, 4..8);
    laptop.once();
    // The server is back at four letters, which are all here; the last four are nowhere but at their sender.
    server.kill();
    std::fs::remove_dir_all(server.store()).unwrap();
    cp(&copy, &server.store());
    server.up();
    build.once();
    assert_eq!(subjects(&build, "bob"), letters(4));
    laptop.courier(["reconcile"]).succeeds();
    build.once();
    assert_eq!(subjects(&build, "bob"), letters(8));
    // Read or not, and beyond what the server remembers: the mailbox knows.
    build.room.by("bob", ["read"]).succeeds();
    laptop.once();
    laptop.courier(["reconcile"]).succeeds();
    build.once();
    assert_eq!(subjects(&build, "bob").len(), 7);
}

#[test]
fn a_killed_courier_loses_and_doubles_nothing() {
    let Some(program) = current("a_killed_courier_loses_and_doubles_nothing") else { return };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    let mut sent = 0;
    for round in 0..6 {
        let (mut one, mut other) = (laptop.run(), build.run());
        send(&laptop, sent..sent + 5);
        sent += 5;
        std::thread::sleep(std::time::Duration::from_millis(17 * round));
        one.kill();
        other.kill();
    }
    laptop.once();
    build.once();
    laptop.once();
    assert_eq!(subjects(&build, "bob"), letters(sent));
}
