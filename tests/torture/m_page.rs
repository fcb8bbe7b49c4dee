//! M1–M6 for the web page, beside those for MCP over HTTP: the page of a room whose server was started by a script, for M2 by
//! a person, because another page refuses every deed. The client is that of tests/cli/web_http.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::lab::{Findings, Lab, Outcome};
use crate::place::{Place, snapshot};
use crate::process::{Ended, Running};
use crate::seat::Seated;
use crate::web_client::{Browser, ask, but, connect, entrance, try_code, without};

/// What a stranger would like to see.
const SHOWN: [&str; 6] = ["/", "/r/-/now", "/r/-/mail/bob", "/r/-/search?q=alone", "/r/-/events", "/metrics"];

pub(crate) struct Page {
    running: Option<Running>,
    pub(crate) port: u16,
    pub(crate) code: String,
}

impl Page {
    pub(crate) fn start(place: &Place) -> Self {
        let told = place.base.join("told-page");
        let redirection = format!(">{} 2>&1", told.display());
        let running = place.command(&["web", "--listen", "127.0.0.1:0"]).in_shell(":", &redirection).start();
        let limit = Instant::now() + Duration::from_secs(30);
        loop {
            let text = fs::read_to_string(&told).unwrap_or_default();
            let open = text.lines().find_map(|line| line.strip_prefix("open: http://127.0.0.1:"));
            if let Some((port, code)) =
                open.filter(|_| text.ends_with('\n')).and_then(|open| open.split_once("/enter#"))
            {
                let port = port.parse().expect("a port");
                return Self { running: Some(running), port, code: code.to_owned() };
            }
            assert!(Instant::now() < limit, "the page does not say where it is: {text:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn id(&self) -> u32 {
        self.running.as_ref().expect("it runs").id()
    }

    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or(u64::MAX)
    }

    fn ends(mut self) -> Ended {
        let running = self.running.take().expect("it runs");
        stop(running.id());
        running.end()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            stop(running.id());
            running.end();
        }
    }
}

/// A page that a person started, which acts. It ends when the person presses Ctrl-C.
struct PersonsPage {
    seated: Option<Seated>,
    terminal: File,
    port: u16,
    code: String,
}

impl PersonsPage {
    fn start(place: &Place) -> Self {
        let (lend, lent) = channel();
        let (tell, hear) = channel();
        let run = place.command(&["web", "--listen", "127.0.0.1:0"]);
        let seated = run.seated(move |terminal| {
            let _ = lend.send(terminal.try_clone().expect("a second descriptor"));
            attend(terminal, &tell);
        });
        let terminal = lent.recv().expect("a terminal");
        let shown: String = hear.recv_timeout(Duration::from_secs(30)).expect("the page says where it is");
        let (port, code) = shown.split_once("/enter#").expect("a code");
        let (port, code) = (port.parse().expect("a port"), code.to_owned());
        Self { seated: Some(seated), terminal, port, code }
    }
}

impl Drop for PersonsPage {
    fn drop(&mut self) {
        let _ = self.terminal.write_all(b"\x03");
        if let Some(seated) = self.seated.take() {
            seated.ends();
        }
    }
}

/// Reads a terminal until nobody has it any more, and tells the address that it shows.
fn attend(mut terminal: File, tell: &Sender<String>) {
    let _ = terminal.write_all(b"go\n");
    let (mut seen, mut bytes) = (String::new(), [0; 4096]);
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        let address = seen.split_once("open http://127.0.0.1:").and_then(|(_, rest)| rest.split_once("\r\n"));
        if let Some((address, _)) = address {
            let _ = tell.send(address.to_owned());
            seen.clear();
        }
    }
}

fn stop(id: u32) {
    let _ = kill_process(Pid::from_raw(id as i32).expect("a process id"), Signal::TERM);
}

fn opened(lab: &Lab, base: &Path) -> (Place, Page, Browser) {
    let place = Place::with(lab, base, &["alice", "bob"]);
    place.ok(&["--as", "alice", "send", "bob", "-m", "for bob alone"]);
    let page = Page::start(&place);
    let browser = Browser::enter(page.port, &page.code);
    (place, page, browser)
}

