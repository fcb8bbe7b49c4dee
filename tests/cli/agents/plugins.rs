//! The plugin for Claude Code and Codex and the extension for Gemini CLI, in `integrations/`: made from the same table and
//! texts as an installation. `INTEGRATIONS=write cargo nextest run plugins` writes them anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use postroom::agents::install_files::Site;
use postroom::agents::programs::{Event, Program, find};
use postroom::agents::texts;
use serde_json::{Value, json};

use crate::support::models::{Stage, claude, gemini};
use crate::support::room::TestRoom;
use crate::support::until::skip;

type Files = BTreeMap<String, String>;

const ABOUT: &str =
    "Mail between agent sessions, on plain files: a skill, hooks that tell of new mail, and an MCP server";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations")
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

/// The command of a hook that finds postroom by its name.
fn command(program: &Program, event: Event) -> String {
    let site = Site {
        home: "/".into(),
        config: "/".into(),
        moved: false,
        project: None,
        postroom: "postroom".to_owned(),
        roots: vec!["/".into()],
        name: None,
        bodies: None,
        wakes: true,
        types: false,
        start: None,
        mcp: true,
        called: None,
    };
    site.command(program, event)
}

fn hooks(program: &Program, adapt: impl Fn(String) -> String) -> Value {
    let mut lists = serde_json::Map::new();
    for hook in program.hooks {
        let command = Value::from(adapt(command(program, hook.event))).to_string();
        let entry: Value = serde_json::from_str(&hook.entry.replace("{command}", &command)).unwrap();
        let list = lists.entry(hook.name).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(entry);
    }
    json!({"hooks": lists})
}

fn skill(files: &mut Files, below: &str) {
    for (path, text) in texts::SKILL {
        files.insert(format!("{below}/skills/mailbox/{path}"), text.to_owned());
    }
}

const README: &str = "# Postroom for agent programs

Mail between agent sessions, on plain files. Made from the sources of `postroom install`; do not edit by hand.

It brings the skill `mailbox` with its flows, the command `/workflow-dispatch`, hooks that tell a session its name and the
headers of new mail, and the MCP server `postroom mcp`. The program `postroom` must be on the search path; without it every
hook does nothing. Permissions are not part of a plugin: allow the command `postroom` in the program's settings, or run
`postroom install PROGRAM`, which does all of it.
";

fn wanted() -> Files {
    let mut files = Files::new();
    let version = env!("CARGO_PKG_VERSION");
    let server = json!({"postroom": {"command": "postroom", "args": ["mcp"]}});
    // One directory for two programs: Codex alone sets PLUGIN_ROOT, and passes over events that it does not know.
    let either = |line: String| {
        line.replace(
            "exec postroom hook claude",
            "p=claude; test -z \"$PLUGIN_ROOT\" || p=codex; exec postroom hook $p",
        )
    };
    let plugin = json!({"name": "postroom", "version": version, "description": ABOUT, "author": {"name": "Postroom"}, "license": "MIT OR Apache-2.0"});
    let mut codex = plugin.clone();
    (codex["skills"], codex["mcpServers"]) = ("./skills/".into(), "./.mcp.json".into());
    let mut put = |path: &str, text: String| files.insert(path.to_owned(), text);
    put("plugin/.claude-plugin/plugin.json", pretty(&plugin));
    put("plugin/.codex-plugin/plugin.json", pretty(&codex));
    put("plugin/.mcp.json", pretty(&json!({"mcpServers": server})));
    put("plugin/hooks/hooks.json", pretty(&hooks(find("claude").unwrap(), either)));
    put("plugin/commands/workflow-dispatch.md", texts::whole("workflow-dispatch.md"));
    put("plugin/README.md", README.to_owned());
    let entry = |source: Value| json!([{"name": "postroom", "source": source, "description": ABOUT}]);
    put(
        ".claude-plugin/marketplace.json",
        pretty(
            &json!({"name": "postroom", "description": ABOUT, "owner": {"name": "Postroom"}, "plugins": entry("./plugin".into())}),
        ),
    );
    put(
        ".agents/plugins/marketplace.json",
        pretty(
            &json!({"name": "postroom", "plugins": entry(json!({"source": "local", "path": "./plugin"}))}),
        ),
    );
    put(
        "gemini/gemini-extension.json",
        pretty(&json!({"name": "postroom", "version": version, "description": ABOUT, "mcpServers": server})),
    );
    put("gemini/hooks/hooks.json", pretty(&hooks(find("gemini").unwrap(), |line| line)));
    put("gemini/commands/workflow-dispatch.toml", texts::whole("gemini-workflow-dispatch.toml"));
    put("gemini/README.md", README.to_owned());
    skill(&mut files, "plugin");
    skill(&mut files, "gemini");
    files
}

fn found(at: &Path, below: &str, files: &mut Files) {
    for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
        let path = format!("{below}{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => found(&entry.path(), &format!("{path}/"), files),
            false => {
                files.insert(path, std::fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
}

#[test]
fn the_directories_are_made_from_the_same_sources() {
    let wanted = wanted();
    if std::env::var_os("INTEGRATIONS").is_some() {
        for (path, text) in &wanted {
            let path = directory().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
    let mut there = Files::new();
    found(&directory(), "", &mut there);
    let paths = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(&there), paths(&wanted));
    for (path, text) in &wanted {
        assert!(
            there[path] == *text,
            "integrations/{path} is not what it would be made: INTEGRATIONS=write cargo nextest run plugins"
        );
    }
}

#[test]
fn claude_finds_nothing_wrong_with_the_plugin() {
    let Some(real) = claude() else {
        return skip("claude_finds_nothing_wrong_with_the_plugin", crate::support::models::MISSING);
    };
    let room = TestRoom::empty();
    let stage = Stage::set(&room, real);
    for path in ["plugin", "."] {
        let at = directory().join(path);
        let words = ["claude", "plugin", "validate", at.to_str().unwrap()];
        let output = stage.command(&json!([]), words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success()
                && said.contains("Validation passed")
                && !said.contains("README_MISSING")
                && !said.contains("LICENSE_MISSING"),
            "{said}"
        );
    }
}

#[test]
fn gemini_finds_nothing_wrong_with_the_extension() {
    let Some(real) = gemini() else {
        return skip("gemini_finds_nothing_wrong_with_the_extension", crate::support::models::MISSING);
    };
    let room = TestRoom::empty();
    let stage = Stage::set(&room, real);
    let at = directory().join("gemini");
    let words = ["gemini", "extensions", "validate", at.to_str().unwrap()];
    let output = stage.command(&json!([]), words).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("success"), "{said}");
}
