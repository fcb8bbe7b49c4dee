//! Bodies that are too long for the server, and attachments.

use crate::support::nats::{Machine, Server, acquaint, programs};
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
