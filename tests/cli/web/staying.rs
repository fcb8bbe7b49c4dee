//! A page that stays open: many tabs, a server that is started again, a room that vanishes, rows that move, and keys.

use crate::support::crew::{begin, crew, project, status};
use crate::support::room::TestRoom;
use crate::support::staffed::{inbox, shell, staffed};
use crate::support::until::{skip, until_at_last};
use crate::web::driver::{Browser, ENTER, ESCAPE, MISSING, TAB};
use crate::web::operator::{watch, web};
use crate::web::site::Site;

#[test]
fn eight_tabs_are_all_alive() {
    let Some(browser) = Browser::start() else { return skip("eight_tabs_are_all_alive", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let site = Site::open(web(&room, []));
    site.enter(&browser, &site.host);
    let board = browser.run("return location.href");
    let mut tabs = vec![browser.tab()];
    for _ in 1..8 {
        tabs.push(browser.new_tab());
        browser.go(board.as_str().unwrap());
        browser.until_says("#link", "live");
    }
    // Tabs that nobody sees are behind, and none is when it is seen again.
    room.send("alice", "bob", "To all tabs");
    for tab in &tabs {
        browser.turn_to(tab);
        browser.until_says("#feed", "To all tabs");
        browser.until_says("#card-bob", "1 unread");
        assert_eq!(
            browser.run("return document.querySelector('#feed').innerText.split('To all tabs').length"),
            2
        );
    }
    browser.turn_to(&tabs[0]);
    browser.until_says("#link", "live");
    room.send("alice", "bob", "To the first tab");
    browser.until_says("#card-bob", "2 unread");
    assert_eq!(browser.errors(), [""; 0]);
}

#[test]
fn an_older_tab_acts_after_the_browser_has_entered_again() {
    let test = "an_older_tab_acts_after_the_browser_has_entered_again";
    let Some(browser) = Browser::start() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["bob", "user"]);
    let mut site = Site::open(web(&room, []));
    site.enter(&browser, &site.host);
    browser.press("c");
    browser.write("#to", "bob");
    browser.write("#text", "from the older tab");
    let older = browser.tab();
    browser.new_tab();
    browser.go(&format!("http://{}", site.another()));
    browser.until("location.pathname.endsWith('/now')");
    browser.turn_to(&older);
    browser.click("[data-deed=send] button");
    browser.until_says("#toast", "queued");
    assert_eq!(inbox(&room, "bob"), ["from the older tab"]);
    // What is refused says why.
    browser.run("localStorage.setItem('postroom-token', 'wrong')");
    browser.write("#to", "bob");
    browser.write("#text", "x");
    browser.click("[data-deed=send] button");
    browser.until_says("#toast.bad", "token");
}

#[test]
fn a_page_of_a_server_that_was_started_again_asks_for_the_code_and_goes_back() {
    let test = "a_page_of_a_server_that_was_started_again_asks_for_the_code_and_goes_back";
    let Some(browser) = Browser::start() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let site = Site::open(web(&room, []));
    site.enter(&browser, &site.host);
    browser.go(&format!("http://{}/r/-/mail/bob", site.host));
    browser.until_says("#link", "live");
    let port = site.port().to_string();
    drop(site);
    browser.until_says("#link", "reconnecting");
    let site = Site::open(web(&room, ["--listen", &port]));
    browser.until("document.querySelector('#enter')");
    // As a person reads it from the terminal and types it.
    browser.write("#code", &site.code().replace('-', " ").to_uppercase());
    browser.press(&format!("{ENTER}"));
    browser.until_says("h1", "bob");
    browser.until_says("#link", "live");
    browser.click(".rooms summary");
    browser.click("[data-deed='/leave'] button");
    browser.until("location.pathname === '/enter' && document.querySelector('#enter')");
}

#[test]
fn a_room_that_vanishes_is_told_and_comes_back() {
    let Some(browser) = Browser::start() else {
        return skip("a_room_that_vanishes_is_told_and_comes_back", MISSING);
    };
    let room = TestRoom::with(&["alice", "bob"]);
    let site = Site::open(web(&room, []));
    site.enter(&browser, &site.host);
    let away = room.around().join("away");
    std::fs::rename(room.root(), &away).unwrap();
    browser.until_says("main", "That did not work");
    assert!(browser.run("return document.title").as_str().unwrap().contains("did not work"));
    std::fs::rename(&away, room.root()).unwrap();
    browser.until_says("#card-bob", "0 unread");
}

#[test]
fn a_tick_stays_with_its_message() {
    let Some(browser) = Browser::start() else { return skip("a_tick_stays_with_its_message", MISSING) };
    let room = staffed(&["worker"], &shell("worker", "exit 3", "retries = 0"));
    let site = Site::open(web(&room, []));
    let _dispatcher = watch(&room);
    site.enter(&browser, &site.host);
    room.send("alice", "worker", "the older one");
    browser.click("[data-key='g x']");
    browser.click(".item.fail [type=checkbox]");
    room.send("alice", "worker", "the newer one");
    browser.until("document.querySelectorAll('.item.fail').length === 2");
    let ticked =
        "return [...document.querySelectorAll(':checked')].map((box) => box.parentNode.innerText).join()";
    let ticked = browser.run(ticked);
    let ticked = ticked.as_str().unwrap();
    assert!(ticked.contains("the older one") && !ticked.contains("the newer one"), "{ticked}");
}

#[test]
fn keys_approve_a_gate_and_the_run_goes_on_without_a_dispatcher() {
    let test = "keys_approve_a_gate_and_the_run_goes_on_without_a_dispatcher";
    let Some(browser) = Browser::start() else { return skip(test, MISSING) };
    let room = crew(&[("planner", "echo a plan"), ("coder", "echo built")], &[]);
    room.run(["setup", "--child", "user"]).succeeds();
    let site = Site::open(web(&room, []).within(&project(&room)));
    let dispatcher = watch(&room);
    let run = begin(&room, "plan-approve", &["task=a parser"]);
    site.enter(&browser, &site.host);
    browser.until_says("#mine", "gate");
    drop(dispatcher);
    browser.press(&format!("j{TAB}{ENTER}"));
    browser.until_says("#toast", "approve");
    browser.until("!document.querySelector('#mine [data-deed=approve]')");
    assert!(browser.run("return location.pathname").as_str().unwrap().ends_with("/now"));
    assert_eq!(status(&room, &run), "in_progress");
    browser.until_says("#card-coder", "waits for dispatcher");
    // The menu of rooms is left by Esc, and the palette says that it found nothing.
    browser.click(".rooms summary");
    browser.until("document.querySelector('.rooms[open]')");
    browser.press(&format!("{ESCAPE}"));
    browser.until("!document.querySelector('.rooms[open]')");
    browser.click("#find");
    browser.write("#palette input", "no such thing");
    browser.until_says("#palette", "Nothing found");
    assert_eq!(browser.errors(), [""; 0]);
}

#[test]
fn a_feed_that_is_made_anew_misses_nothing_that_comes_meanwhile() {
    let test = "a_feed_that_is_made_anew_misses_nothing_that_comes_meanwhile";
    let Some(browser) = Browser::start() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    (0..3).for_each(|number| drop(room.send("alice", "bob", &format!("before {number}"))));
    let site = Site::open(web(&room, []));
    site.enter(&browser, &site.host);
    // The server answers at once, and the page gets it when it is let through.
    browser.run(
        "window.held = []; const fetched = window.fetch; \
         window.fetch = (...all) => fetched(...all).then((reply) => new Promise((go) => held.push(() => go(reply))))",
    );
    // Without its journal, the places that pages know are gone: the page is told to look again.
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    room.send("alice", "bob", "the first of the new journal");
    browser.until("held.length > 0");
    room.send("alice", "bob", "sent while the page is made");
    browser.until_says("#feed", "sent while the page is made");
    browser.run("setInterval(() => held.splice(0).forEach((go) => go()), 50)");
    browser.until_says("#feed", "the first of the new journal");
    room.send("alice", "bob", "sent afterwards");
    browser.until_says("#feed", "sent afterwards");
    // Each once, in order, as soon as the stream has caught up. Whether lines of the old journal still stand there depends on
    // when the page looked.
    let wanted = ["sent afterwards", "sent while the page is made", "the first of the new journal"].join("|");
    browser.until(&format!(
        "[...document.querySelectorAll('#feed li p')].map((line) => line.innerText) \
         .filter((line) => !line.startsWith('before ')).join('|') === '{wanted}'"
    ));
}

#[test]
fn a_line_that_is_dead_without_a_word_is_opened_again() {
    let test = "a_line_that_is_dead_without_a_word_is_opened_again";
    let Some(browser) = Browser::start() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let site = Site::open(web(&room, []));
    site.enter(&browser, &site.host);
    // A minute passes between any two looks at the clock, so that nothing came for as long.
    browser.run(
        "window.said = []; const link = document.querySelector('#link'); \
         new MutationObserver(() => said.push(link.textContent)).observe(link, {childList: true}); \
         let looks = 0; performance.now = () => ++looks * 60_000",
    );
    browser.until("said.includes('reconnecting')");
    browser.run("delete performance.now");
    browser.until_says("#link", "live");
    room.send("alice", "bob", "on the new line");
    browser.until_says("#feed", "on the new line");
}

#[test]
fn a_dot_travels_its_whole_way() {
    let Some(browser) = Browser::start() else { return skip("a_dot_travels_its_whole_way", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "first");
    let site = Site::open(web(&room, []));
    site.enter(&browser, &site.host);
    browser.click("[data-key='g f']");
    browser.until_says("#link", "live");
    browser.run(
        "window.born = window.gone = 0; new MutationObserver((all) => all.forEach((one) => { \
         if (one.addedNodes.length) born ||= performance.now(); \
         if (one.removedNodes.length) gone ||= performance.now(); })).observe(document.querySelector('#dots'), {childList: true})",
    );
    room.send("alice", "bob", "second");
    browser.until("gone");
    // The arrival itself made the view change on the way.
    until_at_last("the table counts it", || {
        browser.run("return document.querySelector('td.num').innerText") == "2"
    });
    let lived = browser.run("return gone - born").as_f64().unwrap();
    assert!(lived > 800.0, "it lived {lived} ms");
}
