//! Bodies that are too long for the server, and attachments.

use crate::support::nats::{Machine, Server, acquaint, current, programs};
use crate::support::until::skip;

#[test]
fn long_bodies_and_attachments_arrive_as_they_were_sent() {
    let programs = programs();
    if programs.is_empty() {
        return skip("long_bodies_and_attachments_arrive_as_they_were_sent", "no nats-server");
    }
    for program in programs {
        // A server that takes no message over 300 KiB.
        let server = Server::with(&program, "max_payload: 300KB");
        let laptop = Machine::join(&server, "laptop", &["alice"]);
        let build = Machine::join(&server, "build", &["bob"]);
        acquaint(&[&laptop, &build]);
        let body: String = (0..100_000).map(|number| format!("line {number}\n")).collect();
        let body = &body[..1_000_000];
        laptop.room.by("alice", ["send", "bob@build", "-s", "long"]).input(body).succeeds();
        let (picture, empty) =
            (laptop.room.around().join("picture.bin"), laptop.room.around().join("empty.txt"));
        let bytes: Vec<u8> =
            (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        std::fs::write(&picture, &bytes).unwrap();
        std::fs::write(&empty, b"").unwrap();
        let attach =
            ["send", "bob@build", "-m", "see the files", "--attach", picture.to_str().unwrap(), "--attach"];
        laptop.room.by("alice", attach).arg(&empty).succeeds();
        assert!(laptop.once().contains("sent 2"));
        assert!(build.once().contains("received 2"));
        let first = build.room.by("bob", ["read", "--json"]).json();
        let found = first["body"].as_str().or(first["messages"][0]["body"].as_str()).unwrap();
        assert_eq!(found.trim_end(), body.trim_end());
        let second = build.room.by("bob", ["read"]).succeeds().out;
        let path = second.lines().find(|line| line.contains("picture.bin")).unwrap();
        let path = path.split_whitespace().last().unwrap();
        assert_eq!(std::fs::read(path).unwrap(), bytes, "{second}");
        assert!(second.contains("empty.txt 0 bytes") && !second.contains("missing"), "{second}");
    }
}

#[test]
fn a_file_for_two_mailboxes_arrives_in_both_and_nothing_stays_at_the_server() {
    let test = "a_file_for_two_mailboxes_arrives_in_both_and_nothing_stays_at_the_server";
    let Some(program) = current(test) else { return };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob", "carol"]);
    acquaint(&[&laptop, &build]);
    let file = laptop.room.around().join("file.bin");
    std::fs::write(&file, vec![7; 10_000]).unwrap();
    let file = file.to_str().unwrap();
    // The first letter takes the file away from the server before the second is looked at.
    for name in ["bob@build", "carol@build"] {
        laptop.room.by("alice", ["send", name, "-m", "the file", "--attach", file]).succeeds();
        laptop.once();
        if name == "bob@build" {
            build.once();
        }
    }
    build.once();
    // Every letter is sent again, and its file with it: each is here already.
    laptop.courier(["reconcile"]).succeeds();
    for _ in 0..4 {
        build.once();
        laptop.once();
    }
    for name in ["bob", "carol"] {
        let read = build.room.by(name, ["read"]).succeeds().out;
        assert!(read.contains("file.bin 10,000 bytes /"), "{read}");
        build.room.by(name, ["check"]).exits(1);
    }
    assert!(laptop.room.by("alice", ["sent", "--json"]).succeeds().out.matches("delivered").count() >= 2);
    let waiting = server.waiting("team", "build");
    assert_eq!(waiting, 0, "parcels stay at the server");
}

#[test]
fn a_letter_over_the_limit_of_the_server_holds_up_no_other() {
    let test = "a_letter_over_the_limit_of_the_server_holds_up_no_other";
    let Some(program) = current(test) else { return };
    let server = Server::with(&program, "max_payload: 140KB");
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    // Longer than the server takes, and characters that JSON writes with six bytes.
    for body in ["x".repeat(200_000), "\u{1}".repeat(40_000), "short".to_owned()] {
        laptop.room.by("alice", ["send", "bob@build", "-s", "letter"]).input(&body).succeeds();
    }
    assert!(laptop.once().contains("sent 3"));
    assert!(build.once().contains("received 3"));
}

#[test]
fn an_object_that_somebody_altered_is_not_taken_and_asked_for_again() {
    let Some(program) = current("an_object_that_somebody_altered_is_not_taken_and_asked_for_again") else {
        return;
    };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    let file = laptop.room.around().join("plan.txt");
    std::fs::write(&file, b"the plan").unwrap();
    let attach = ["send", "bob@build", "-m", "see the file", "--attach", file.to_str().unwrap()];
    laptop.room.by("alice", attach).succeeds();
    laptop.once();
    // As long as the true one, and under its name.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let context = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
        let store = context.get_object_store("postroom_team_build").await.unwrap();
        let mut names = store.list().await.unwrap();
        let info = futures_util::StreamExt::next(&mut names).await.unwrap().unwrap();
        store.put(info.name.as_str(), &mut b"evilplan".as_slice()).await.unwrap();
    });
    assert!(build.once().contains("received 0"));
    build.room.by("bob", ["check"]).exits(1);
    laptop.once();
    assert!(build.once().contains("received 1"));
    let read = build.room.by("bob", ["read"]).succeeds().out;
    let path =
        read.lines().find(|line| line.contains("plan.txt")).unwrap().split_whitespace().last().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), b"the plan");
}
