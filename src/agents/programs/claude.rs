//! Claude Code.

use super::{GROUP, PLUGIN_SERVER, SERVER, file, hook};
use crate::agents::program::{
    Argument, Content, Context, Entry, Event, Hold, Launch, Position, Program, Resume, Wake,
};

// It waits while the session works, so that its other hooks can tell it first (`Post::news_when_idle`).
const REWAKE: &str = r#"{"hooks":[{"type":"command","command":{command},"timeout":700,"asyncRewake":true}]}"#;

const HOOKS: Entry = Entry::Hooks("hooks");
const COMMAND: Entry = Entry::Add { at: &["permissions", "allow"], value: r#""Bash(postroom *)""# };
const TOOLS: Entry =
    Entry::WithServer(&Entry::Add { at: &["permissions", "allow"], value: r#""mcp__postroom""# });
const ROOMS: Entry = Entry::Add { at: &["permissions", "additionalDirectories"], value: "{root}" };

const LAUNCH: Launch = Launch {
    files: &[
        file("{start}/.claude-plugin/plugin.json", Content::Whole("plugin.json")),
        file("{start}/hooks/hooks.json", Content::Hooks(r#"{"hooks":{hooks}}"#)),
        file("{start}/.mcp.json", PLUGIN_SERVER),
        file("{start}/skills/mailbox", Content::Skill),
    ],
    // With `=`, because these options take every word that follows.
    arguments: &[
        Argument::Kit(&["--plugin-dir", "{start}"]),
        Argument::Kit(&["--allowedTools=Bash(postroom *),mcp__plugin_postroom_postroom"]),
        Argument::Kit(&["--add-dir={root}"]),
    ],
    position: Position::Front,
    variables: &[],
    commands: &[
        "agents",
        "attach",
        "auth",
        "auto-mode",
        "doctor",
        "gateway",
        "import",
        "install",
        "kill",
        "logs",
        "mcp",
        "plugin",
        "plugins",
        "purge",
        "respawn",
        "rm",
        "setup-token",
        "stop",
        "ultrareview",
        "update",
        "upgrade",
    ],
    headless: &[],
    resume: Resume::Option("--resume"),
    resumes: &["-c", "--continue", "-r", "--resume", "--from-pr", "--teleport"],
};

pub(super) const PROGRAM: Program = Program {
    word: "claude",
    title: "Claude Code",
    tested: [2, 1, 325],
    config: ("CLAUDE_CONFIG_DIR", ".claude"),
    hooks: &[
        hook(Event::Start, "SessionStart", GROUP),
        hook(Event::Mail, "SessionStart", REWAKE),
        hook(Event::Prompt, "UserPromptSubmit", GROUP),
        hook(Event::ToolEnd, "PostToolUse", GROUP),
        hook(Event::ToolEnd, "PostToolUseFailure", GROUP),
        hook(Event::Stop, "Stop", GROUP),
        hook(Event::Watch, "FileChanged", GROUP),
        hook(Event::Mail, "FileChanged", REWAKE),
        hook(Event::End, "SessionEnd", GROUP),
    ],
    context: Context::Nested,
    hold: Hold::Context,
    wake: Wake::Rewake,
    session: Some("CLAUDE_CODE_SESSION_ID"),
    mark: Some("CLAUDECODE"),
    process: Some("CLAUDE_PID"),
    attended: Some("CLAUDE_CODE_SESSION_ATTENDED"),
    forbidden: "if a sandbox is set, allow writing to {root} in it (claude --add-dir {root})",
    login_shell: false,
    own_process: true,
    user: &[
        file("{config}/settings.json", Content::Strict(&[HOOKS, COMMAND, TOOLS, ROOMS])),
        file(
            "{beside}/.claude.json",
            Content::Strict(&[Entry::WithServer(&Entry::Put {
                at: &["mcpServers"],
                key: "postroom",
                value: r#"{"type":"stdio","command":{postroom},"args":["mcp"],"env":{}}"#,
            })]),
        ),
        file("{config}/skills/mailbox", Content::Skill),
        file("{config}/commands/workflow-dispatch.md", Content::Whole("workflow-dispatch.md")),
    ],
    project: &[
        file("{project}/.claude/settings.json", Content::Strict(&[HOOKS, COMMAND, TOOLS])),
        file(
            "{project}/.mcp.json",
            Content::Strict(&[Entry::WithServer(&Entry::Put {
                at: &["mcpServers"],
                key: "postroom",
                value: SERVER,
            })]),
        ),
        file("{project}/.claude/skills/mailbox", Content::Skill),
        file("{project}/.claude/commands/workflow-dispatch.md", Content::Whole("workflow-dispatch.md")),
    ],
    reads: &[
        ".mcp.json",
        "CLAUDE.md",
        "CLAUDE.local.md",
        ".claude/CLAUDE.md",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/agents/",
        ".claude/commands/",
        ".claude/hooks/",
        ".claude/output-styles/",
        ".claude/rules/",
        ".claude/skills/",
    ],
    open: &["{prompt}"],
    launch: LAUNCH,
    then: "",
};
