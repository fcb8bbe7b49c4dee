//! Agents that mail of another machine starts, and those that it does not.

use crate::support::nats::{Machine, Server, acquaint, current};

#[test]
fn mail_of_another_machine_starts_only_an_agent_whose_table_names_its_room() {
    let test = "mail_of_another_machine_starts_only_an_agent_whose_table_names_its_room";
    let Some(program) = current(test) else { return };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    let dir = build.room.around().canonicalize().unwrap().join("project");
    std::fs::create_dir(&dir).unwrap();
    let table = |name: &str, from: &str| {
        format!("[agents.{name}]\npreset = \"command\"\ncommand = [\"pwd\"]\nretries = 0\n{from}\n")
    };
    let text = [table("open", "from = [\"laptop\"]"), table("closed", "")].concat();
    std::fs::write(dir.join("postroom.toml"), text).unwrap();
    for agent in ["open", "closed"] {
        build.room.run(["setup", "--child", agent]).succeeds();
    }
    build.room.run(["trust", "-q"]).arg(&dir).by_person().with(0);
    acquaint(&[&build, &laptop]);
    for agent in ["open@build", "closed@build"] {
        laptop.room.by("alice", ["send", agent, "-m", "where are you"]).succeeds();
    }
    laptop.once();
    assert!(build.once().contains("received 2"));
    build.room.run(["dispatch"]).within(&dir).env("PATH", "/usr/bin:/bin").ends();
    build.once();
    laptop.once();
    let read = || laptop.room.by("alice", ["read"]).succeeds().out;
    let both = [read(), read()].concat();
    assert!(both.contains(dir.to_str().unwrap()), "{both}");
    let why = "it came from the room laptop of the network team, which is not in `from` of its agent";
    assert!(both.contains(why), "{both}");
    laptop.room.by("alice", ["check"]).exits(1);
}
