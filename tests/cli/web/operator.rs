//! An operator at the page: reads, answers, approves, stops, retries, and loses the connection.

use crate::support::crew::{crew, project, results, status, workflow};
use crate::support::room::{Ran, Run, TestRoom};
use crate::support::staffed::{dispatch, inbox, runs, shell, staffed, with_path};
use crate::support::until::{skip, until_at_last, until_watching};
use crate::web::driver::{Browser, CONTROL, ENTER, ESCAPE, MISSING, TAB};
use crate::web::relay::{HOST, Relay};
use crate::web::site::{Ending, Site};

pub(crate) fn web<'a>(room: &TestRoom, more: impl IntoIterator<Item = &'a str>) -> Run {
    with_path(room, room.run(["web"].into_iter().chain(more)))
}

/// A dispatcher that watches.
pub(crate) fn watch(room: &TestRoom) -> Ending {
    let child = dispatch(room, ["--watch"]).start();
    until_watching(&child);
    Ending(child)
}

#[test]
fn a_question_appears_by_itself_and_is_answered() {
    let Some(browser) = Browser::start() else {
        return skip("a_question_appears_by_itself_and_is_answered", MISSING);
    };
    let room = TestRoom::with(&["alice", "user"]);
    let site = Site::open(web(&room, []));
    site.enter(&browser, &site.host);
    assert_eq!(browser.count("#mine"), 0, "nothing waits yet");
    browser.run("window.isTheSame = true");
    let asker = room.by("alice", ["ask", "user", "-m", "May I merge it?", "--timeout", "170"]).start();
    browser.until_says("#feed li:first-child", "May I merge it?");
    browser.until_says("#mine-mail", "1 unread");
    assert_eq!(browser.run("return window.isTheSame"), true, "the page was not loaded again");
    browser.click("#mine-mail a");
    browser.click(".list .what a");
    browser.until_says("h1", "May I merge it?");
    browser.write("#answer textarea", "Yes, *merge* it.");
    browser.click("#answer button.main");
    browser.until_says("#toast", "queued");
    let answered = Ran::end(asker).with(0);
    assert!(answered.out.contains("Yes, *merge* it."), "{answered:?}");
    browser.click(".menu a");
    browser.until("location.pathname.endsWith('/now') && !document.querySelector('#mine')");
    assert_eq!(browser.errors(), [""; 0]);
}

#[test]
fn a_workflow_is_started_from_its_form_rejected_once_and_approved() {
    let test = "a_workflow_is_started_from_its_form_rejected_once_and_approved";
    let Some(browser) = Browser::start() else { return skip(test, MISSING) };
    let plan = "if grep -q 'too vague'; then echo 'plan: two tests'; else echo 'plan: something'; fi";
    let room = crew(&[("planner", plan), ("coder", "grep -q 'two tests' && echo built")], &[]);
    room.run(["setup", "--child", "user"]).succeeds();
    let site = Site::open(web(&room, []).within(&project(&room)));
    let _dispatcher = watch(&room);
    site.enter(&browser, &site.host);
    browser.click("[data-key='g w']");
    browser.click("a[href$='/workflows/plan-approve/start']");
    browser.write("#in-task", "a parser");
    browser.click("[data-deed='workflow/start'] button");
    browser.until_says(".mine", "plan: something");
    let address = browser.run("return location.pathname");
    let run = address.as_str().unwrap().rsplit_once('/').unwrap().1;
    // What waits is on the board too, and is decided there.
    browser.click("[data-key='g n']");
    browser.write("#mine [data-deed=reject] [name=why]", "too vague");
    browser.click("#mine [data-deed=reject] button");
    browser.until_says("#toast", "reject");
    browser.click("[data-key='g w']");
    browser.click(&format!("#wf-{run} a"));
    browser.until_says(".mine", "plan: two tests");
    browser.click(".mine [data-deed=approve] button");
    browser.until_says(".head .chip", "completed");
    browser.until("!document.querySelector('.mine')");
    assert_eq!(status(&room, run), "completed");
    assert_eq!(results(&room, run, "implement"), ["built"]);
    let told = workflow(&room, ["show", run]).succeeds().out;
    assert!(told.contains("completed"), "{told}");
    assert_eq!(browser.errors(), [""; 0]);
}

/// Prints, waits for a file, prints, and goes on until it is stopped; the second time it is quick.
const SLOW: &str = "[ -e again ] && { echo all is fine; exit; }; echo the first part; \
                    until [ -e more ]; do sleep 0.1; done; echo the second part; while :; do sleep 1; done";

#[test]
fn a_transcript_grows_and_its_run_is_stopped_and_retried() {
    let Some(browser) = Browser::start() else {
        return skip("a_transcript_grows_and_its_run_is_stopped_and_retried", MISSING);
    };
    let room = staffed(&["worker"], &shell("worker", SLOW, "cwd = \"..\""));
    let site = Site::open(web(&room, []));
    let _dispatcher = watch(&room);
    site.enter(&browser, &site.host);
    room.send("alice", "worker", "Count to ten");
    browser.until_says("#card-worker .chip", "running");
    browser.click("#card-worker .doing a");
    browser.until_says(".transcript", "the first part");
    browser.run("window.isTheSame = true");
    std::fs::write(room.around().join("more"), "").unwrap();
    browser.until_says(".transcript", "the second part");
    assert_eq!(browser.run("return window.isTheSame"), true, "the page was not loaded again");
    browser.click("[data-deed=stop] button");
    browser.agree();
    browser.until_says("#toast", "stopped 1 run");
    browser.until_says(".head .chip", "parked");
    std::fs::write(room.around().join("again"), "").unwrap();
    browser.click("[data-key='g x']");
    browser.until_says(".item.fail", "Count to ten");
    browser.until_says(".item.fail", "on the page");
    browser.click(".item.fail [type=checkbox]");
    browser.click("form[id] button");
    browser.until_says("#toast", "1 message unread again");
    browser.until("!document.querySelector('.item.fail')");
    until_at_last("the answer", || inbox(&room, "alice") == ["all is fine\n"]);
    // A run is recorded as done a moment after its answer.
    let states = || runs(&room).iter().map(|run| run["state"].clone()).collect::<Vec<_>>();
    until_at_last("both runs have ended", || states() == ["parked", "done"]);
    assert_eq!(browser.errors(), [""; 0]);
}

