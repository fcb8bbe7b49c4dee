//! Gemini CLI.

use super::{SERVER, file, hook};
use crate::agents::program::{Content, Context, Entry, Event, Hold, Program, Wake};

const MILLISECONDS: &str = r#"{"hooks":[{"type":"command","command":{command},"timeout":10000}]}"#;

const SETTINGS: Content = Content::Json(&[
    Entry::Hooks("hooks"),
    Entry::Put { at: &["mcpServers"], key: "postroom", value: SERVER },
]);

pub(super) const PROGRAM: Program = Program {
    word: "gemini",
    title: "Gemini CLI",
    tested: [0, 61, 0],
    config: ("", ".gemini"),
    hooks: &[
        hook(Event::Start, "SessionStart", MILLISECONDS),
        hook(Event::Prompt, "BeforeAgent", MILLISECONDS),
        hook(Event::ToolEnd, "AfterTool", MILLISECONDS),
        hook(Event::Stop, "AfterAgent", MILLISECONDS),
        hook(Event::End, "SessionEnd", MILLISECONDS),
    ],
    context: Context::Nested,
    hold: Hold::Block,
    wake: Wake::Typed,
    session: None,
    mark: Some("GEMINI_CLI"),
    process: None,
    attended: None,
    forbidden: "if a sandbox is set, allow writing to {root} in it",
    own_process: true,
    user: &[
        file("{config}/settings.json", SETTINGS),
        file("{config}/policies/postroom.toml", Content::Whole("gemini-policy.toml")),
        file("{home}/.agents/skills/mailbox", Content::Skill),
        file("{config}/commands/mailbox.toml", Content::Whole("gemini-mailbox.toml")),
        file("{config}/commands/workflow-dispatch.toml", Content::Whole("gemini-workflow-dispatch.toml")),
    ],
    project: &[
        file("{project}/.gemini/settings.json", SETTINGS),
        file("{project}/.agents/skills/mailbox", Content::Skill),
        file("{project}/.gemini/commands/mailbox.toml", Content::Whole("gemini-mailbox.toml")),
        file(
            "{project}/.gemini/commands/workflow-dispatch.toml",
            Content::Whole("gemini-workflow-dispatch.toml"),
        ),
    ],
    reads: &[
        "GEMINI.md",
        "AGENTS.md",
        ".env",
        ".gemini/.env",
        ".gemini/settings.json",
        ".gemini/system.md",
        ".gemini/agents/",
        ".gemini/commands/",
        ".gemini/extensions/",
        ".gemini/hooks/",
        ".gemini/policies/",
        ".gemini/skills/",
        ".agents/skills/",
    ],
    open: &["-i", "{prompt}"],
    probe: &["mcp", "list"],
    then: "gemini has no way to be woken when it is idle: it hears of mail at its next prompt. In tmux, `postroom install gemini \
        --type-into-tmux` allows one fixed line to be typed for it",
};
