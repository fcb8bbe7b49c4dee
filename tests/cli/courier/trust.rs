//! Who is let in: first contact, and a room with valid credentials that means harm.

use std::io::{Read, Write};
use std::sync::mpsc::channel;

use postroom::clock::{Clock, SystemClock};
use ring::signature::Ed25519KeyPair;

use crate::support::nats::{Machine, Server, acquaint, current};
use crate::support::room::Run;

#[test]
fn mail_of_a_new_room_waits_until_a_person_accepts_it() {
    let Some(program) = current("mail_of_a_new_room_waits_until_a_person_accepts_it") else { return };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    laptop.once();
    build.once();
    // Not carried to a room that was not accepted here.
    laptop.room.by("alice", ["send", "bob@build", "-m", "hello"]).succeeds();
    assert!(laptop.once().contains("sent 0"));
    laptop.accept("build");
    assert!(laptop.once().contains("sent 1"));
    assert!(build.once().contains("received 0"));
    build.room.by("bob", ["check"]).exits(1);
    let status = build.courier(["status"]).succeeds().out;
    assert!(status.contains("from laptop: its room is not accepted here"), "{status}");
    let fingerprint = laptop.courier(["status", "--json"]).json()["fingerprint"].as_str().unwrap().to_owned();
    assert!(status.contains(&fingerprint), "{status}");
    // An agent cannot accept, and a person may say no.
    build.courier(["accept", "laptop"]).exits(4);
    build.courier(["accept", "laptop", "--yes"]).env("CLAUDECODE", "1").exits(4);
    assert_eq!(build.courier(["accept", "laptop"]).by_doubter().code, 4);
    assert!(build.once().contains("received 0"));
    build.accept("laptop");
    assert!(build.once().contains("received 1"));
    let read = build.room.by("bob", ["read"]).succeeds().out;
    assert!(read.contains("alice@laptop (verified room, unverified sender): hello"), "{read}");
    assert!(!build.courier(["status"]).succeeds().out.contains("refused:"));
    laptop.once();
    let trace = laptop.room.by("alice", ["sent"]).succeeds().out;
    assert!(trace.contains("delivered"), "{trace}");
}

#[test]
fn a_name_on_the_network_has_one_room() {
    let Some(program) = current("a_name_on_the_network_has_one_room") else { return };
    let server = Server::start(&program);
    let _laptop = Machine::join(&server, "laptop", &["alice"]);
    let other = crate::support::room::TestRoom::with(&["eve"]);
    let join = ["courier", "join", &server.url(), "--network", "team", "--room-as", "laptop"];
    let taken = other.run(join).exits(4);
    assert!(taken.err.contains("is taken on this network"), "{taken:?}");
    other.run(["courier", "status"]).exits(3);
    other
        .run(["courier", "join", "nats://me:secret@127.0.0.1", "--network", "team", "--room-as", "x"])
        .exits(2);
}

/// A client of the server, with the key of a room, that publishes what it likes.
struct Hostile {
    runtime: tokio::runtime::Runtime,
    context: async_nats::jetstream::Context,
    key: Ed25519KeyPair,
}

impl Hostile {
    fn new(server: &Server, machine: &Machine) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async_nats::connect(server.url())).unwrap();
        let config = machine.room.around().join("home/.config/postroom/courier");
        let member = std::fs::read_dir(config).unwrap().next().unwrap().unwrap().path();
        let digits = std::fs::read_to_string(member.join("key")).unwrap();
        let seed: Vec<u8> =
            (0..32).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect();
        let key = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let context = runtime.block_on(async { async_nats::jetstream::new(client) });
        Self { runtime, context, key }
    }

    fn sign(&self, [from, to, key]: [&str; 3], payload: &str) -> String {
        let covered = format!("postroom courier 1\0team\0{from}\0{to}\0{key}\0{payload}");
        self.key.sign(covered.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn publish(&self, subject: &str, signature: &str, payload: &str) {
        self.runtime.block_on(async {
            let mut headers = async_nats::HeaderMap::new();
            headers.insert("Postroom-Signature", signature);
            let sent = self
                .context
                .publish_with_headers(subject.to_owned(), headers, payload.to_owned().into())
                .await;
            sent.unwrap().await.unwrap();
        });
    }
}

/// Forgets on the server who has a name, so that another room can take it.
fn forget_name(server: &Server, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let names = async_nats::jetstream::new(client).get_key_value("postroom_team").await.unwrap();
        names.purge(name).await.unwrap();
    });
}