#[test]
fn a_dead_letter_is_retried_with_all_others() {
    let Some(browser) = Browser::start() else {
        return skip("a_dead_letter_is_retried_with_all_others", MISSING);
    };
    let script = "[ -e whole ] || { echo it is broken >&2; exit 3; }; echo repaired";
    let room = staffed(&["worker"], &shell("worker", script, "cwd = \"..\"\nretries = 0"));
    let site = Site::open(web(&room, []));
    let _dispatcher = watch(&room);
    site.enter(&browser, &site.host);
    room.send("alice", "worker", "one");
    room.send("alice", "worker", "two");
    browser.until_says("#mine-failed", "2 given up");
    browser.click("#mine-failed a");
    browser.until_says(".item.fail", "exited with 3");
    std::fs::write(room.around().join("whole"), "").unwrap();
    browser.click(".head [data-deed=retry] button");
    browser.agree();
    browser.until_says("#toast", "2 messages unread again");
    browser.until_says("main", "Nothing failed");
    let repaired = || inbox(&room, "alice").iter().filter(|body| *body == "repaired\n").count();
    until_at_last("both answers", || repaired() == 2);
    assert_eq!(browser.errors(), [""; 0]);
}

/// How often the feed shows each of these messages.
fn shown(browser: &Browser, texts: &[String]) -> Vec<usize> {
    let lines =
        browser.run("return [...document.querySelectorAll('#feed li p')].map((line) => line.innerText)");
    let lines: Vec<&str> = lines.as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
    texts.iter().map(|text| lines.iter().filter(|line| **line == text).count()).collect()
}

#[test]
fn a_lost_connection_misses_nothing_and_shows_nothing_twice() {
    let Some(browser) = Browser::start() else {
        return skip("a_lost_connection_misses_nothing_and_shows_nothing_twice", MISSING);
    };
    let room = TestRoom::with(&["alice", "bob"]);
    let site = Site::open(web(&room, ["--host", HOST]));
    let mut relay = Relay::to(site.port());
    site.enter(&browser, &format!("{HOST}:{}", site.port()));
    let mut sent = vec![];
    let mut send = |text: String| {
        room.send("alice", "bob", &text);
        sent.push(text);
        sent.clone()
    };
    send("before".to_owned());
    browser.until_says("#feed", "before");
    let before = browser.count("#feed li");
    // Twice, because the second time the place comes from an event and not from the page.
    for round in 1..3 {
        relay.cut();
        browser.until_says("#link", "reconnecting");
        let lost = browser.run("return performance.now()").as_f64().unwrap();
        for number in 1..8 {
            send(format!("away {round} {number}"));
        }
        // Longer than the server needs to see that nobody looks, and long enough for vain attempts.
        browser.until(&format!("performance.now() > {}", lost + 10_000.0));
        browser.until_says("#link", "reconnecting");
        relay.join();
        browser.until_says("#link", "live");
        let texts = send(format!("back {round}"));
        browser.until_says("#feed", &format!("back {round}"));
        browser.until_says("#card-bob", &format!("{} unread", texts.len()));
        assert_eq!(shown(&browser, &texts), vec![1; texts.len()], "each once, in round {round}");
        assert_eq!(browser.count("#feed li"), before + texts.len() as u64 - 1, "and nothing else");
    }
}

#[test]
fn the_keyboard_is_enough() {
    let Some(browser) = Browser::start() else { return skip("the_keyboard_is_enough", MISSING) };
    let room = TestRoom::with(&["alice", "bob", "user"]);
    room.send("alice", "user", "Look at this");
    let site = Site::open(web(&room, []));
    site.enter(&browser, &site.host);
    let is_at = |end: &str| {
        browser.until(&format!("location.pathname.endsWith('/{end}') && document.readyState === 'complete'"))
    };
    browser.press("?");
    browser.until_says("#keys[open]", "write a message");
    browser.press(&format!("{ESCAPE}"));
    browser.until("!document.querySelector('dialog[open]')");
    browser.press(&format!("{CONTROL}k"));
    browser.until("document.querySelector('#palette[open] [aria-selected=true]')");
    browser.press(&format!("user{ENTER}"));
    is_at("mail/user");
    browser.press(&format!("j{ENTER}"));
    browser.until_says("h1", "Look at this");
    browser.until("document.readyState === 'complete'");
    browser.press("e");
    browser.until("document.activeElement.id === 'text'");
    browser.press(&format!("I did.{TAB}{ENTER}"));
    browser.until_says("#toast", "queued");
    assert_eq!(inbox(&room, "alice"), ["I did."]);
    browser.press("c");
    is_at("compose");
    browser.press(&format!("bob{TAB}Lunch{TAB}At noon?{TAB}{ENTER}"));
    browser.until_says("#toast", "queued");
    assert_eq!(inbox(&room, "bob"), ["At noon?"]);
    browser.press("gx");
    is_at("failed");
    browser.press("gn");
    is_at("now");
    assert_eq!(browser.errors(), [""; 0]);
}