/// Nothing has changed, a browser that has entered is served, and the server ends only when it is asked to.
pub(crate) fn unharmed(place: &Place, page: Page, browser: &Browser, before: &[String], findings: &Findings) {
    unchanged(place, browser, before, findings);
    let ended = page.ends();
    findings.check(ended.was_asked_to_end(), || format!("it ended by itself: {}", ended.shown()));
}

/// Nothing has changed, and a browser that has entered is served.
fn unchanged(place: &Place, browser: &Browser, before: &[String], findings: &Findings) {
    findings.check(snapshot(&place.root) == before, || "the room has changed".to_owned());
    let reply = browser.get("/r/-/mail/bob");
    findings.check(reply.status == 200 && reply.body.contains("for bob alone"), || format!("{reply:?}"));
}

/// M1.
pub(crate) fn other_names(lab: &Lab) -> Outcome {
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let (place, page, browser) = opened(lab, dir.path());
    let (before, port) = (snapshot(&place.root), page.port);
    let mut refused = 0;
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil:{port}"),
        format!("0.0.0.0:{port}"),
        format!("2130706433:{port}"),
        format!("127.0.0.1:{}", port ^ 1),
        "127.0.0.1".to_owned(),
        String::new(),
    ] {
        for path in SHOWN {
            let reply = ask(port, "GET", path, &but(&browser.headers(), &format!("host: {host}")), "");
            findings.check(reply.status == 403, || format!("{host} {path}: {reply:?}"));
            refused += 1;
        }
    }
    unharmed(&place, page, &browser, &before, &findings);
    findings.verdict(format!("page: {refused} requests by other names refused"))
}

