//! Copilot CLI.

use super::{file, hook};
use crate::agents::program::{
    Argument, Content, Context, Entry, Event, Hold, Launch, Position, Program, Resume, Variable, Wake,
};

const SINGLE: &str = r#"{"type":"command","command":{command},"timeoutSec":10}"#;

const SERVER: Content = Content::Json(&[Entry::WithServer(&Entry::Put {
    at: &["mcpServers"],
    key: "postroom",
    value: r#"{"type":"local","command":{postroom},"args":["mcp"],"tools":["*"]}"#,
})]);

// It keeps its rules by repository, in the home of the user.
const PERMISSIONS: Content = Content::Json(&[
    Entry::Add {
        at: &["locations", "{project}", "tool_approvals"],
        value: r#"{"kind":"commands","commandIdentifiers":["postroom"]}"#,
    },
    Entry::WithServer(&Entry::Add {
        at: &["locations", "{project}", "tool_approvals"],
        value: r#"{"kind":"mcp","serverName":"postroom","toolName":null}"#,
    }),
]);

const LAUNCH: Launch = Launch {
    files: &[
        file("{start}/plugin.json", Content::Whole("copilot-plugin.json")),
        file("{start}/hooks.json", Content::Hooks(r#"{"version":1,"hooks":{hooks}}"#)),
        file("{start}/.mcp.json", SERVER),
        file("{start}/extensions/postroom/extension.mjs", Content::Whole("copilot.mjs")),
        file("{start}/skills/mailbox", Content::Skill),
    ],
    // An installation for the user brings no permission.
    arguments: &[
        Argument::Kit(&["--plugin-dir={start}"]),
        Argument::Always(&["--allow-tool=shell(postroom:*)", "--allow-tool=postroom"]),
    ],
    position: Position::Front,
    // `--experimental` would stay switched on in the person's settings.
    variables: &[Variable::Listed("COPILOT_CLI_ENABLED_FEATURE_FLAGS", "EXTENSIONS")],
    commands: &[
        "app",
        "completion",
        "config",
        "help",
        "init",
        "instruction",
        "login",
        "lsp",
        "mcp",
        "memories",
        "plugin",
        "sandbox",
        "sessions",
        "skill",
        "update",
        "version",
        "workflow",
    ],
    headless: &[],
    resume: Resume::Option("--resume"),
    resumes: &["-r", "--resume", "--continue", "--connect"],
};

pub(super) const PROGRAM: Program = Program {
    word: "copilot",
    title: "Copilot CLI",
    tested: [1, 0, 102],
    config: ("COPILOT_HOME", ".copilot"),
    hooks: &[
        hook(Event::Start, "SessionStart", SINGLE),
        hook(Event::Prompt, "UserPromptSubmit", SINGLE),
        hook(Event::ToolEnd, "PostToolUse", SINGLE),
        hook(Event::ToolEnd, "PostToolUseFailure", SINGLE),
        hook(Event::Stop, "Stop", SINGLE),
        hook(Event::End, "SessionEnd", SINGLE),
    ],
    context: Context::Top,
    hold: Hold::Block,
    wake: Wake::Plugin,
    session: Some("COPILOT_AGENT_SESSION_ID"),
    mark: None,
    process: None,
    attended: None,
    forbidden: "the sandbox of copilot forbids it; start copilot with --add-dir {root}",
    login_shell: false,
    own_process: true,
    user: &[
        file("{config}/hooks/postroom.json", Content::Hooks(r#"{"version":1,"hooks":{hooks}}"#)),
        file("{config}/mcp-config.json", SERVER),
        file("{config}/extensions/postroom/extension.mjs", Content::Whole("copilot.mjs")),
        file("{home}/.agents/skills/mailbox", Content::Skill),
        file("{home}/.agents/skills/workflow-dispatch/SKILL.md", Content::Whole("workflow-dispatch.md")),
    ],
    project: &[
        file("{project}/.github/hooks/postroom.json", Content::Hooks(r#"{"version":1,"hooks":{hooks}}"#)),
        file("{project}/.github/extensions/postroom/extension.mjs", Content::Whole("copilot.mjs")),
        file("{project}/.github/mcp.json", SERVER),
        file("{config}/permissions-config.json", PERMISSIONS),
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
    launch: LAUNCH,
    then: "copilot wakes an idle session only if it is started with --experimental. It keeps its rules by repository: \
        `postroom install copilot --project` there allows `postroom`, or start it with --allow-tool 'shell(postroom:*)' \
        --allow-tool postroom",
};
