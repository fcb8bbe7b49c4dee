//! A state in which every panel has something to show, the same at every time.

use serde_json::json;

use crate::clock::Timestamp;
use crate::dispatch::paused::{Pause, PauseKind};
use crate::dispatch::runs::Run;
use crate::dispatch::watchers::{Watcher, Watchers};
use crate::name::{MailboxId, MessageId, RoomName};
use crate::overview::{
    Card, CardKind, CardState, CurrentRun, DeadLetters, Gate, OpenFlow, OpenStep, Overview, WaitingMail,
    WaitsFor,
};
use crate::post::{OnTheWay, Trashed};
use crate::tui::seen::*;
use crate::workflow::decision::PendingGate;
use crate::workflow::failures::FailedFlow;

/// What a run asks, as it is in the mail.
pub(super) const QUESTION: &str = "The step `plan` is done. May the run go on with its result?\n\n\
    In a terminal: `postroom approve plan-approve-7f3a/plan`, or `postroom reject plan-approve-7f3a/plan -m WHY`.\n\
    Answer this message with the line `approve`, or with `reject` and why.\n\n\
    ## Result\n\n1. Move the index\n2. Keep **its** name\n";

pub(super) fn gate() -> GateSeen {
    GateSeen { request: REQUEST.into(), word: "plan-approve-7f3a/plan".into() }
}

pub(super) const REQUEST: &str = "0f9e3d1c-1111-4222-8333-444455556666";

pub(super) fn now() -> Timestamp {
    Timestamp::parse("2026-11-18T12:00:00Z").unwrap()
}

fn ago(minutes: u64) -> Timestamp {
    now().minus(std::time::Duration::from_secs(minutes * 60))
}

pub(super) fn run(id: &str, agent: &str, state: &str, minutes: u64, extra: serde_json::Value) -> Run {
    let mut run = json!({"v": 1, "id": id, "mailbox": format!("{agent}-1a2b"), "agent": agent,
        "message": "aaaa1111-1111-4222-8333-444455556666", "file": "f.md", "from": "planner", "thread": "t",
        "attempt": 1, "started": ago(minutes).precise(), "state": state, "activity": "Bash: cargo nextest run"});
    for (key, value) in extra.as_object().unwrap() {
        run[key] = value.clone();
    }
    serde_json::from_value(run).unwrap()
}

fn card(name: &str, kind: CardKind, state: CardState, unread: usize) -> Card {
    Card {
        name: name.to_owned(),
        id: MailboxId::parse(&format!("{name}-1a2b"))
            .or_else(|_| MailboxId::parse(&format!("odd{}-1a2b", name.len())))
            .ok(),
        kind,
        state,
        running: vec![],
        queue: unread,
        unread: Some(unread),
        oldest: (unread > 0).then(|| ago(unread as u64 * 30)),
        cost: 0.5,
        last: None,
        about: None,
    }
}

fn agent(preset: &str) -> CardKind {
    CardKind::Agent { preset: preset.to_owned(), program: preset.to_owned() }
}

fn waiting(name: &str, messages: usize, waits_for: WaitsFor, why: &str) -> WaitingMail {
    let (name, why, oldest) = (name.to_owned(), why.to_owned(), Some(ago(90)));
    let is_paused = why == "paused";
    WaitingMail { name, messages, waits_for, is_paused, until: None, why, oldest, in_session: false }
}

fn failed_flow() -> FailedFlow {
    let flow = json!({"v": 1, "run": "implement-review-22bb", "workflow": "implement-review",
        "at": ago(70).precise(), "why": "build: the tests do not pass"});
    serde_json::from_value(flow).unwrap()
}

