//! A fan-out whose items work in places of their own: a git worktree, or a directory named by `{item}`. What an item is
//! called never becomes a part of a path or of a branch.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::project::names_in;
use crate::support::staffed::{AT_ONCE, runs};
use crate::support::yard::Yard;

const FAN_OUT: &str = "
inputs:
  items: {type: list}
steps:
  build: {agent: coder, foreach: inputs.items, prompt: 'build <{{ item }}>'}
  sort: {agent: sorter, foreach: inputs.items, prompt: 'sort <{{ item }}>'}
";

/// A repository with a coder that works in worktrees and a sorter that works in directories of its items. Both keep what
/// they are asked, and say where they are. `together`: how many of each must be at work before one ends.
fn fanned_out(worktree: &str, together: usize) -> Yard {
    let yard = Yard::new("true", "");
    yard.room.run(["setup", "--child", "sorter"]).succeeds();
    let agent = |name: &str, place: &str| {
        let barrier = format!(
            "d=$HOME/{name}; mkdir -p $d; : > $d/$$; while [ $(ls $d | wc -l) -lt {together} ]; do sleep 0.05; done"
        );
        format!(
            "[agents.{name}]\npreset = \"command\"\nconcurrency = {together}\nretries = 0\n{place}\n\
             command = [\"sh\", \"-c\", '''cat > asked; {barrier}; pwd''']\n"
        )
    };
    let coder = agent("coder", &format!("worktree = {worktree}"));
    let sorter = agent("sorter", "cwd = \"work/{agent}/{item}\"");
    yard.write("postroom.toml", &format!("{coder}{sorter}{AT_ONCE}parallel = {}\n", 2 * together));
    yard.write(".postroom/workflows/fan.yaml", FAN_OUT);
    yard.write(".gitignore", "work\n");
    yard.commit("agents");
    yard.trust();
    yard
}

/// Runs the workflow over these items. Returns the id of the run.
fn run_over(yard: &Yard, items: &[&str]) -> String {
    let items = format!("items={}", json!(items));
    let begun = yard.command(["workflow", "run", "fan", "--input", &items]).succeeds().out;
    yard.dispatch().with(0);
    let run = begun.trim().strip_prefix("run ").unwrap().to_owned();
    let shown = yard.command(["workflow", "show", &run, "--json"]).json();
    assert_eq!(shown["status"], "completed", "{shown}");
    run
}

/// The results of a step, in the order of its items.
fn results(yard: &Yard, run: &str, step: &str) -> Vec<String> {
    let told = yard.command(["workflow", "show", run, step, "--json"]).json();
    told["results"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().trim().to_owned()).collect()
}

/// What the run accepted for a result: the whole message.
fn answer(yard: &Yard, run: &str, result: &str) -> String {
    let archive = yard.room.root().join(run).join("archive");
    let texts =
        names_in(&archive).into_iter().map(|name| std::fs::read_to_string(archive.join(name)).unwrap());
    let mut fitting: Vec<String> = texts.filter(|text| text.ends_with(&format!("\n{result}\n"))).collect();
    assert_eq!(fitting.len(), 1, "{result}: {fitting:?}");
    fitting.remove(0)
}

fn is_item(name: &str, number: usize) -> bool {
    let digits = name.strip_suffix(&format!("-{number}"));
    digits.is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Every item was worked on in its own place and on its own branch, and the results say which.
fn all_in_their_place(yard: &Yard, run: &str, items: &[&str]) {
    let home = yard.room.around().canonicalize().unwrap().join("home/.local/state/postroom/worktrees");
    let all = runs(&yard.room);
    let places = results(yard, run, "build");
    let mut branches = BTreeSet::new();
    for (place, item) in places.iter().zip(items) {
        let worktree = all.iter().map(|run| &run["worktree"]).find(|tree| tree["path"] == place.as_str());
        let worktree = worktree.unwrap_or_else(|| panic!("{place} is no worktree: {all:?}"));
        let branch = worktree["branch"].as_str().unwrap();
        assert_eq!(Path::new(place).parent().and_then(Path::parent), Some(home.as_path()), "{place}");
        let asked = yard.git(&format!("show {branch}:asked"));
        assert!(asked.contains(&format!("build <{item}>")), "{item:?} is not in {asked}");
        assert_eq!(yard.git(&format!("diff --name-only main {branch}")), "asked");
        let changed = yard.git(&format!("diff --numstat main {branch}"));
        let lines: usize = changed.split('\t').next().unwrap().parse().unwrap();
        assert_eq!((&worktree["files"], &worktree["added"]), (&Value::from(1), &Value::from(lines)));
        let answer = answer(yard, run, place);
        let changes = format!("changes: 1 file, +{lines} -0");
        for line in [format!("branch: {branch}"), format!("worktree: {place}"), changes] {
            assert!(answer.lines().any(|found| found == line), "no {line} in {answer}");
        }
        branches.insert(branch.to_owned());
    }
    assert_eq!((places.len(), branches.len()), (items.len(), items.len()), "{places:?} {branches:?}");
    assert_eq!(yard.branches().len(), items.len() + 1, "{:?}", yard.branches());
    let work = yard.dir.join("work/sorter");
    for (number, (place, item)) in results(yard, run, "sort").iter().zip(items).enumerate() {
        let place = Path::new(place);
        assert_eq!(place.parent(), Some(work.as_path()), "{}", place.display());
        assert!(is_item(place.file_name().unwrap().to_str().unwrap(), number + 1), "{}", place.display());
        let asked = std::fs::read_to_string(place.join("asked")).unwrap();
        assert!(asked.contains(&format!("sort <{item}>")), "{item:?} is not in {asked}");
    }
    assert_eq!(names_in(&work).len(), items.len());
    assert_eq!(yard.git("status --porcelain"), "", "nothing else changed in the project");
}

#[test]
fn every_item_works_in_a_place_of_its_own() {
    for worktree in ["true", "\"feature/{item}\""] {
        let yard = fanned_out(worktree, 3);
        let items = ["parser", "lexer", "printer"];
        let run = run_over(&yard, &items);
        all_in_their_place(&yard, &run, &items);
        if worktree != "true" {
            let of_items = yard.branches().into_iter().filter_map(|name| {
                let item = name.strip_prefix("feature/")?.to_owned();
                (1..=3).find(|number| is_item(&item, *number))
            });
            assert_eq!(of_items.collect::<Vec<_>>(), [1, 2, 3], "{:?}", yard.branches());
        }
    }
}

#[test]
fn hostile_items_do_not_leave_their_place() {
    let long = "x".repeat(5000);
    let items = [
        "../x",
        "/etc/x",
        "a b",
        "-n",
        "..",
        "",
        "{run}",
        "$(touch ../owned)",
        "größe/日本 👩",
        ".git",
        &long,
    ];
    for worktree in ["true", "\"feature/{item}\""] {
        let yard = fanned_out(worktree, 1);
        let around = names_in(yard.room.around());
        let run = run_over(&yard, &items);
        all_in_their_place(&yard, &run, &items);
        assert_eq!(names_in(yard.room.around()), around, "nothing was made beside the project");
        assert_eq!(names_in(&yard.dir.join("work")), ["sorter"]);
    }
}
