//! `--unit`: the units that are printed, and what systemd says to them.

use std::process::Command;

use crate::support::staffed::{shell, staffed, with_path};
use crate::support::until::skip;

/// What `systemd-analyze verify` says of a unit; `None` where it cannot be asked.
fn verified(path: &std::path::Path) -> Option<(bool, String)> {
    let run = |path: &std::path::Path| {
        let mut command = Command::new("systemd-analyze");
        command.args(["verify", "--user", "--man=no", "--generators=no"]).arg(path);
        let runtime = path.parent().unwrap();
        let output = command.env("XDG_RUNTIME_DIR", runtime).env("HOME", runtime).output().ok()?;
        Some((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
    };
    let plain = path.with_file_name("plain.service");
    std::fs::write(&plain, "[Service]\nExecStart=/bin/true\n").unwrap();
    run(&plain).filter(|(fine, _)| *fine).and_then(|_| run(path))
}

#[test]
fn a_unit_runs_this_program_in_this_room_and_systemd_accepts_it() {
    let room = staffed(&["one"], &shell("one", "echo x", ""));
    let project = room.around().join("my $HOME %h \"project\"");
    std::fs::create_dir_all(&project).unwrap();
    let unit = |arguments: &[&str]| {
        let run = with_path(&room, room.run(arguments.iter().copied())).within(&project);
        run.succeeds().out
    };
    let root = room.root().display().to_string();
    let binary = env!("CARGO_BIN_EXE_postroom");
    let dispatch = unit(&["dispatch", "--unit", "--only", "one", "--parallel", "2"]);
    let line = format!(
        "ExecStart=\"{binary}\" \"--root\" \"{root}\" \"dispatch\" \"--watch\" \"--only\" \"one\" \"--parallel\" \"2\"\n"
    );
    assert!(dispatch.contains(&line), "{dispatch}");
    let directory = project.display().to_string().replace('%', "%%");
    assert!(dispatch.contains(&format!("\nWorkingDirectory={directory}\n")), "{dispatch}");
    let mut units = vec![("postroom-dispatch.service", dispatch)];
    if cfg!(feature = "mcp") {
        let mcp = unit(&["mcp", "--unit"]);
        assert!(mcp.contains(&format!("\"{root}\" \"mcp\" \"--http\" \"127.0.0.1:8025\"\n")), "{mcp}");
        let other = unit(&["mcp", "--unit", "--http", "127.0.0.1:9000"]);
        assert!(other.contains("\"--http\" \"127.0.0.1:9000\"\n"), "{other}");
        units.push(("postroom-mcp.service", mcp));
    }
    let json = with_path(&room, room.run(["dispatch", "--unit", "--json"])).json();
    assert!(json["name"].as_str().unwrap().starts_with("postroom-dispatch-"), "{json}");
    for (name, text) in units {
        let path = room.around().join(name);
        std::fs::write(&path, text).unwrap();
        match verified(&path) {
            Some((fine, said)) => assert!(fine && said.is_empty(), "{name}: {said}"),
            None => {
                skip("a_unit_runs_this_program_in_this_room_and_systemd_accepts_it", "no systemd-analyze")
            }
        }
    }
}
