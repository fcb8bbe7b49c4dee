//! An arrival in a real browser: until the page in Chromium has the message, and until the frame begins that shows it.
//!
//! The second depends on the display, which draws sixty frames a second: a page that is ready waits 8 ms for one on average. So
//! it is there for comparison, and the first has the limit.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::pair::{Pair, Sides, Unit};
use super::place::Place;
use super::room::Room;
use super::table::{Limit, Row, Without};
use super::wake::publish;
use super::web::{MESSAGES, SHOWN, SOON, Server, wake};
use crate::chromium::Browser;

const ROUNDS: usize = 30;

pub(super) fn screen(room: &Room<'_>, place: &Place) -> Result<Vec<Row>, Without> {
    let Some(browser) = Browser::start() else { return Err(Without::Wanting("no Chromium".to_owned())) };
    let server = Server::start(room, place)?;
    let host = format!("http://127.0.0.1:{}", server.port);
    browser.go(&format!("{host}/enter#{}", server.code));
    browser.until("location.pathname.endsWith('/now')");
    browser.go(&format!("{host}/r/-/mail/{SHOWN}"));
    browser.until_says("#link", "live");
    let mut arrivals = Arrivals { room, browser, moment: "changed" };
    let page = Pair::take_among_others(Unit::Microseconds, ROUNDS, &mut arrivals)?;
    arrivals.moment = "framed";
    let frame = Pair::take_among_others(Unit::Microseconds, ROUNDS, &mut arrivals)?;
    let what = |until: &str| {
        format!(
            "from an arrival to {until} of Chromium, 100,000 messages, against the wake of a `wait`, tmpfs"
        )
    };
    Ok(vec![
        Row::ratio(what("the page"), &page, Limit::AtMost(5.0)),
        Row::ratio(what("the next frame"), &frame, Limit::None),
    ])
}

struct Arrivals<'a> {
    room: &'a Room<'a>,
    browser: Browser,
    /// Which moment counts.
    moment: &'static str,
}

impl Sides for Arrivals<'_> {
    fn measured(&mut self, round: usize) -> Result<f64, String> {
        // The page asks for its view four times a second at the most.
        std::thread::sleep(Duration::from_millis(600));
        let publication = publish(self.room, SHOWN, MESSAGES + u32::try_from(round).unwrap_or(u32::MAX))?;
        let subject = format!("{}{round}x", self.moment);
        publication.change(|text| text.replace("subject: filled", &format!("subject: {subject}")))?;
        self.browser.run(&format!(
            "window.changed = window.framed = 0;
             const now = () => performance.timeOrigin + performance.now();
             const until = new MutationObserver(() => {{
               if (!document.querySelector('#main').textContent.includes('{subject}')) return;
               until.disconnect();
               window.changed = now();
               requestAnimationFrame(() => (window.framed = now()));
             }});
             until.observe(document.querySelector('#main'), {{ childList: true, subtree: true, characterData: true }});"
        ));
        let start = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|e| e.to_string())?;
        publication.now()?;
        let asked = Instant::now();
        let seen = loop {
            std::thread::sleep(Duration::from_millis(200));
            match self.browser.run(&format!("return window.{}", self.moment)).as_f64() {
                Some(seen) if seen > 0.0 => break seen,
                _ if asked.elapsed() > SOON => return Err("an arrival was not shown".to_owned()),
                _ => {}
            }
        };
        publication.take_back()?;
        Ok((seen - start.as_secs_f64() * 1e3) * 1e3)
    }

    fn floor(&mut self, round: usize) -> Result<f64, String> {
        wake(self.room, round)
    }
}