pub(super) fn overview() -> Overview {
    let running = run("r1", "builder", "running", 12, json!({}));
    let pause = Pause::new(PauseKind::Person, "tester", "until the disk is larger", ago(60), None);
    let mut builder = card("builder", agent("claude"), CardState::Running, 3);
    builder.running =
        vec![CurrentRun { run: running.clone(), subject: Some("Make the index survive a crash".into()) }];
    let cards = vec![
        builder,
        card("tester", agent("codex"), CardState::Paused { pause: pause.clone() }, 2),
        card("user", CardKind::Person, CardState::Idle, 2),
        card("陳大文", CardKind::Plain, CardState::Idle, 0),
        card("ann", CardKind::Session { harness: "claude".into() }, CardState::InSession, 1),
        card("evil\u{1b}[2Jname", CardKind::Plain, CardState::Idle, 0),
    ];
    let watcher = Watcher { v: 1, pid: 7, since: ago(125).precise(), project: "/p".into(), only: vec![] };
    let step = |name: &str, status, how: &str| OpenStep { name: name.into(), status, how: how.into() };
    Overview {
        at: now(),
        dispatchers: Watchers { alive: vec![watcher], dead: vec![] },
        running: vec![running],
        interrupted: vec![run("r9", "docs", "running", 300, json!({}))],
        waiting: vec![
            waiting("tester", 2, WaitsFor::Person, "paused"),
            waiting("builder", 3, WaitsFor::Turn, ""),
            waiting("ann", 1, WaitsFor::Reader, ""),
        ],
        gates: vec![Gate {
            run: "plan-approve-7f3a".into(),
            step: "plan".into(),
            request: MessageId::parse_strict(REQUEST).unwrap(),
            word: "plan-approve-7f3a/plan".into(),
            subject: "approve? plan-approve: plan".into(),
            since: Some(ago(9)),
        }],
        flows: vec![OpenFlow {
            run: "plan-approve-7f3a".into(),
            workflow: "plan-approve".into(),
            started: Some(ago(40).precise()),
            settled: 1,
            total: 4,
            steps: vec![step("plan", "asked", "asked"), step("build", "running", "builder works on it")],
        }],
        failed_flows: vec![failed_flow()],
        joined: None,
        network: vec![OnTheWay {
            room: RoomName::parse("shop-abroad").unwrap(),
            waiting: 2,
            oldest: Some(ago(20)),
            carried: 1,
            failed: 0,
            news: None,
            is_hidden: false,
        }],
        failed: vec![DeadLetters {
            name: "fixer".into(),
            messages: 2,
            why: "the tests do not pass: 3 of 214".into(),
        }],
        paused: vec![("tester-1a2b".into(), pause)],
        unread: 3,
        unread_asks: 1,
        cost: 4.2,
        faults: vec!["the workflow run lost-1234: a part of it is gone".into()],
        cards,
    }
}

fn room() -> RoomSeen {
    let line = |minutes, event: &str, by: &str, to: &str, what: &str| FeedLine {
        time: Some(ago(minutes)),
        event: event.into(),
        by: by.into(),
        to: to.into(),
        what: what.into(),
        id: (event == "sent").then(|| REQUEST.to_owned()),
    };
    RoomSeen {
        overview: overview(),
        rooms: vec!["main".into(), "shop".into()],
        feed: vec![
            line(1, "sent", "planner", "builder", "Make the index survive a crash"),
            line(2, "claimed", "builder", "", "attempt 1"),
            line(50, "failed", "fixer", "", "the tests do not pass \u{1b}]0;x\u{7}"),
        ],
        workflows: vec!["plan-approve".into(), "research-create".into()],
    }
}

const BODY: &str = "# Findings\n\nThe **parser** drops `\\r`; see [the docs](https://example.org/a).\n\n- one\n- two 陳大文 👨‍👩‍👧‍👦\n\n> Said before.\n\n```rust\nfn parse() {}\n```\n\n| file | lines |\n|---|---|\n| src/parse.rs | 214 |\n\nHostile: \u{1b}[31m\u{202e}red\n";

