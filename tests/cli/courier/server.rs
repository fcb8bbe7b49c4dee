//! Servers with TLS, and with permissions that confine a room; their configurations are those of docs/guides/courier.md.

use std::process::Command;

use crate::support::nats::{Machine, Server, acquaint, current, programs};
use crate::support::room::TestRoom;
use crate::support::until::skip;

/// A block of the guide, by the word behind its fence.
fn block(word: &str) -> String {
    let guide = include_str!("../../../docs/guides/courier.md");
    let from = guide.split(&format!("```text {word}\n")).nth(1).unwrap_or_else(|| panic!("no {word}"));
    from.split("\n```").next().unwrap().to_owned()
}

/// The permissions of the guide for these rooms, each with its name as password.
fn confined(rooms: &[&str]) -> String {
    let whole = block("permissions");
    let from = whole.find("    {\n").unwrap();
    let to = whole.rfind("    }\n").unwrap() + 6;
    let users: Vec<String> = rooms
        .iter()
        .map(|room| whole[from..to].replace("$2a$11$change.me", room).replace("anna", room))
        .collect();
    format!("{}{}{}", &whole[..from], users.concat(), &whole[to..])
}

fn join(server: &Server, name: &str, mailbox: &str, more: &[&str]) -> Machine {
    let room = TestRoom::with(&[mailbox]);
    let url = server.url();
    let words = ["courier", "join", &url, "--network", "team", "--room-as", name];
    room.run(words.into_iter().chain(more.iter().copied())).succeeds();
    Machine { room, name: name.to_owned() }
}

fn user_file(room: &TestRoom, user: &str, password: &str) -> String {
    let path = room.around().join("user");
    std::fs::write(&path, format!("{user}\n{password}\n")).unwrap();
    path.display().to_string()
}

#[test]
fn permissions_of_the_guide_confine_a_room() {
    let programs = programs();
    if programs.is_empty() {
        return skip("permissions_of_the_guide_confine_a_room", "no nats-server");
    }
    for program in programs {
        let server = Server::with(&program, &confined(&["anna", "build", "evil"]));
        let place = TestRoom::empty();
        let anna = join(&server, "anna", "alice", &["--user-file", &user_file(&place, "anna", "anna")]);
        let build = join(&server, "build", "bob", &["--user-file", &user_file(&place, "build", "build")]);
        let evil = join(&server, "evil", "mallory", &["--user-file", &user_file(&place, "evil", "evil")]);
        acquaint(&[&anna, &build]);
        let file = anna.room.around().join("file.bin");
        std::fs::write(&file, vec![7; 400_000]).unwrap();
        anna.room
            .by("alice", ["send", "bob@build", "-m", "hello", "--attach", file.to_str().unwrap()])
            .succeeds();
        assert!(anna.once().contains("sent 1"));
        assert!(build.once().contains("received 1"));
        let read = build.room.by("bob", ["read"]).succeeds().out;
        assert!(read.contains("hello") && read.contains("file.bin 400,000 bytes /"), "{read}");
        build.once();
        anna.once();
        assert!(anna.room.by("alice", ["sent"]).succeeds().out.contains("shown"));
        // Without the password, no connection; as another room, nothing is read or written.
        let stranger = TestRoom::with(&["x"]);
        let wrong = user_file(&stranger, "anna", "guess");
        let url = server.url();
        let words = ["courier", "join", &url, "--network", "team", "--room-as", "y", "--user-file", &wrong];
        let refused = stranger.run(words).exits(5);
        assert!(!refused.err.contains("guess"), "{refused:?}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let options = async_nats::ConnectOptions::with_user_and_password("evil".into(), "evil".into())
                .custom_inbox_prefix("_INBOX_team_evil");
            let client = options.connect(&url).await.unwrap();
            let context = async_nats::jetstream::context::ContextBuilder::new()
                .timeout(std::time::Duration::from_millis(700))
                .ack_timeout(std::time::Duration::from_millis(700))
                .build(client.clone());
            let forged = context.publish("postroom.team.mail.build.anna", "x".into()).await.unwrap().await;
            assert!(forged.is_err(), "published as another room");
            let stream = context.get_stream_no_info("POSTROOM_team_build").await.unwrap();
            let consumer: Result<async_nats::jetstream::consumer::PullConsumer, _> =
                stream.create_consumer(async_nats::jetstream::consumer::pull::Config::default()).await;
            assert!(consumer.is_err(), "read the mail of another room");
            assert!(context.delete_stream("POSTROOM_team_build").await.is_err(), "deleted a stream");
            let names = context.get_key_value("postroom_team").await.unwrap();
            assert!(names.put("anna", "x".into()).await.is_err(), "wrote the names of another room");
        });
        drop(evil);
    }
}

