//! L3 and L4: mail that wants agents to make more mail, and mail that wants to be a command.

use std::fs;

use serde_json::Value;

use crate::lab::{Findings, Lab, Outcome};
use crate::place::Place;

/// A room with agents that are lines of shell; `$1` is the binary, `$2` the directory outside.
fn staffed(lab: &Lab, base: &std::path::Path, agents: &[(&str, String)], limits: &str) -> Place {
    let place = Place::with(lab, base, &["alice"]);
    let mut settings = format!("[dispatch]\nback_off = \"0s\"\n{limits}\n");
    for (name, script) in agents {
        place.ok(&["setup", "--child", name]);
        settings.push_str(&format!(
            "[agents.{name}]\npreset = \"command\"\nretries = 0\ncommand = [\"sh\", \"-c\", '''{script}''', \"agent\", \"{}\", \"{}\"]\n",
            lab.binary.display(),
            place.outside().display(),
        ));
    }
    place.settle(&settings);
    place
}

fn runs(place: &Place) -> Vec<Value> {
    let told: Value =
        serde_json::from_slice(&place.ok(&["runs", "--json", "--limit", "1000"]).out).unwrap_or_default();
    told["runs"].as_array().cloned().unwrap_or_default()
}

/// Dispatches until nothing waits. Gives how many dispatches that took; too many are a finding.
fn until_quiet(place: &Place, findings: &Findings) -> usize {
    for round in 1..=60 {
        let ended = place.run(&["dispatch", "-q"]);
        findings.extend("dispatch", ended.crash());
        if ended.code == Some(1) {
            return round;
        }
    }
    findings.add("it never came to an end");
    60
}

/// L3.
pub(crate) fn storms_end(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let figures = [answers(lab, &findings), writers(lab, &findings), forwarders(lab, &findings)];
    findings.verdict(figures.join("; "))
}

/// Two agents that answer everything, and one who asks both: an answer is not answered.
fn answers(lab: &Lab, findings: &Findings) -> String {
    let dir = lab.fast_dir();
    let script = || "cat > /dev/null; echo thanks for that".to_owned();
    let place = staffed(lab, dir.path(), &[("one", script()), ("two", script())], "");
    place.ok(&["--as", "one", "send", "two", "-m", "hello"]);
    place.ok(&["--as", "two", "send", "one", "-m", "hello"]);
    until_quiet(&place, findings);
    let count = runs(&place).len();
    findings.check(count == 2, || {
        format!("two greetings made {count} runs, not one each: an answer starts nobody")
    });
    findings.extend("two that answer", place.doctor());
    format!("2 that answer: {count} runs")
}

/// Two agents that write a new message to each other in every run: the hop limit ends it, and somebody is told.
fn writers(lab: &Lab, findings: &Findings) -> String {
    let dir = lab.fast_dir();
    let script = |to: &str| format!("cat > /dev/null; \"$1\" send {to} -q -m \"more\"; echo done");
    let place = staffed(lab, dir.path(), &[("one", script("two")), ("two", script("one"))], "hops = 3");
    place.ok(&["--as", "alice", "send", "one", "-m", "start"]);
    until_quiet(&place, findings);
    let all = runs(&place);
    let worked = all.iter().filter(|run| run["state"] == "done").count();
    let stopped: Vec<&str> =
        all.iter().filter(|run| run["state"] == "failed").filter_map(|run| run["why"].as_str()).collect();
    findings.check(stopped.iter().any(|why| why.contains("the limit `hops` is 3")), || {
        format!("no hop limit: {stopped:?}")
    });
    // Each run makes two messages, its own and its answer: three steps are seven runs, and what they made is stopped.
    findings.check(worked <= 7 && all.len() <= 15 + 8, || format!("two that write made {} runs", all.len()));
    let told = ["one", "two"]
        .iter()
        .flat_map(|name| ["inbox", "archive", "failed"].map(|folder| place.messages(name, folder)));
    let told = told
        .flatten()
        .filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains("the limit `hops`"))
        .count();
    findings.check(told > 0, || "the sender of the message that was stopped is not told".to_owned());
    findings.extend("two that write", place.doctor());
    format!("2 that write: {worked} runs done, {} stopped and told", stopped.len())
}