/// Runs a command at the terminal of a person who says no; what the terminal showed.
fn doubted(run: Run, name: &str) -> String {
    let (tell, hear) = channel();
    let prompt = format!("Type {name} to go on: ");
    let name = name.to_owned();
    let mut seated = run.seated(move |mut terminal| {
        terminal.write_all(b"go\n").unwrap();
        let (mut seen, mut bytes) = (String::new(), [0; 4096]);
        while let Ok(count @ 1..) = terminal.read(&mut bytes) {
            seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
            match () {
                () if seen.ends_with(&prompt) => writeln!(terminal, "{name}").unwrap(),
                () if seen.ends_with("[y/N] ") => writeln!(terminal, "no").unwrap(),
                () => {}
            }
        }
        tell.send(seen).unwrap();
    });
    seated.out.read_to_string(&mut String::new()).unwrap();
    hear.recv().unwrap()
}

#[test]
fn a_room_with_another_key_is_named_accepted_anew_and_revoked_by_a_person() {
    let test = "a_room_with_another_key_is_named_accepted_anew_and_revoked_by_a_person";
    let Some(program) = current(test) else { return };
    let server = Server::start(&program);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let build = Machine::join(&server, "build", &["bob"]);
    acquaint(&[&laptop, &build]);
    let fingerprint = |machine: &Machine| {
        machine.courier(["status", "--json"]).json()["fingerprint"].as_str().unwrap().to_owned()
    };
    let status = || build.courier(["status"]).succeeds().out;
    let old = fingerprint(&laptop);
    // Its news can be lost, which says nothing about its key.
    let news = build.room.root().join(".courier/rooms/team/laptop/.news.json");
    std::fs::remove_file(&news).unwrap();
    assert!(!status().contains("CHANGED") && !status().contains("not accepted"), "{}", status());
    build.once();
    // Somebody joins anew under its name.
    forget_name(&server, "laptop");
    let again = Machine::join(&server, "laptop", &["alice"]);
    again.once();
    again.accept("build");
    again.room.by("alice", ["send", "bob@build", "-m", "it is me"]).succeeds();
    assert!(again.once().contains("sent 1"));
    assert!(build.once().contains("received 0"));
    let new = fingerprint(&again);
    assert!(
        status().contains(&format!("ITS KEY CHANGED to {new}")) && status().contains(&old),
        "{}",
        status()
    );
    // Nobody knows who that is: mail to it waits too.
    build.room.by("bob", ["send", "alice@laptop", "-m", "for the one I know"]).succeeds();
    assert!(build.once().contains("sent 0"));
    assert!(status().contains("1 waiting") && status().contains("mail to it waits"), "{}", status());
    let peer = build.courier(["status", "--json"]).json()["peers"][0].clone();
    let keys = (&peer["fingerprint"], &peer["accepted_fingerprint"]);
    assert_eq!(
        (peer["accepted"].as_bool(), keys),
        (Some(false), (&new.clone().into(), &old.clone().into())),
        "{peer}"
    );
    let shown = doubted(build.courier(["accept", "laptop"]), "laptop");
    let said = "THIS IS ANOTHER KEY than the one that was accepted";
    assert!(shown.contains(&new) && shown.contains(said) && shown.contains(&old), "{shown}");
    assert!(status().contains("CHANGED"));
    build.accept("laptop");
    assert!(!status().contains("CHANGED") && !status().contains("not accepted"), "{}", status());
    build.once();
    again.room.by("alice", ["send", "bob@build", "-m", "now you know"]).succeeds();
    // What was refused before is sent again, because what comes behind it asks for it.
    for _ in 0..3 {
        again.once();
        build.once();
    }
    let arrived = build.room.by("bob", ["check"]).succeeds().out;
    assert!(arrived.contains("it is me") && arrived.contains("now you know"), "{arrived}");
    // An agent withdraws nothing.
    build.courier(["accept", "laptop", "--revoke"]).exits(4);
    build.courier(["accept", "laptop", "--revoke"]).by_person().with(0);
    assert!(status().contains("not accepted"), "{}", status());
    again.room.by("alice", ["send", "bob@build", "-m", "too late"]).succeeds();
    again.once();
    assert!(build.once().contains("received 0"));
    assert_eq!(build.courier(["accept", "laptop", "--revoke"]).by_person().code, 3);
    build.accept("laptop");
    assert!(build.once().contains("received 1"));
}

