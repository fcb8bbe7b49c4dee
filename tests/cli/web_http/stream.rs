//! The stream of events: nothing is missed and nothing comes twice, whatever happens to connections and to the room.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::{Browser, Event};
use super::server::Server;
use crate::support::room::TestRoom;
use crate::support::until::{skip, until};

const SOON: Duration = Duration::from_secs(20);

/// The subjects of the messages that were sent, as an event shows them.
fn subjects(event: &Event) -> Vec<String> {
    let lines: Value = serde_json::from_str(&event.data).unwrap_or_default();
    let sent = lines.as_array().into_iter().flatten().filter(|line| line["event"] == "sent");
    let html = sent.filter_map(|line| line["html"].as_str());
    html.filter_map(|html| Some(html.split("number-").nth(1)?.split('<').next()?.to_owned())).collect()
}

#[test]
fn a_reader_that_loses_its_connection_misses_nothing_and_sees_nothing_twice() {
    const SENDS: usize = 500;
    let room = TestRoom::with(&["alice", "bob", "user"]);
    let server = Server::reader(&room);
    let browser = server.enter();
    let (root, text) = (room.root().display().to_string(), browser.get("/r/-/now").body);
    let place = text.split("data-place=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let (mut reconnects, mut reloads) = (0, 0);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let script = format!(
                "seq {SENDS} | xargs -P4 -I@ {} --root {root} --as alice send bob -m number-@ >/dev/null",
                env!("CARGO_BIN_EXE_postroom")
            );
            let home = room.around().join("home");
            let ran = Command::new("sh")
                .args(["-c", &script])
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .env("HOME", home)
                .status()
                .unwrap();
            assert!(ran.success());
        });
        let (mut last, mut stream) = (place, None);
        let start = Instant::now();
        while seen.len() < SENDS {
            assert!(start.elapsed() < Duration::from_secs(150), "{} of {SENDS} came", seen.len());
            let events = stream.get_or_insert_with(|| browser.stream("-", Some(&last)));
            match events.next(SOON) {
                Some(event) => {
                    reloads += usize::from(event.name == "reload");
                    let came = subjects(&event);
                    let has_news = !came.is_empty();
                    came.into_iter().for_each(|one| *seen.entry(one).or_default() += 1);
                    if !event.id.is_empty() {
                        last.clone_from(&event.id);
                    }
                    // Every few events the connection is lost, with whatever was on its way.
                    if has_news && seen.len().is_multiple_of(3) {
                        stream = None;
                        reconnects += 1;
                    }
                }
                None => stream = None,
            }
        }
        sender.join().unwrap();
    });
    let twice: Vec<_> = seen.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty() && seen.len() == SENDS, "{} came, twice: {twice:?}", seen.len());
    assert!(reconnects > 5 && reloads == 0, "{reconnects} reconnects, {reloads} reloads");
}