/// One mail that asks to be forwarded to everybody, and agents that do so: each stays within its runs of an hour.
fn forwarders(lab: &Lab, findings: &Findings) -> String {
    const MOST: usize = 2;
    let names = ["one", "two", "three"];
    let script =
        || "cat > /dev/null; \"$1\" send one two three -q -m \"forward this to all\"; echo done".to_owned();
    let dir = lab.fast_dir();
    let agents: Vec<(&str, String)> = names.iter().map(|name| (*name, script())).collect();
    let place = staffed(lab, dir.path(), &agents, &format!("hour_runs = {MOST}\nparallel = 4"));
    place.ok(&["--as", "alice", "send", "one", "-m", "forward this to all"]);
    until_quiet(&place, findings);
    let all = runs(&place);
    for name in names {
        let worked = all.iter().filter(|run| run["agent"] == name && run["state"] == "done").count();
        findings.check(worked <= MOST, || format!("{name} worked {worked} times within an hour"));
    }
    // Over the limit, mail waits; nothing of it is lost.
    let count = |folder: &str| names.iter().map(|name| place.messages(name, folder).len()).sum::<usize>();
    let (waiting, failed) = (count("inbox"), count("failed"));
    findings.check(waiting > 0, || "nothing was delayed".to_owned());
    findings.check(failed == 0, || format!("{failed} messages failed"));
    findings.extend("three that forward", place.doctor());
    format!("3 that forward: {} runs, {waiting} messages wait", all.len())
}

/// L4: the spy writes down its arguments, its environment and its directory, and all must be what the settings make of
/// a mail that says nothing.
pub(crate) fn mail_is_no_command(lab: &Lab) -> Outcome {
    const ATTACKS: [&str; 14] = [
        "--help",
        "-rf",
        "; touch OUT/owned",
        "$(touch OUT/owned)",
        "`touch OUT/owned`",
        "| touch OUT/owned",
        "\n touch OUT/owned\n",
        "'; touch OUT/owned; '",
        "\"; touch OUT/owned; \"",
        "LD_PRELOAD=/x",
        "POSTROOM_ROOT=/x",
        "../../../etc/passwd",
        "{model}{root}{session}",
        "%s%n",
    ];
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let spy = "cat > /dev/null; { tr '\\0' '\\n' < /proc/$$/cmdline; echo; env | grep -Ev '^POSTROOM_RUN=[0-9TZ]+-[0-9a-f]{8}$|^POSTROOM_THREAD=[0-9a-f]{32}$' | sort; pwd; } > \"$2/seen\"; echo ok";
    let place = staffed(lab, dir.path(), &[("spy", spy.to_owned())], "hour_runs = 1000\nthread_runs = 1000");
    let outside = place.outside();
    let seen = |findings: &Findings, at: &str| {
        let _ = fs::remove_file(outside.join("seen"));
        let ended = place.run(&["dispatch"]);
        findings.check(ended.ok(), || format!("{at}: {}", ended.shown()));
        fs::read_to_string(outside.join("seen")).unwrap_or_default()
    };
    place.ok(&["--as", "alice", "send", "spy", "-s", "plain", "-m", "plain"]);
    let plain = seen(&findings, "a plain mail");
    findings.check(plain.lines().count() > 8 && plain.contains("AGENT_MAILBOX_ID"), || {
        format!("the spy saw {plain:?}")
    });
    for (number, attack) in ATTACKS.iter().enumerate() {
        let attack = attack.replace("OUT", &outside.display().to_string());
        let line = attack.replace('\n', " ");
        let id = format!("{number:08x}-attack");
        let file = place.folder("spy", "inbox").join(format!("20260101T000000Z-{number:08x}-x.md"));
        let fields = [
            ("from", &line),
            ("to", &line),
            ("subject", &line),
            ("channel", &line),
            ("thread", &line),
            ("model", &line),
            ("session", &line),
        ];
        let head: String = fields.iter().map(|(key, value)| format!("{key}: {}\n", value.trim())).collect();
        fs::write(
            &file,
            format!("---\nmsg_id: {id}\n{head}cwd: /\nenv: X=1\ncommand: touch\n---\n\n{attack}\n"),
        )
        .expect("a mail by hand");
        crate::place::set_time(&file, crate::place::ago(3600));
        let now = seen(&findings, &attack);
        findings.check(now == plain, || {
            format!("{attack:?} changed what the agent was started with:\n{now}\nnot\n{plain}")
        });
        findings.check(!outside.join("owned").exists(), || format!("{attack:?} was run"));
    }
    let kept = runs(&place).len();
    findings.check(kept == ATTACKS.len() + 1, || format!("{kept} runs"));
    // That they are addressed to nobody is what the doctor says of them, and rightly.
    let told = place.doctor().into_iter().filter(|what| !what.contains("is addressed to"));
    findings.extend("afterwards", told);
    findings.verdict(format!("{} mails that name commands, paths, flags and variables: arguments, environment and directory the same each time", ATTACKS.len()))
}