pub(super) fn letter(id: &str) -> LetterSeen {
    let row = |depth, id: &str, who: &str, subject: &str| ThreadRow {
        depth,
        id: id.into(),
        who: who.into(),
        subject: subject.into(),
        time: Some(ago(30)),
    };
    LetterSeen {
        id: id.into(),
        mailbox: "user-1a2b".into(),
        file: "20261118T113000Z-planner-x.md".into(),
        subject: "Review of src/parse.rs".into(),
        from: "planner".into(),
        to: vec![("user".into(), "queued, unread".into())],
        time: ago(30),
        via: Some("claude".into()),
        priority: "high",
        body: BODY.into(),
        files: vec![FileSeen { name: "report.pdf".into(), size: 4096, wrong: Some("changed".into()) }],
        doubts: vec!["`prioritty` is not known".into()],
        thread: vec![
            row(0, REQUEST, "user → planner", "Review src/parse.rs"),
            row(1, id, "planner → user", "Review of src/parse.rs"),
            row(2, "cccc3333-1111-4222-8333-444455556666", "user → planner", "Thanks"),
            row(1, "dddd4444-1111-4222-8333-444455556666", "tester → user", "Tests pass"),
        ],
        flow: Some("plan-approve-7f3a".into()),
        runs: vec!["r1".into()],
        changed_by: Some("r1".into()),
        tab: Tab::Unread,
        is_mine: true,
        gate: None,
    }
}

fn mail(has_more: bool) -> MailSeen {
    let row = |at: usize, subject: &str, marks: &[&str]| LetterRow {
        file: format!("2026111{at}T113000Z-x.md"),
        id: Some(format!("{at}{at}{at}{at}1111-1111-4222-8333-444455556666")),
        from: "planner".into(),
        subject: subject.into(),
        time: Some(ago(30 * at as u64)),
        marks: marks.iter().map(|mark| (*mark).to_owned()).collect(),
        is_quarantined: false,
    };
    let mut rows = vec![
        row(1, "Review of src/parse.rs", &["high"]),
        row(2, "陳大文: 請看這個 and a long subject that does not fit into any list of this width", &[]),
        row(3, "\u{1b}[31mred\u{1b}[0m and \u{202e}backwards", &["attached=report.pdf"]),
    ];
    rows.push(LetterRow {
        id: None,
        from: "x.md".into(),
        subject: "it is a socket".into(),
        ..row(4, "", &[])
    });
    MailSeen { rows, total: if has_more { 90 } else { 4 }, has_more }
}

fn transcript(id: &str) -> RunSeen {
    let end = json!({"state": "failed", "why": "the tests do not pass", "ended": ago(2).precise(), "cost": 0.1234,
        "worktree": {"branch": "postroom/builder-1", "path": "/w/1", "base": "a", "head": "b", "files": 2, "added": 10, "removed": 3}});
    let called = |tool: &str, about: &str, end| Part::Called {
        call: "1".into(),
        tool: tool.into(),
        about: about.into(),
        end,
    };
    RunSeen {
        run: run(id, "builder", "failed", 12, end),
        flow: Some("plan-approve-7f3a".into()),
        fault: None,
        model: "opus".into(),
        parts: vec![
            Part::LeftOut(12),
            Part::Said("I read the **index** first.".into()),
            Part::Thought("Perhaps the lock".into()),
            called("Bash", "cargo test", Some(("failed", "3 of 214 failed\n\u{1b}[31merror".into()))),
            called("Edit", "src/index.rs", Some(("ok", String::new()))),
            called("Read", "src/lock.rs", None),
            Part::Ended("it ended with 1".into()),
        ],
        errors: "warning: unused\n".into(),
        skipped: 2,
    }
}

fn diff() -> DiffSeen {
    DiffSeen {
        branch: "postroom/builder-1".into(),
        path: "/w/1".into(),
        size: "1 file, +1 -1".into(),
        text: "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new \u{1b}[0m\n context\n".into(),
        is_cut: true,
        wrong: None,
    }
}

fn flows() -> FlowsSeen {
    let row = |run: &str, status: &str, settled, now: &str| FlowRow {
        run: run.into(),
        status: status.into(),
        settled,
        total: 4,
        started: Some(ago(40)),
        now: now.into(),
    };
    FlowsSeen {
        rows: vec![
            row("plan-approve-7f3a", "in progress", 1, "plan asked, build running"),
            row("research-create-11aa", "completed", 4, ""),
            row("implement-review-22bb", "failed", 2, ""),
        ],
        older: 12,
        known: vec![
            ("plan-approve".into(), Ok("Plan a task, have it approved, then implement it".into())),
            ("broken".into(), Err("line 3: no such step".into())),
        ],
    }
}