/// Makes an authority, and certificates for a server and a client, with the program `openssl`.
fn certificates(dir: &std::path::Path) -> bool {
    let script = "set -e; cd \"$1\"
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem
        for who in server client; do
          openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=$who -keyout $who.key -out $who.csr
          printf 'subjectAltName=DNS:localhost' > $who.ext
          openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $who.ext -out $who.pem
        done";
    Command::new("sh").args(["-c", script, "sh"]).arg(dir).output().is_ok_and(|made| made.status.success())
}

#[test]
fn mail_crosses_over_tls_with_certificates_on_both_sides() {
    let Some(program) = current("mail_crosses_over_tls_with_certificates_on_both_sides") else { return };
    let place = TestRoom::empty();
    let dir = place.around();
    if !certificates(dir) {
        return skip("mail_crosses_over_tls_with_certificates_on_both_sides", "no openssl");
    }
    let server = Server::with(&program, &block("tls").replace("DIR", &dir.display().to_string()));
    let path = |name: &str| dir.join(name).display().to_string();
    let url = format!("tls://localhost:{}", server.port);
    let tls = ["--ca", &path("ca.pem"), "--cert", &path("client.pem"), "--key", &path("client.key")]
        .map(str::to_owned);
    let join = |url: &str, name: &str, mailbox: &str, more: &[String]| {
        let room = TestRoom::with(&[mailbox]);
        let words = ["courier", "join", url, "--network", "team", "--room-as", name];
        let ran = room.run(words.into_iter().chain(more.iter().map(String::as_str))).ends();
        (Machine { room, name: name.to_owned() }, ran)
    };
    let (laptop, ran) = join(&url, "laptop", "alice", &tls);
    assert_eq!(ran.code, 0, "{ran:?}");
    let (build, ran) = join(&url, "build", "bob", &tls);
    assert_eq!(ran.code, 0, "{ran:?}");
    acquaint(&[&laptop, &build]);
    laptop.room.by("alice", ["send", "bob@build", "-m", "sealed"]).succeeds();
    laptop.once();
    assert!(build.once().contains("received 1"));
    // Without a client certificate, with another authority, or by a name that the certificate does not have: no connection.
    for (url, more) in [
        (url.as_str(), tls[..2].to_vec()),
        (
            url.as_str(),
            ["--ca".to_owned(), path("client.pem")].into_iter().chain(tls[2..].iter().cloned()).collect(),
        ),
        (&format!("tls://127.0.0.1:{}", server.port), tls.to_vec()),
    ] {
        let (_, ran) = join(url, "other", "eve", &more);
        assert_eq!(ran.code, 5, "{ran:?}");
    }
}

#[test]
fn a_server_that_syncs_late_is_named_by_status_and_doctor() {
    let test = "a_server_that_syncs_late_is_named_by_status_and_doctor";
    let Some(program) = current(test) else { return };
    let version = std::process::Command::new(&program).arg("--version").output().unwrap();
    if String::from_utf8_lossy(&version.stdout).contains("v2.9.") {
        return skip(test, "nats-server 2.9 does not tell how it syncs");
    }
    for (more, is_safe) in [("", false), ("sync_interval: always", true)] {
        let monitor = crate::support::nats::free_port();
        let config = format!("http: 127.0.0.1:{monitor}\njetstream {{ store_dir: \"DIR/js\"\n{more} }}");
        let server = Server::with(&program, &config);
        let room = TestRoom::with(&["alice"]).leaves_faults();
        let (url, monitor) = (server.url(), format!("http://127.0.0.1:{monitor}"));
        let join = ["courier", "join", &url, "--network", "team", "--room-as", "a", "--monitor", &monitor];
        room.run(join).succeeds();
        let status = room.run(["courier", "status"]).succeeds().out;
        let doctor = room.run(["doctor"]).ends().out;
        for said in [&status, &doctor] {
            assert_eq!(said.contains("sync_interval: always"), !is_safe, "{said}");
        }
        assert!(!status.contains("unknown"), "{status}");
    }
}
