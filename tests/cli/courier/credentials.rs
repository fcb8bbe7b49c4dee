//! Credentials that a server knows a room by: an nkey, and a file of a JWT with its seed, as `nsc` writes it.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::support::nats::{Machine, Server, acquaint, current};
use crate::support::room::TestRoom;
use crate::support::until::until_at_last;

/// A room that joins with credentials in a file. `Err`: what `courier join` said.
fn join(server: &Server, name: &str, mailbox: &str, (flag, text): (&str, &str)) -> Result<Machine, String> {
    let room = TestRoom::with(&[mailbox]);
    let path = room.around().join("credentials");
    std::fs::write(&path, text).unwrap();
    let (url, path) = (server.url(), path.display().to_string());
    let words = ["courier", "join", &url, "--network", "team", "--room-as", name, flag, &path];
    let ran = room.run(words).ends();
    match ran.code {
        0 => Ok(Machine { room, name: name.to_owned() }),
        5 => Err(ran.err),
        _ => panic!("{ran:?}"),
    }
}

/// Mail crosses between two rooms; and no file outside the settings of the person has the secret.
fn crosses(laptop: &Machine, build: &Machine, secret: &str) {
    acquaint(&[laptop, build]);
    laptop.room.by("alice", ["send", "bob@build", "-m", "known by its key"]).succeeds();
    assert!(laptop.once().contains("sent 1"));
    assert!(build.once().contains("received 1"));
    let root = laptop.room.root();
    let found = std::process::Command::new("grep").args(["-rlF", secret]).arg(&root).output().unwrap();
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    let status = laptop.courier(["status", "--json"]).succeeds().out;
    assert!(!status.contains(secret), "{status}");
    // Other users can see the command line of a process, and its children its environment.
    let courier = laptop.run();
    let seen = |what: &str| std::fs::read(format!("/proc/{}/{what}", courier.0.id())).unwrap();
    until_at_last("the connection", || {
        laptop.courier(["status", "--json"]).json()["connected"].as_bool() == Some(true)
    });
    let both = [seen("cmdline"), seen("environ")].concat();
    assert!(!String::from_utf8_lossy(&both).contains(secret));
}

#[test]
fn a_room_is_known_by_its_nkey() {
    let Some(program) = current("a_room_is_known_by_its_nkey") else { return };
    let key = KeyPair::new_user();
    let known = format!("authorization {{ users: [ {{ nkey: {} }} ] }}", key.public_key());
    let server = Server::with(&program, &known);
    let seed = key.seed().unwrap();
    let laptop = join(&server, "laptop", "alice", ("--nkey", &format!("{seed}\n"))).unwrap();
    let build = join(&server, "build", "bob", ("--nkey", &seed)).unwrap();
    crosses(&laptop, &build, &seed);
    let stranger = KeyPair::new_user().seed().unwrap();
    let refused = join(&server, "other", "eve", ("--nkey", &stranger)).err().unwrap();
    assert!(refused.contains("authorization") && !refused.contains(&stranger), "{refused}");
}

/// A signed statement of one key about another, as NATS servers read it.
fn jwt(issuer: &KeyPair, subject: &KeyPair, nats: Value) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let claims = json!({
        "jti": "POSTROOM", "iat": now, "iss": issuer.public_key(), "name": "n", "sub": subject.public_key(), "nats": nats,
    });
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({"typ": "JWT", "alg": "ed25519-nkey"})), part(&claims));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

fn creds(account: &KeyPair, user: &KeyPair) -> String {
    let nats =
        json!({"pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1, "type": "user", "version": 2});
    let (jwt, seed) = (jwt(account, user, nats), user.seed().unwrap());
    format!(
        "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
}

#[test]
fn a_room_is_known_by_its_credentials_file() {
    let Some(program) = current("a_room_is_known_by_its_credentials_file") else { return };
    let (operator, account, system) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
    let all = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
        "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
    });
    let of_account = json!({"limits": all, "type": "account", "version": 2});
    let none = json!({"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1});
    let of_system = json!({"limits": none, "type": "account", "version": 2});
    let configuration = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}\n{}: {} }}",
        jwt(&operator, &operator, json!({"type": "operator", "version": 2})),
        system.public_key(),
        account.public_key(),
        jwt(&operator, &account, of_account),
        system.public_key(),
        jwt(&operator, &system, of_system),
    );
    let server = Server::with(&program, &configuration);
    let (one, two) = (KeyPair::new_user(), KeyPair::new_user());
    let laptop = join(&server, "laptop", "alice", ("--creds", &creds(&account, &one))).unwrap();
    let build = join(&server, "build", "bob", ("--creds", &creds(&account, &two))).unwrap();
    crosses(&laptop, &build, &one.seed().unwrap());
    // An account that the operator did not sign.
    let stranger = KeyPair::new_account();
    let user = KeyPair::new_user();
    let refused = join(&server, "other", "eve", ("--creds", &creds(&stranger, &user))).err().unwrap();
    assert!(!refused.contains(&user.seed().unwrap()), "{refused}");
}