pub(super) fn flow(run: &str) -> FlowSeen {
    let item = |result: Option<&str>, failure: Option<&str>| ItemSeen {
        agent: "builder".into(),
        attempt: 1,
        is_done: result.is_some(),
        failure: failure.map(str::to_owned),
        result: result.map(str::to_owned),
        asked: Some(ago(40)),
        ended: result.map(|_| ago(30)),
    };
    let step = |name: &str, status, needs: &[&str], items| StepSeen {
        name: name.into(),
        about: format!("About {name}"),
        status,
        how: status.into(),
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        items,
        gate: None,
    };
    let mut plan = step("plan", "asked", &["explore"], vec![item(None, None)]);
    plan.gate = Some(gate());
    FlowSeen {
        run: run.into(),
        status: "in progress".into(),
        settled: 1,
        total: 4,
        inputs: vec![("task".into(), "Move the index".into())],
        steps: vec![
            step("explore", "done", &[], vec![item(Some("# Found\n\nthree files"), None)]),
            plan,
            step("build", "failed", &["plan"], vec![item(None, Some("the tests do not pass"))]),
            step("document", "done", &["plan"], vec![item(Some("README.md"), None)]),
            step("report", "waiting", &["build", "document"], vec![]),
            step("measure", "running", &[], vec![item(None, None)]),
        ],
        gates: vec![PendingGate {
            run: run.into(),
            request: MessageId::parse_strict(REQUEST).unwrap(),
            word: gate().word,
            subject: "approve? plan".into(),
            body: QUESTION.into(),
        }],
    }
}

fn failed() -> FailedSeen {
    let row = |name: &str, kind, id: Option<&str>, why: &str| FailedRow {
        name: name.into(),
        mailbox: format!("{name}-1a2b"),
        file: format!("{name}.md"),
        id: id.map(str::to_owned),
        subject: "The error hides the line number".into(),
        why: why.into(),
        kind,
        time: Some(ago(200)),
    };
    FailedSeen {
        rows: vec![
            row("fixer", FailedKind::Dead(3), Some(REQUEST), "the tests do not pass"),
            row(
                "tester",
                FailedKind::Parked,
                Some("eeee5555-1111-4222-8333-444455556666"),
                "stopped: enough",
            ),
            row("docs", FailedKind::Quarantined, None, "it is a socket"),
        ],
        older: 7,
        faults: vec!["ann: the disk failed".into()],
    }
}

/// What a want is answered with.
pub(super) fn answer(want: &Want) -> Found {
    match want {
        Want::Room => Found::Room(Box::new(room())),
        Want::Mail { tab, .. } => Found::Mail(mail(*tab == Tab::Archive)),
        Want::Glance { .. } => Found::Letter(Box::new(letter("bbbb2222-1111-4222-8333-444455556666"))),
        Want::Rooms => Found::Rooms(vec![OtherRoom {
            name: "shop".into(),
            unread: Some((3, Some(ago(20)))),
            is_running: true,
        }]),
        Want::Letter { id } => Found::Letter(Box::new(letter(id))),
        Want::Runs { .. } => {
            let ended = json!({"state": "done", "ended": ago(100).precise(), "cost": 0.5, "activity": ""});
            Found::Runs(vec![
                run("r1", "builder", "running", 12, json!({})),
                run("r2", "tester", "done", 110, ended),
                run("r3", "陳大文", "again", 120, json!({"why": "rate limit", "ended": ago(119).precise()})),
            ])
        }
        Want::Run { id } => Found::Run(Box::new(transcript(id))),
        Want::Diff { .. } => Found::Diff(diff()),
        Want::Flows => Found::Flows(flows()),
        Want::Flow { run } => Found::Flow(Box::new(flow(run))),
        Want::Failed => Found::Failed(failed()),
        Want::Trash => Found::Trash(vec![Trashed {
            id: "4711abcd".into(),
            at: ago(500),
            mailboxes: vec!["old".into()],
            runs: vec![],
            messages: 3,
        }]),
    }
}