#[test]
fn a_page_that_is_newer_than_the_stream_of_others_sees_nothing_twice() {
    let room = TestRoom::with(&["alice", "bob", "user"]);
    let server = Server::reader(&room);
    let browser = server.enter();
    let mut other = browser.stream("-", None);
    assert!(other.next(SOON).is_some());
    for round in 0..20 {
        room.send("alice", "bob", &format!("number-{round}"));
        let text = browser.get("/r/-/now").body;
        let place = text.split("data-place=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let mut stream = browser.stream("-", Some(&place));
        room.send("alice", "bob", &format!("number-after-{round}"));
        let mut came = vec![];
        while came.is_empty() {
            came = subjects(&stream.next(SOON).expect("an event"));
        }
        assert_eq!(came, [format!("after-{round}")]);
    }
}

#[test]
fn a_page_that_comes_late_is_told_to_look_again() {
    let room = TestRoom::with(&["alice", "bob", "user"]);
    let server = Server::reader(&room);
    let browser = server.enter();
    let mut first = browser.stream("-", None);
    assert!(first.next(SOON).is_some());
    // What changed before its stream was told to the others alone.
    let late = browser.stream("-", None).next(Duration::from_secs(3));
    assert_eq!(late.map(|event| event.name).as_deref(), Some("changed"));
}

#[test]
fn a_journal_and_a_room_that_vanish_and_come_back_are_noticed() {
    let room = TestRoom::with(&["alice", "bob", "user"]);
    room.send("alice", "bob", "number-before");
    let server = Server::reader(&room);
    let browser = server.enter();
    let mut stream = browser.stream("-", None);
    assert!(stream.next(SOON).is_some());
    let awaited = |stream: &mut super::client::Events, what: &dyn Fn(&Event) -> bool| {
        let start = Instant::now();
        while start.elapsed() < SOON {
            if stream.next(SOON).is_some_and(|event| what(&event)) {
                return;
            }
        }
        panic!("it was not told");
    };
    // The journal may be removed at any time.
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    room.send("alice", "bob", "number-short");
    awaited(&mut stream, &|event| event.name == "reload");
    room.send("alice", "bob", "number-next");
    // It comes together with the one before it, if the reload was about the journal that was gone.
    awaited(&mut stream, &|event| subjects(event).last().is_some_and(|last| last == "next"));
    let away = room.around().join("away");
    std::fs::rename(room.root(), &away).unwrap();
    until("the page says so", || [404, 503].contains(&browser.get("/r/-/now").status));
    std::fs::rename(&away, room.root()).unwrap();
    assert_eq!(browser.get("/r/-/now").status, 200);
    room.send("alice", "bob", "number-back");
    awaited(&mut stream, &|event| subjects(event) == ["back"]);
    // Ids that nobody gave out cost a look at the view, and no more.
    for id in ["2000-01-01:0", "9999-12-31:18446744073709551615", &format!("{}:{}", "2026-11-18", usize::MAX)]
    {
        let event = browser.stream("-", Some(id)).next(SOON);
        assert!(
            event.is_some_and(|event| ["reload", "changed", "feed"].contains(&event.name.as_str())),
            "{id}"
        );
    }
}

#[test]
fn a_stream_without_news_still_beats() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::reader(&room);
    let mut stream = server.enter().stream("-", None);
    let mut events = std::iter::from_fn(|| stream.next(SOON));
    assert!(events.any(|event| event.name == "beat" && event.id.is_empty()));
}

/// Streams of many pages at once.
#[test]
fn a_hundred_streams_hear_the_same() {
    let room = TestRoom::with(&["alice", "bob", "user"]);
    let server = Server::reader(&room);
    let browser = server.enter();
    let mut streams: Vec<_> = (0..100).map(|_| browser.stream("-", None)).collect();
    assert!(streams.iter_mut().all(|stream| stream.status() == 200));
    room.send("alice", "bob", "number-1");
    for stream in &mut streams {
        while subjects(&stream.next(SOON).expect("an event")) != ["1"] {}
    }
    assert_eq!(browser.get("/r/-/now").status, 200, "others are served");
    assert!(server.peak() < 64 * 1024, "{} kB", server.peak());
}

#[test]
fn an_idle_stream_makes_no_system_call_between_two_looks() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("web_http::stream", "needs strace");
    }
    let room = TestRoom::with(&["alice", "bob", "user"]);
    let server = Server::reader(&room);
    let browser: Browser = server.enter();
    let mut stream = browser.stream("-", None);
    while stream.next(Duration::from_secs(2)).is_some() {}
    let trace = room.around().join("trace");
    // Longer than the time between two looks, so that one is in it and gives the beat.
    let mut strace = Command::new("timeout");
    strace
        .args(["-s", "INT", "12", "strace", "-f", "-ttt", "-o"])
        .arg(&trace)
        .args(["-p", &server.id.to_string()]);
    let _ = strace.output().unwrap();
    let text = std::fs::read_to_string(&trace).unwrap();
    let times: Vec<f64> =
        text.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect();
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let longest = gaps.iter().copied().fold(0.0, f64::max);
    assert!(longest >= 4.0, "no pause of 4 s in {} calls: {text}", times.len());
    assert!(times.len() < 600, "{} calls in 12 s: {text}", times.len());
}
