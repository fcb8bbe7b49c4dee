//! Mail belongs to a network: a room of the same name in another one gets none of it.

use crate::support::nats::{Machine, Server, current};
use crate::support::room::TestRoom;

fn join(server: &Server, room: TestRoom, name: &str, network: &str) -> Machine {
    let machine = Machine { room, name: name.to_owned() };
    machine.courier(["join", &server.url(), "--network", network, "--room-as", name]).succeeds();
    machine
}

#[test]
fn mail_that_waits_for_a_room_never_goes_to_one_of_that_name_in_another_network() {
    let test = "mail_that_waits_for_a_room_never_goes_to_one_of_that_name_in_another_network";
    let Some(program) = current(test) else { return };
    let server = Server::start(&program);
    let laptop = join(&server, TestRoom::with(&["alice"]), "laptop", "team");
    let build = join(&server, TestRoom::with(&["bob"]), "build", "team");
    laptop.once();
    laptop.accept("build");
    build.accept("laptop");
    laptop.room.by("alice", ["send", "bob@build", "-m", "for the team"]).succeeds();
    laptop.courier(["leave"]).succeeds();
    // Another machine is called the same there, and has a mailbox of that name.
    let other = join(&server, TestRoom::with(&["bob"]), "build", "prod");
    let laptop = join(&server, laptop.room, "laptop", "prod");
    let status = laptop.courier(["status"]).succeeds().out;
    assert!(status.contains("not accepted") && status.contains("0 waiting"), "{status}");
    laptop.accept("build");
    other.accept("laptop");
    assert!(laptop.once().contains("sent 0"));
    assert_eq!(server.waiting("prod", "build"), 0);
    laptop.room.by("alice", ["send", "bob@build", "-m", "for prod"]).succeeds();
    assert!(laptop.once().contains("sent 1"));
    assert!(other.once().contains("received 1"));
    let arrived = other.room.by("bob", ["read"]).succeeds().out;
    assert!(arrived.contains("for prod") && !arrived.contains("for the team"), "{arrived}");
    // Back in the first network, it goes where it was sent to, and its room is still accepted.
    laptop.courier(["leave"]).succeeds();
    let laptop = join(&server, laptop.room, "laptop", "team");
    assert!(laptop.once().contains("sent 1"));
    assert!(build.once().contains("received 1"));
    assert!(build.room.by("bob", ["read"]).succeeds().out.contains("for the team"));
}
