//! Copilot CLI.

use super::{file, hook};
use crate::agents::program::{Content, Context, Entry, Event, Hold, Program, Wake};

const SINGLE: &str = r#"{"type":"command","command":{command},"timeoutSec":10}"#;

pub(super) const PROGRAM: Program = Program {
    word: "copilot",
    title: "Copilot CLI",
    tested: [1, 0, 102],
    config: ("COPILOT_HOME", ".copilot"),
    hooks: &[
        hook(Event::Start, "SessionStart", SINGLE),
        hook(Event::Prompt, "UserPromptSubmit", SINGLE),
        hook(Event::ToolEnd, "PostToolUse", SINGLE),
        hook(Event::Stop, "Stop", SINGLE),
        hook(Event::End, "SessionEnd", SINGLE),
    ],
    context: Context::Top,
    hold: Hold::Block,
    wake: Wake::NextPrompt,
    session: Some("COPILOT_AGENT_SESSION_ID"),
    mark: None,
    process: None,
    attended: None,
    forbidden: "the sandbox of copilot forbids it; start copilot with --add-dir {root}",
    own_process: true,
    user: &[
        file("{config}/hooks/postroom.json", Content::Hooks(r#"{"version":1,"hooks":{hooks}}"#)),
        file(
            "{config}/mcp-config.json",
            Content::Json(&[Entry::Put {
                at: &["mcpServers"],
                key: "postroom",
                value: r#"{"type":"local","command":{postroom},"args":["mcp"],"tools":["*"]}"#,
            }]),
        ),
        file("{home}/.agents/skills/mailbox", Content::Skill),
        file("{home}/.agents/skills/workflow-dispatch/SKILL.md", Content::Whole("workflow-dispatch.md")),
    ],
    project: &[
        file("{project}/.github/hooks/postroom.json", Content::Hooks(r#"{"version":1,"hooks":{hooks}}"#)),
        file("{project}/.agents/skills/mailbox", Content::Skill),
        file("{project}/.agents/skills/workflow-dispatch/SKILL.md", Content::Whole("workflow-dispatch.md")),
    ],
    reads: &[
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        ".mcp.json",
        ".github/copilot-instructions.md",
        ".github/mcp.json",
        ".github/agents/",
        ".github/extensions/",
        ".github/hooks/",
        ".github/instructions/",
        ".github/skills/",
        ".vscode/mcp.json",
        ".claude/skills/",
        ".agents/skills/",
    ],
    open: &["-i", "{prompt}"],
    probe: &[],
    then: "copilot keeps no rules in a file: start it with --allow-tool 'shell(postroom:*)' --allow-tool postroom",
};