/// M2. The page is a person's: its own request is the only one that does anything.
pub(crate) fn other_sites(lab: &Lab) -> Outcome {
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let place = Place::with(lab, dir.path(), &["alice", "bob", "user"]);
    place.ok(&["--as", "alice", "send", "bob", "-m", "for bob alone"]);
    let page = PersonsPage::start(&place);
    let browser = Browser::enter(page.port, &page.code);
    let (before, port) = (snapshot(&place.root), page.port);
    let mut refused = 0;
    for deed in ["send", "archive", "approve", "stop", "pause", "retry", "workflow/start"] {
        let path = format!("/r/-/{deed}");
        for headers in [
            but(&browser.acting(), "origin: http://evil.example"),
            but(&browser.acting(), "origin: null"),
            but(&browser.acting(), &format!("origin: http://127.0.0.1:{}", port ^ 1)),
            without(&browser.acting(), "origin"),
            but(&browser.acting(), "content-type: text/plain"),
            without(&browser.acting(), "x-postroom"),
            but(&browser.acting(), &format!("x-postroom: {}", "0".repeat(64))),
        ] {
            let reply = ask(
                port,
                "POST",
                &path,
                &headers,
                r#"{"to":"bob","text":"x","all":1,"what":"bob","agent":"bob"}"#,
            );
            findings.check(reply.status == 403, || format!("{deed}: {reply:?}"));
            refused += 1;
        }
    }
    for path in SHOWN.iter().filter(|path| !path.ends_with("events")) {
        browser.get(path);
    }
    unchanged(&place, &browser, &before, &findings);
    // Each of them would have done something.
    let own = ask(port, "POST", "/r/-/send", &browser.acting(), r#"{"to":"bob","text":"x"}"#);
    findings.check(own.status == 200, || format!("the page itself cannot send: {own:?}"));
    findings.verdict(format!("page: {refused} requests that would change something refused, none did"))
}

/// M3.
pub(crate) fn no_code(lab: &Lab) -> Outcome {
    const GUESSERS: u32 = 100;
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let (place, page, browser) = opened(lab, dir.path());
    let (before, port) = (snapshot(&place.root), page.port);
    let host = [format!("host: 127.0.0.1:{port}")];
    for path in &SHOWN[1..] {
        let reply = ask(port, "GET", path, &host, "");
        findings.check(reply.status == 401 && !reply.body.contains("bob"), || format!("{path}: {reply:?}"));
    }
    let again = try_code(port, &page.code);
    findings.check(again.status == 401, || format!("a code was good twice: {again:?}"));
    let (each, start) = (if lab.tier == 0 { 10 } else { 100 }, Instant::now());
    let guesses: u32 = std::thread::scope(|scope| {
        let guess = move |number: u32| {
            (0..each).filter(|n| try_code(port, &format!("{number:032x}{n:032x}")).status == 401).count()
                as u32
        };
        let all: Vec<_> = (0..GUESSERS).map(|number| scope.spawn(move || guess(number))).collect();
        all.into_iter().map(|one| one.join().unwrap_or_default()).sum()
    });
    let took = start.elapsed();
    // All together, however many guess at the same time.
    let least = Duration::from_millis(95) * guesses;
    findings.check(guesses > 0 && took >= least, || format!("{guesses} guesses took {took:?}"));
    let held = crate::k_secrets::holders(&place.base, browser.cookie.split('=').nth(1).unwrap_or("?"));
    findings.check(held.is_empty(), || format!("the cookie is in {held:?}"));
    unharmed(&place, page, &browser, &before, &findings);
    findings.verdict(format!(
        "page: {guesses} guesses refused in {:.1} s; the cookie is in no file",
        took.as_secs_f64()
    ))
}

/// M5.
pub(crate) fn too_much(lab: &Lab) -> Outcome {
    const MOST: u64 = 64 * 1024;
    const PATIENCE: Duration = Duration::from_secs(10);
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let (place, page, browser) = opened(lab, dir.path());
    let (before, port) = (snapshot(&place.root), page.port);
    for headers in [browser.acting(), entrance(port)] {
        for path in ["/r/-/send", "/enter"] {
            let mut stream = connect(port);
            let head = format!(
                "POST {path} HTTP/1.1\r\n{}\r\ncontent-length: 1073741824\r\n\r\n",
                headers.join("\r\n")
            );
            let _ = stream.write_all(head.as_bytes());
            let piece = vec![b'x'; 0x10000];
            let taken = (0..0x4000).take_while(|_| stream.write_all(&piece).is_ok()).count();
            findings.check(taken < 1024, || format!("{path}: {} MiB were taken", taken / 16));
        }
    }
    let mut streams: Vec<_> = (0..100).map(|_| browser.stream("-", None)).collect();
    let open = streams.iter_mut().filter_map(|stream| stream.next(PATIENCE)).count();
    findings.check(open == 100, || format!("only {open} streams"));
    let slow: Vec<TcpStream> = (0..if lab.tier < 2 { 1000 } else { 10_000 })
        .map_while(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            let starts: [&[u8]; 3] =
                [b"", b"POST /enter HTTP/1.1\r\nx: ", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"];
            stream.write_all(starts[number % 3]).ok()?;
            Some(stream)
        })
        .collect();
    let start = Instant::now();
    let reply = browser.get("/r/-/now");
    let took = start.elapsed();
    findings
        .check(reply.status == 200 && took < PATIENCE, || format!("served {} after {took:?}", reply.status));
    let count = slow.len();
    drop((slow, streams));
    let peak = page.peak();
    findings.check(peak <= MOST, || format!("it took {peak} kB"));
    unharmed(&place, page, &browser, &before, &findings);
    findings.verdict(format!(
        "page: a gigabyte refused four times, 100 streams, {count} slow connections, at most {peak} kB"
    ))
}

/// M6.
pub(crate) fn other_machines(lab: &Lab) -> Outcome {
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let (place, page, _) = opened(lab, dir.path());
    drop(page);
    let mut refused = 0;
    for address in ["0.0.0.0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "255.255.255.255:0"] {
        let ended = place.run(&["web", "--listen", address]);
        refused += 1;
        findings.check(ended.code == Some(4) && ended.stderr().contains("--expose"), || ended.shown());
    }
    findings.verdict(format!("page: {refused} other addresses refused without --expose"))
}
