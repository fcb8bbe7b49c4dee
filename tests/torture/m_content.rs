//! M4: a message that holds scripts, tags and addresses, on the page. It can neither run nor load anything there.
//!
//! The content and the parser are those of tests/cli/web_http, which also puts it into runs and workflows.

#[path = "../cli/web_http/tags.rs"]
mod tags;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::lab::{Findings, Lab, Outcome};
use crate::m_page::{Page, unharmed};
use crate::place::{Place, snapshot};
use crate::web_client::Browser;
use tags::{BODY, LINE, faults};

/// Where names, subjects, bodies and addresses are shown.
const VIEWS: [&str; 13] = [
    "now",
    "mail",
    "mail/bob",
    "mail/mallory",
    "message/11111111-1111-4111-8111-111111111111",
    "search?q=evil",
    "search?q=%22%3E%3Cscript%3E",
    "compose?to=%22%3E%3Cscript%3E",
    "mail/%3Cscript%3E",
    "flow",
    "numbers",
    "failed",
    "%3Cscript%3E",
];

/// M4.
pub(crate) fn hostile_content(lab: &Lab) -> Outcome {
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    place.ok(&["setup", "--child", "mallory", "--about", LINE]);
    place.ok(&["--as", "mallory", "send", "bob", "-s", LINE, "-m", BODY]);
    place.ok(&["--as", "alice", "send", "bob", "-m", "for bob alone"]);
    let line = LINE.replace('"', "'");
    let forged = format!(
        "---\nid: 11111111-1111-4111-8111-111111111111\nfrom: \"{line}\"\nto: bob\nsubject: {line}\ndate: 2026-11-18T08:00:00Z\n---\n{BODY}"
    );
    let file = place.folder("bob", "inbox").join("20261118T080000Z-11111111-evil.md");
    fs::write(&file, forged).expect("a forged message");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("its mode");
    let page = Page::start(&place);
    let browser = Browser::enter(page.port, &page.code);
    let sent = browser.get("/r/-/mail/bob").body;
    let ids = sent.split("/r/-/message/").skip(1).filter_map(|rest| rest.split('"').next());
    let messages: Vec<String> = ids.map(|id| format!("message/{id}")).collect();
    let before = snapshot(&place.root);
    let (mut shown, mut evil) = (0, 0);
    for view in VIEWS.into_iter().chain(messages.iter().map(String::as_str)) {
        let reply = browser.get(&format!("/r/-/{view}"));
        let found = faults(&reply.body);
        // What went wrong outside of a view has the script of the theme alone.
        let is_bare = !reply.body.contains("/app.js") && found == ["1 scripts"];
        findings.check(found.is_empty() || is_bare, || format!("{view}: {found:?}"));
        let has_policy = reply.head.contains("default-src 'none'; script-src 'self'");
        findings.check(has_policy, || format!("{view}: {}", reply.head));
        shown += 1;
        evil += usize::from(reply.body.contains("evil"));
    }
    findings.check(evil > 4, || format!("only {evil} of {shown} views show it"));
    unharmed(&place, page, &browser, &before, &findings);
    findings.verdict(format!("{evil} of {shown} views show hostile content, none runs or loads any"))
}
