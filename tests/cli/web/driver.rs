//! Chromium without a screen, driven by chromedriver: WebDriver is JSON over HTTP/1.1 on loopback, and no more than a dozen of
//! its calls are needed. A crate for it would add some fifty others to the build of the tests.
//!
//! Everything is waited for with a bound: a page that never gets there fails the test with what was expected.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::until::until_at_last;

/// Why a test that wants a browser is skipped.
pub(crate) const MISSING: &str =
    "no Chromium; cargo xtask test installs the Debian packages chromium and chromium-driver";

/// No first run and no traffic of its own. The sandbox of Chromium refuses to run as root.
const FLAGS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// Keys without a character, as WebDriver writes them.
pub(crate) const CONTROL: char = '\u{e009}';
pub(crate) const ENTER: char = '\u{e007}';
pub(crate) const ESCAPE: char = '\u{e00c}';
pub(crate) const TAB: char = '\u{e004}';

/// A browser with one window. It ends with this value.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// `None` where there is no Chromium.
    pub(crate) fn start() -> Option<Self> {
        let is_there = |program: &str| {
            std::env::split_paths(&std::env::var_os("PATH")?)
                .map(|at| at.join(program))
                .find(|at| at.is_file())
        };
        is_there("chromium")?;
        let driver = is_there("chromedriver")?;
        let mut driver = Command::new(driver)
            .args(["--port=0", "--log-level=SEVERE"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port =
            |line: String| line.rsplit_once("successfully on port ")?.1.trim_end_matches('.').parse().ok();
        let port = lines.into_iter().find_map(port).expect("chromedriver says its port");
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let profile = format!("--user-data-dir={}", browser._profile.path().display());
        let flags: Vec<&str> = FLAGS.into_iter().chain([profile.as_str()]).collect();
        let wanted = json!({"goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL"}});
        let begun =
            browser.call("POST", "/session", &json!({"capabilities": {"alwaysMatch": wanted}})).unwrap();
        browser.session = format!("/session/{}", begun["sessionId"].as_str().unwrap());
        Some(browser)
    }

    /// One call of the driver; the error is its word for what went wrong.
    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let head = format!(
            "{method} {}{path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.session,
            self.port,
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            match line.trim().to_ascii_lowercase().strip_prefix("content-length:") {
                Some(value) => length = value.trim().parse().unwrap(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes).unwrap();
        let value = serde_json::from_slice::<Value>(&bytes).unwrap()["value"].take();
        match value.get("error") {
            Some(error) => Err(format!("{}: {}", error, value["message"])),
            None => Ok(value),
        }
    }

    pub(crate) fn go(&self, address: &str) {
        self.call("POST", "/url", &json!({"url": address})).unwrap();
    }

    /// What a script in the page returns. It runs besides the page's own, whose policy does not hold for it.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.try_run(script).unwrap_or_else(|e| panic!("{e}\n{script:.300}"))
    }

    fn try_run(&self, script: &str) -> Result<Value, String> {
        self.call("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until an expression in the page is true.
    #[track_caller]
    pub(crate) fn until(&self, expression: &str) {
        // A page that is being left has no scripts.
        until_at_last(expression, || {
            self.try_run(&format!("return !!({expression})")) == Ok(Value::Bool(true))
        });
    }

    /// Waits until a text is in an element.
    #[track_caller]
    pub(crate) fn until_says(&self, selector: &str, text: &str) {
        self.until(&format!(
            "document.querySelector({})?.innerText.includes({})",
            json!(selector),
            json!(text)
        ));
    }

    /// The number of elements.
    pub(crate) fn count(&self, selector: &str) -> u64 {
        self.run(&format!("return document.querySelectorAll({}).length", json!(selector))).as_u64().unwrap()
    }

    /// Clicks an element as a person does, once it is there and nothing is above it.
    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        until_at_last(selector, || self.on(selector, "click", &json!({})));
    }

    /// Types into an element.
    #[track_caller]
    pub(crate) fn write(&self, selector: &str, text: &str) {
        until_at_last(selector, || self.on(selector, "value", &json!({"text": text})));
    }

    fn on(&self, selector: &str, deed: &str, body: &Value) -> bool {
        let found = self.call("POST", "/element", &json!({"using": "css selector", "value": selector}));
        let element =
            found.ok().and_then(|found| Some(found.as_object()?.values().next()?.as_str()?.to_owned()));
        element.is_some_and(|id| self.call("POST", &format!("/element/{id}/{deed}"), body).is_ok())
    }

    /// Presses keys one after the other, wherever the focus is; [`CONTROL`] is held for the key behind it.
    pub(crate) fn press(&self, keys: &str) {
        let key = |deed: &str, key: char| json!({"type": deed, "value": key.to_string()});
        let (mut strokes, mut is_held) = (vec![], false);
        for one in keys.chars() {
            strokes.push(key("keyDown", one));
            if one == CONTROL {
                is_held = true;
                continue;
            }
            strokes.push(key("keyUp", one));
            strokes.extend(std::mem::take(&mut is_held).then(|| key("keyUp", CONTROL)));
        }
        let board = json!([{"type": "key", "id": "keyboard", "actions": strokes}]);
        self.call("POST", "/actions", &json!({"actions": board})).unwrap();
    }

    /// Says yes to the question that the page asks.
    pub(crate) fn agree(&self) {
        until_at_last("a question", || self.call("POST", "/alert/accept", &json!({})).is_ok());
    }

    /// The tab that is seen.
    pub(crate) fn tab(&self) -> String {
        self.call("GET", "/window", &Value::Null).unwrap().as_str().unwrap().to_owned()
    }

    /// Opens a tab before the others.
    pub(crate) fn new_tab(&self) -> String {
        let made = self.call("POST", "/window/new", &json!({"type": "tab"})).unwrap();
        let tab = made["handle"].as_str().unwrap().to_owned();
        self.turn_to(&tab);
        tab
    }

    /// Brings a tab before the others.
    pub(crate) fn turn_to(&self, tab: &str) {
        self.call("POST", "/window", &json!({ "handle": tab })).unwrap();
        self.devtools("Page.bringToFront", &json!({}));
    }

    /// A command of Chromium's own protocol.
    pub(crate) fn devtools(&self, command: &str, params: &Value) -> Value {
        self.call("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": params})).unwrap()
    }

    /// The errors on the console since the last look.
    pub(crate) fn errors(&self) -> Vec<String> {
        let log = self.call("POST", "/se/log", &json!({"type": "browser"})).unwrap();
        let severe = log.as_array().unwrap().iter().filter(|line| line["level"] == "SEVERE");
        severe.map(|line| line["message"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let shown = "return location.href + '\\n' + document.body.innerText.slice(0, 3000)";
            println!(
                "the page: {}",
                self.try_run(shown).map_or_else(|e| e, |text| text.as_str().unwrap_or_default().to_owned())
            );
        }
        if !self.session.is_empty() {
            let _ = self.call("DELETE", "", &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
