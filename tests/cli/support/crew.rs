//! A crew: agents that are lines of shell, a project with workflows, and runs of them.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::room::{Run, TestRoom};
use crate::support::staffed::{AT_ONCE, shell, staffed, with_path};

/// An agent that says what it is asked, as one line without fences.
pub(crate) const ECHO: &str = r"sed -n '/ bytes]$/,$p' | sed '1d;$d' | sed -E 's/\[[0-9a-f]{8}(: [0-9]+ bytes| end)\]//g' | tr '\n' ' ' | sed -E 's/ +/ /g; s/^ //; s/ $//'";

/// A room with these agents, each a line of shell, and a project beside it with these workflows, trusted.
pub(crate) fn crew(agents: &[(&str, &str)], workflows: &[(&str, &str)]) -> TestRoom {
    let names: Vec<&str> = agents.iter().map(|(name, _)| *name).collect();
    let room = staffed(&names, &settings(agents));
    let place = project(&room).join(".postroom/workflows");
    std::fs::create_dir_all(&place).unwrap();
    for (name, text) in workflows {
        std::fs::write(place.join(format!("{name}.yaml")), text).unwrap();
    }
    trust(&room);
    room
}

/// The settings of agents that give up at the first failure.
pub(crate) fn settings(agents: &[(&str, &str)]) -> String {
    let one = |(name, script): &(&str, &str)| {
        let more = "retries = 0\nconcurrency = 4\ncwd = \"..\"";
        shell(name, script, more).replace(AT_ONCE, "")
    };
    let all: String = agents.iter().map(one).collect();
    format!("{all}\n[dispatch]\nback_off = \"0s\"\nhour_runs = 1000000\n")
}

pub(crate) fn project(room: &TestRoom) -> PathBuf {
    room.around().join("project")
}

pub(crate) fn trust(room: &TestRoom) {
    // A crew may have no workflows of its own.
    let ran = room.run(["trust"]).arg(project(room)).by_person();
    assert!([0, 1].contains(&ran.code), "{ran:?}");
}

/// `postroom workflow …` in the project.
pub(crate) fn workflow<'a>(room: &TestRoom, arguments: impl IntoIterator<Item = &'a str>) -> Run {
    with_path(room, room.run(["workflow"].into_iter().chain(arguments)).within(&project(room)))
}

/// Begins a run and gives its id.
#[track_caller]
pub(crate) fn begin(room: &TestRoom, name: &str, inputs: &[&str]) -> String {
    let inputs = inputs.iter().flat_map(|input| ["--input", *input]);
    let begun = workflow(room, ["run", name].into_iter().chain(inputs)).succeeds();
    begun.out.trim().strip_prefix("run ").unwrap_or_else(|| panic!("{begun:?}")).to_owned()
}

/// A run as a document.
#[track_caller]
pub(crate) fn shown(room: &TestRoom, run: &str) -> Value {
    workflow(room, ["show", run, "--json"]).json()
}

/// How a run stands.
#[track_caller]
pub(crate) fn status(room: &TestRoom, run: &str) -> String {
    shown(room, run)["status"].as_str().unwrap().to_owned()
}

/// How each step stands, by its name.
#[track_caller]
pub(crate) fn steps(room: &TestRoom, run: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let steps = shown(room, run)["steps"].as_array().unwrap().clone();
    steps.iter().map(|step| (text(&step["step"]), text(&step["how"]))).collect()
}

/// The results of a step.
#[track_caller]
pub(crate) fn results(room: &TestRoom, run: &str, step: &str) -> Vec<String> {
    let told = workflow(room, ["show", run, step, "--json"]).json();
    told["results"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().trim().to_owned()).collect()
}

/// The text of a shared file of the room.
pub(crate) fn shared(room: &TestRoom, file: &str) -> String {
    let path = room.root().join(".workflows/shared").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The bodies of all that a mailbox got, read or not, oldest first.
pub(crate) fn received(room: &TestRoom, name: &str) -> Vec<String> {
    let mut bodies = vec![];
    for folder in ["archive", "inbox"] {
        for file in room.files(name, folder) {
            let text = std::fs::read_to_string(room.folder(name, folder).join(file)).unwrap();
            bodies.push(text.split_once("\n---\n\n").unwrap().1.to_owned());
        }
    }
    bodies
}
