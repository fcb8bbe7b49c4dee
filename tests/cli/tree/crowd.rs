//! Many at once in one tree: no number is given twice, no update is lost, nobody gets what another one has.

use std::collections::BTreeSet;
use std::process::Child;

use crate::support::project::Project;

fn all_end(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Shells that run a line for each number up to `count`, side by side.
fn crowd(project: &Project, shells: usize, count: usize, line: &str) -> Vec<Child> {
    let tree = project.dir.display();
    (0..shells)
        .map(|shell| {
            let script = format!("cd '{tree}' && for n in $(seq {count}); do {line} || exit 1; done");
            project.room.bash(&script).env("SHELL_NUMBER", shell.to_string()).start()
        })
        .collect()
}

#[test]
fn eight_senders_get_numbers_without_a_gap() {
    // In the size of the issue (8 × 500) this is W1 of the battery.
    let project = Project::with(&["alice"], &["a", "b", "c"]);
    let line = "postroom --as alice send $(echo a b c | cut -d' ' -f$((n % 3 + 1))) -m \"$SHELL_NUMBER $n\" > /dev/null";
    all_end(crowd(&project, 8, 10, line));
    let ids: Vec<String> = ["a", "b", "c"].iter().flat_map(|agent| project.ids(agent)).collect();
    let numbers: BTreeSet<u32> = ids.iter().map(|id| id[11..].parse().unwrap()).collect();
    assert_eq!((ids.len(), numbers), (80, (1..=80).collect()));
    let project = &project;
    let bodies: BTreeSet<String> = ["a", "b", "c"]
        .iter()
        .flat_map(|agent| {
            project.ids(agent).into_iter().map(move |id| project.text(&format!("inboxes/{agent}/{id}.md")))
        })
        .map(|text| text.split("---\n\n").nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(bodies.len(), 80);
}

#[test]
fn eight_writers_of_shared_state_lose_nothing() {
    // In the size of the issue (800 updates) this is W2 of the battery.
    let project = Project::with(&[], &["a"]);
    let line = "postroom tree shared append session-context agents_invoked \"agent-$SHELL_NUMBER-$n\" && postroom tree shared set counts \"k$SHELL_NUMBER\" $n";
    all_end(crowd(&project, 8, 8, line));
    let list = project.run(["tree", "shared", "get", "session-context", "agents_invoked"]).succeeds().out;
    let items: BTreeSet<&str> = list.lines().collect();
    assert_eq!((list.lines().count(), items.len()), (64, 64));
    for shell in 0..8 {
        assert_eq!(
            project.run(["tree", "shared", "get", "counts", &format!("k{shell}")]).succeeds().out,
            "8\n"
        );
    }
    assert_eq!(project.names("shared"), ["counts.md", "session-context.md", "workflow-state.md"]);
}

#[test]
fn writers_by_hand_and_by_command_work_into_each_other() {
    let project = Project::with(&[], &["a"]);
    project.write("shared/notes.md", "## By command\n");
    std::fs::create_dir(project.path(".postroom")).unwrap();
    std::fs::write(project.path(".postroom/lock"), "").unwrap();
    // By hand under the lock of the tree, which any shell can take, nothing is lost; without it, a person who appends by hand
    // may write to a file that is just being replaced, but no update by command is lost to that.
    let polite =
        "flock .claude/.postroom/lock sh -c \"echo 'polite $SHELL_NUMBER $n' >> .claude/shared/notes.md\"";
    let rude = "echo \"rude $SHELL_NUMBER $n\" >> .claude/shared/notes.md";
    let by_command = "postroom tree shared append notes 'By command' \"command $SHELL_NUMBER $n\"";
    let mut all = crowd(&project, 2, 25, polite);
    all.extend(crowd(&project, 1, 100, rude));
    all.extend(crowd(&project, 4, 12, by_command));
    all_end(all);
    let text = project.text("shared/notes.md");
    let lines: BTreeSet<&str> = text.lines().collect();
    let wanted = (0..4).flat_map(|shell| (1..=12).map(move |n| format!("command {shell} {n}")));
    let wanted = wanted.chain((0..2).flat_map(|shell| (1..=25).map(move |n| format!("polite {shell} {n}"))));
    for line in wanted {
        assert!(lines.contains(line.as_str()), "{line} is lost:\n{text}");
    }
}

#[test]
fn one_request_goes_to_one_of_many_claimers() {
    let project = Project::with(&["alice"], &["a"]);
    for n in 0..6 {
        project.ask("alice", "a", &format!("job {n}"));
    }
    let claimers: Vec<_> = (0..12).map(|_| project.by("a", ["claim", "--json"]).start()).collect();
    let (mut taken, mut empty) = (BTreeSet::new(), 0);
    for claimer in claimers {
        let output = claimer.wait_with_output().unwrap();
        match output.status.code() {
            Some(0) => {
                let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                assert!(
                    taken.insert(told["messages"][0]["subject"].as_str().unwrap().to_owned()),
                    "taken twice"
                );
            }
            Some(1) => empty += 1,
            code => panic!("{code:?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    assert_eq!((taken.len(), empty, project.tokens("a").len()), (6, 6, 6));
}

#[test]
fn a_status_that_somebody_changes_meanwhile_is_not_changed_back() {
    let project = Project::with(&[], &["a"]);
    let ids: Vec<String> = (1..=20).map(|n| format!("2025-03-04-0{n:02}")).collect();
    ids.iter().for_each(|id| drop(project.put("a", id, "")));
    let hands = project.room.bash(&format!(
        "cd '{}' && for n in $(seq 20); do f=$(printf '2025-03-04-%03d.md' $n); \
         sed 's/^status: pending/status: failed/' $f > .$f && mv .$f $f; done",
        project.path("inboxes/a").display()
    ));
    let hands = hands.start();
    let archiver = crowd(
        &project,
        2,
        20,
        "postroom --as a archive $(printf '2025-03-04-%03d' $n) > /dev/null 2>&1; true",
    );
    all_end(vec![hands]);
    all_end(archiver);
    for id in &ids {
        // A person who writes by hand does not look first, so either word may be the last; but it is whole, and one of the two.
        let status = project.status("a", id);
        assert!(["failed", "completed"].contains(&status.as_str()), "{id}: {status}");
    }
    assert_eq!(project.names("inboxes/a").len(), 20);
}