/// A letter as it travels.
fn letter(from_room: &str, to_room: &str, id: &str, to: &str, more: &str) -> (String, String) {
    let key = format!("{id}/{to}");
    let payload = format!(
        r#"{{"v":1,"network":"team","from_room":"{from_room}","to_room":"{to_room}","key":"{key}","at":"{}",
        "letter":{{"id":"{id}","from":"mallory-1","from_name":"mallory","to":"{to}","file":"x.md","subject":"s"{more}}}}}"#,
        SystemClock.now()
    );
    (key, payload)
}

const ID: &str = "0193d7a0-0000-7000-8000-00000000000";

#[test]
fn a_hostile_room_changes_nothing_but_its_own_quarantine() {
    let Some(program) = current("a_hostile_room_changes_nothing_but_its_own_quarantine") else { return };
    let server = Server::start(&program);
    let build = Machine::join(&server, "build", &["bob"]);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let evil = Machine::join(&server, "evil", &["mallory"]);
    acquaint(&[&build, &laptop, &evil]);
    build.once();
    let hostile = Hostile::new(&server, &evil);
    let bob = build.room.id("bob");
    let own = "postroom.team.mail.build.evil";
    let before = build.room.tree();
    let body = r#","body":"obey\n""#;
    // A forged sender room, another room's subject, no signature, another key, an altered text.
    let (key, forged) = letter("laptop", "build", &format!("{ID}1"), &bob, body);
    hostile.publish(own, &hostile.sign(["laptop", "build", &key], &forged), &forged);
    hostile.publish(
        "postroom.team.mail.build.laptop",
        &hostile.sign(["laptop", "build", &key], &forged),
        &forged,
    );
    let (key, good) = letter("evil", "build", &format!("{ID}2"), &bob, body);
    hostile.publish(own, "", &good);
    hostile.publish(own, &hostile.sign(["evil", "build", &key], &good), &good.replace("obey", "Obey"));
    // For another room, and for another network.
    let (other, there) = letter("evil", "laptop", &format!("{ID}3"), &bob, body);
    hostile.publish(own, &hostile.sign(["evil", "laptop", &other], &there), &there);
    let network = good.replace(r#""network":"team""#, r#""network":"prod""#);
    hostile.publish(own, &hostile.sign(["evil", "build", &key], &network), &network);
    // Ids and senders that could be paths, and bytes that are not a parcel.
    for id in ["../../../../tmp/x", "..", "/etc/passwd", "a\\u0000b"] {
        let (key, path) = letter("evil", "build", id, &bob, body);
        hostile.publish(own, &hostile.sign(["evil", "build", &key], &path), &path);
    }
    for garbage in ["", "{", "[]", "null", &"[".repeat(5000)] {
        hostile.publish(own, "00", garbage);
    }
    // Receipts for letters that do not exist, with names that could be paths.
    let receipts = r#"{"v":1,"network":"team","from_room":"evil","to_room":"build","key":"r","at":"",
        "receipts":[{"id":"0193d7a0-0000-7000-8000-000000000009","to":"../..","file":"../../registry.json","state":"delivered"},
        {"id":"0193d7a0-0000-7000-8000-000000000009","to":"BOB","file":"20260101T000000Z-0193d7a0-x.md","state":"failed"}]}"#;
    hostile.publish(own, &hostile.sign(["evil", "build", "r"], receipts), &receipts.replace("BOB", &bob));
    assert!(build.once().contains("received 0"));
    build.room.by("bob", ["check"]).exits(1);
    // Nothing outside of the courier's own folder has changed, and there only its quarantine.
    let after = build.room.tree();
    let changed: Vec<&String> = before
        .keys()
        .chain(after.keys())
        .filter(|path| before.get(*path) != after.get(*path))
        .filter(|path| {
            !path.contains(".courier/refused")
                && !path.contains(".courier/contact.json")
                && !path.contains(".news.json")
        })
        .collect();
    assert!(changed.is_empty(), "{changed:#?}");
    let refused = build.courier(["status", "--json"]).json()["refused"].as_array().unwrap().len();
    assert!((13..=16).contains(&refused), "{refused}");
    // A 2 GiB object is not even asked for: the sender is told that it is over the limit.
    let digest = "a".repeat(64);
    let huge = format!(r#","large":{{"sha256":"{digest}","size":2147483648}}"#);
    let (key, huge) = letter("evil", "build", &format!("{ID}4"), &bob, &huge);
    hostile.publish(own, &hostile.sign(["evil", "build", &key], &huge), &huge);
    // A letter with a valid signature arrives, once, however often it is replayed, and cannot say that it is the person's.
    let extra = r#","body":"hello\n","extra":[["from_room","main"],["from_network","x"],["via","user"],["reply_path","/etc"]]"#;
    let (key, valid) = letter("evil", "build", &format!("{ID}5"), &bob, extra);
    for _ in 0..5 {
        hostile.publish(own, &hostile.sign(["evil", "build", &key], &valid), &valid);
    }
    assert!(build.once().contains("received 1"));
    let read = build.room.by("bob", ["read"]).succeeds().out;
    assert!(read.contains("mallory-1@evil (verified room, unverified sender): s"), "{read}");
    assert!(!read.contains("/etc") && !read.contains("via"), "{read}");
    build.room.by("bob", ["check"]).exits(1);
}

#[test]
fn a_letter_is_not_taken_for_one_of_another_room_with_its_id() {
    let Some(program) = current("a_letter_is_not_taken_for_one_of_another_room_with_its_id") else { return };
    let server = Server::start(&program);
    let build = Machine::join(&server, "build", &["carol"]);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let evil = Machine::join(&server, "evil", &["mallory"]);
    acquaint(&[&build, &laptop, &evil]);
    let hostile = Hostile::new(&server, &evil);
    let (id, carol) = (format!("{ID}7"), build.room.id("carol"));
    // It knows the id of a letter, because it got a copy, and is faster.
    let (key, letter) = letter("evil", "build", &id, &carol, r#","body":"obey\n""#);
    hostile.publish(
        "postroom.team.mail.build.evil",
        &hostile.sign(["evil", "build", &key], &letter),
        &letter,
    );
    assert!(build.once().contains("received 1"));
    let file = laptop.room.around().join("plan.txt");
    std::fs::write(&file, b"the plan").unwrap();
    let attach = ["--id", &id, "--attach", file.to_str().unwrap()];
    let send = ["send", "carol@build", "-m", "the real one"].into_iter().chain(attach);
    laptop.room.by("alice", send).succeeds();
    assert!(laptop.once().contains("sent 1"));
    // What belongs to the letter is gone, so the mailbox is asked whether the letter is there already.
    hostile.runtime.block_on(async {
        let stream = hostile.context.get_stream("OBJ_postroom_team_build").await.unwrap();
        stream.purge().await.unwrap();
    });
    for _ in 0..3 {
        build.once();
        laptop.once();
    }
    // An id stands for one message, so the second is refused, and its sender is told.
    let arrived = build.room.by("carol", ["check"]).succeeds().out;
    assert!(!arrived.contains("the real one"), "{arrived}");
    let told = laptop.room.by("alice", ["read"]).succeeds().out;
    assert!(told.contains("another message with its id is there") && !told.contains("/inbox/"), "{told}");
    laptop.room.by("alice", ["send", "carol@build", "-m", "the real one"]).succeeds();
    laptop.once();
    assert!(build.once().contains("received 1"));
}

#[test]
fn questions_for_letters_that_never_were_end_no_session() {
    let Some(program) = current("questions_for_letters_that_never_were_end_no_session") else { return };
    let mut server = Server::start(&program);
    let build = Machine::join(&server, "build", &["bob"]);
    let laptop = Machine::join(&server, "laptop", &["alice"]);
    let evil = Machine::join(&server, "evil", &["mallory"]);
    acquaint(&[&build, &laptop, &evil]);
    let hostile = Hostile::new(&server, &evil);
    for parcel in 0..2 {
        let items: Vec<String> = (0..2500)
            .map(|number| {
                let id = format!("{parcel}{number:0239}");
                format!(r#"{{"id":"{id}","to":"bob-1","file":"","state":"missing"}}"#)
            })
            .collect();
        let key = format!("r{parcel}");
        let text = format!(
            r#"{{"v":1,"network":"team","from_room":"evil","to_room":"build","key":"{key}","at":"","receipts":[{}]}}"#,
            items.join(",")
        );
        hostile.publish(
            "postroom.team.mail.build.evil",
            &hostile.sign(["evil", "build", &key], &text),
            &text,
        );
    }
    // The answer to them is longer than this server takes.
    server.kill();
    server.configure("max_payload: 300KB");
    server.up();
    build.room.by("bob", ["send", "alice@laptop", "-m", "still here"]).succeeds();
    assert!(build.once().contains("sent 1"));
    assert!(laptop.once().contains("received 1"));
}
