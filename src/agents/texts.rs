//! The skill, its pages and the commands, as written into a program's directories. Plugins and installations use the
//! same source files in `texts/`.

use serde_json::Value;

/// The pages of the skill `mailbox`: path below its directory, and text.
pub const SKILL: [(&str, &str); 8] = [
    ("SKILL.md", include_str!("texts/SKILL.md")),
    ("references/takeover.md", include_str!("texts/references/takeover.md")),
    ("references/prune.md", include_str!("texts/references/prune.md")),
    ("references/dispatch.md", include_str!("texts/references/dispatch.md")),
    ("references/handback.md", include_str!("texts/references/handback.md")),
    ("references/workspace-send.md", include_str!("texts/references/workspace-send.md")),
    ("references/workspace-reply.md", include_str!("texts/references/workspace-reply.md")),
    ("references/workspace-channel.md", include_str!("texts/references/workspace-channel.md")),
];

/// How our plugins ask postroom; they begin with it.
const ASK: &str = include_str!("texts/ask.js");

const DISPATCH: &str = include_str!("texts/workflow-dispatch.md");

/// The text of a file that is wholly ours, by its word in the table of programs.
pub fn whole(word: &str) -> String {
    match word {
        "workflow-dispatch.md" => DISPATCH.to_owned(),
        "opencode-mailbox.md" => include_str!("texts/opencode-mailbox.md").to_owned(),
        "opencode.js" => plugin(include_str!("texts/opencode.js"), "opencode"),
        "copilot.mjs" => plugin(include_str!("texts/copilot.mjs"), "copilot"),
        "codex.rules" => include_str!("texts/codex.rules").to_owned(),
        "gemini-policy.toml" => include_str!("texts/gemini-policy.toml").to_owned(),
        "gemini-workflow-dispatch.toml" => dispatch_for_gemini(),
        "plugin.json" => plugin_of("{}"),
        "codex-plugin.json" => plugin_of(r#"{"skills":"./skills/"}"#),
        "gemini-extension.json" => {
            plugin_of(r#"{"mcpServers":{"postroom":{"command":"{postroom}","args":["mcp"]}}}"#)
        }
        "copilot-plugin.json" => plugin_of(
            r#"{"skills":"skills/","hooks":"hooks.json","mcpServers":".mcp.json","extensions":"extensions/"}"#,
        ),
        _ => String::new(),
    }
}

/// The description of the plugin of one start, with these members.
fn plugin_of(members: &str) -> String {
    let mut all = serde_json::json!({
        "name": "postroom",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Mail between agent sessions, for one start of this program",
    });
    if let (Some(all), Ok(Value::Object(more))) = (all.as_object_mut(), serde_json::from_str(members)) {
        all.extend(more);
    }
    format!("{all:#}\n")
}

/// A plugin: its first comment, how it asks, and the rest.
fn plugin(text: &str, program: &str) -> String {
    let code = text.lines().take_while(|line| line.starts_with("//")).map(|line| line.len() + 1).sum();
    let (comment, rest) = text.split_at(code);
    format!("{comment}{}\n{rest}", ASK.replace("{program}", program))
}

/// The dispatch command for Gemini, which has no frontmatter.
fn dispatch_for_gemini() -> String {
    let (head, body) = DISPATCH.trim_start_matches("---\n").split_once("\n---\n").unwrap_or(("", DISPATCH));
    let about = head.lines().find_map(|line| line.strip_prefix("description: ")).unwrap_or_default();
    format!(
        "description = \"{about}\"\nprompt = '''\n{}'''\n",
        body.trim_start().replace("$ARGUMENTS", "{{args}}")
    )
}

#[cfg(test)]
mod tests {
    use super::super::programs::{Content, PROGRAMS};
    use super::*;

    #[test]
    fn the_resident_part_and_each_page_are_small() {
        let (_, skill) = SKILL[0];
        let resident: usize = skill
            .lines()
            .filter(|line| line.starts_with("name: ") || line.starts_with("description: "))
            .map(|line| line.len() + 1)
            .sum();
        assert!((100..480).contains(&resident), "{resident}");
        // A model reads all of it for the five basic flows.
        assert!(skill.len() <= 2400, "{}", skill.len());
        for flow in ["setup", "check", "send", "reply", "wait"] {
            assert!(skill.contains(&format!("\n## {flow}\n")), "{flow}");
        }
        for (path, text) in &SKILL[1..] {
            assert!((300..2000).contains(&text.len()), "{path}: {}", text.len());
            let flow = path.trim_start_matches("references/").trim_end_matches(".md");
            assert!(skill.contains(flow) && text.starts_with(&format!("# {flow}\n")), "{flow}");
        }
    }

    #[test]
    fn every_file_of_the_table_has_its_text() {
        for file in PROGRAMS.iter().flat_map(|p| p.user.iter().chain(p.project).chain(p.launch.files)) {
            if let Content::Whole(word) = file.content {
                assert!(!whole(word).is_empty(), "{word}");
            }
        }
        let command: toml::Table = toml::from_str(&dispatch_for_gemini()).unwrap();
        assert!(command["prompt"].as_str().unwrap().contains("{{args}}"));
        assert!(command["description"].as_str().unwrap().contains("poll"));
    }
}
