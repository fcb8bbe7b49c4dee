//! The one table of agent programs: where each keeps its settings, which hooks it calls and which answers it accepts,
//! where it looks for skills, how its rules and its servers are written, and how an idle session of it is woken. Verified
//! with the versions named here; docs/integrations.md is the same for people.

pub use super::program::{Content, Context, Entry, Event, File, Hold, Hook, Program, Wake};

pub fn find(word: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.word == word)
}

const fn hook(event: Event, name: &'static str, entry: &'static str) -> Hook {
    Hook { event, name, entry }
}

const fn file(path: &'static str, content: Content) -> File {
    File { path, content }
}

const GROUP: &str = r#"{"hooks":[{"type":"command","command":{command},"timeout":10}]}"#;
const REWAKE: &str = r#"{"hooks":[{"type":"command","command":{command},"timeout":20,"asyncRewake":true}]}"#;
const MILLISECONDS: &str = r#"{"hooks":[{"type":"command","command":{command},"timeout":10000}]}"#;
const SINGLE: &str = r#"{"type":"command","command":{command},"timeoutSec":10}"#;
const SERVER: &str = r#"{"command":{postroom},"args":["mcp"]}"#;
// Codex hands its servers no variable that it was not told of: they would look into another room, as nobody.
const CODEX_SERVER: &str = r#"{"command":{postroom},"args":["mcp"],"env_vars":["POSTROOM_ROOT","XDG_STATE_HOME","AGENT_MAILBOX_ID"]}"#;

pub const PROGRAMS: [Program; 5] = [
    Program {
        word: "claude",
        title: "Claude Code",
        tested: [2, 1, 325],
        config: ("CLAUDE_CONFIG_DIR", ".claude"),
        hooks: &[
            hook(Event::Start, "SessionStart", GROUP),
            hook(Event::Prompt, "UserPromptSubmit", GROUP),
            hook(Event::ToolEnd, "PostToolUse", GROUP),
            hook(Event::ToolEnd, "PostToolUseFailure", GROUP),
            hook(Event::Stop, "Stop", GROUP),
            hook(Event::Mail, "FileChanged", REWAKE),
            hook(Event::End, "SessionEnd", GROUP),
        ],
        context: Context::Nested,
        hold: Hold::Context,
        wake: Wake::Rewake,
        tells_session: true,
        own_process: true,
        user: &[
            file(
                "{config}/settings.json",
                Content::Json(&[
                    Entry::Hooks("hooks"),
                    Entry::Add { at: &["permissions", "allow"], value: r#""Bash(postroom *)""# },
                    Entry::Add { at: &["permissions", "allow"], value: r#""mcp__postroom""# },
                    Entry::Add { at: &["permissions", "additionalDirectories"], value: "{root}" },
                ]),
            ),
            file(
                "{beside}/.claude.json",
                Content::Json(&[Entry::Put {
                    at: &["mcpServers"],
                    key: "postroom",
                    value: r#"{"type":"stdio","command":{postroom},"args":["mcp"],"env":{}}"#,
                }]),
            ),
            file("{config}/skills/mailbox", Content::Skill),
            file("{config}/commands/workflow-dispatch.md", Content::Whole("workflow-dispatch.md")),
        ],
        project: &[
            file(
                "{project}/.claude/settings.json",
                Content::Json(&[
                    Entry::Hooks("hooks"),
                    Entry::Add { at: &["permissions", "allow"], value: r#""Bash(postroom *)""# },
                    Entry::Add { at: &["permissions", "allow"], value: r#""mcp__postroom""# },
                ]),
            ),
            file(
                "{project}/.mcp.json",
                Content::Json(&[Entry::Put { at: &["mcpServers"], key: "postroom", value: SERVER }]),
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
        witness: &["mcp", "get", "postroom"],
        then: "",
    },
    Program {
        word: "codex",
        title: "Codex",
        tested: [0, 166, 0],
        config: ("CODEX_HOME", ".codex"),
        hooks: &[
            hook(Event::Start, "SessionStart", GROUP),
            hook(Event::Prompt, "UserPromptSubmit", GROUP),
            hook(Event::ToolEnd, "PostToolUse", GROUP),
            hook(Event::Stop, "Stop", GROUP),
            hook(
                Event::End,
                "SessionEnd",
                r#"{"hooks":[{"type":"command","command":{command},"timeout":3}]}"#,
            ),
        ],
        context: Context::Nested,
        hold: Hold::Block,
        wake: Wake::Queue,
        tells_session: true,
        // Its terminal sessions live in one daemon.
        own_process: false,
        user: &[
            file("{config}/hooks.json", Content::Json(&[Entry::Hooks("hooks")])),
            file(
                "{config}/config.toml",
                Content::Toml(&[
                    Entry::Add { at: &["sandbox_workspace_write", "writable_roots"], value: "{root}" },
                    Entry::Put { at: &["mcp_servers"], key: "postroom", value: CODEX_SERVER },
                ]),
            ),
            file("{config}/rules/postroom.rules", Content::Whole("codex.rules")),
            file("{home}/.agents/skills/mailbox", Content::Skill),
            file("{home}/.agents/skills/workflow-dispatch/SKILL.md", Content::Whole("workflow-dispatch.md")),
        ],
        project: &[
            file("{project}/.codex/hooks.json", Content::Json(&[Entry::Hooks("hooks")])),
            file(
                "{project}/.codex/config.toml",
                Content::Toml(&[
                    Entry::Add { at: &["sandbox_workspace_write", "writable_roots"], value: "{root}" },
                    Entry::Put { at: &["mcp_servers"], key: "postroom", value: CODEX_SERVER },
                ]),
            ),
            file("{project}/.codex/rules/postroom.rules", Content::Whole("codex.rules")),
            file("{project}/.agents/skills/mailbox", Content::Skill),
            file(
                "{project}/.agents/skills/workflow-dispatch/SKILL.md",
                Content::Whole("workflow-dispatch.md"),
            ),
        ],
        reads: &[
            "AGENTS.md",
            "AGENTS.override.md",
            ".codex/config.toml",
            ".codex/hooks.json",
            ".codex/agents/",
            ".codex/prompts/",
            ".codex/rules/",
            ".codex/skills/",
            ".agents/skills/",
        ],
        open: &["{prompt}"],
        witness: &["mcp", "get", "postroom"],
        then: "codex skips hooks until you trust them: start codex once and choose to trust the hooks of postroom (/hooks shows them)",
    },
    Program {
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
        wake: Wake::NextPrompt,
        tells_session: false,
        own_process: true,
        user: &[
            file(
                "{config}/settings.json",
                Content::Json(&[
                    Entry::Hooks("hooks"),
                    Entry::Put { at: &["mcpServers"], key: "postroom", value: SERVER },
                ]),
            ),
            file("{config}/policies/postroom.toml", Content::Whole("gemini-policy.toml")),
            file("{home}/.agents/skills/mailbox", Content::Skill),
            file("{config}/commands/mailbox.toml", Content::Whole("gemini-mailbox.toml")),
            file("{config}/commands/workflow-dispatch.toml", Content::Whole("gemini-workflow-dispatch.toml")),
        ],
        project: &[
            file(
                "{project}/.gemini/settings.json",
                Content::Json(&[
                    Entry::Hooks("hooks"),
                    Entry::Put { at: &["mcpServers"], key: "postroom", value: SERVER },
                ]),
            ),
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
        witness: &["mcp", "list"],
        then: "",
    },
    Program {
        word: "opencode",
        title: "OpenCode",
        tested: [1, 18, 33],
        config: ("OPENCODE_CONFIG_DIR", ".config/opencode"),
        hooks: &[],
        context: Context::Plugin,
        hold: Hold::Context,
        wake: Wake::Plugin,
        tells_session: true,
        own_process: true,
        user: &[
            file(
                "{config}/opencode.json",
                Content::Json(&[
                    Entry::Put { at: &["permission", "bash"], key: "postroom *", value: r#""allow""# },
                    Entry::Put {
                        at: &["permission", "external_directory"],
                        key: "{root}/*",
                        value: r#""allow""#,
                    },
                    Entry::Put {
                        at: &["mcp"],
                        key: "postroom",
                        value: r#"{"type":"local","command":[{postroom},"mcp"],"enabled":true}"#,
                    },
                ]),
            ),
            file("{config}/plugin/postroom.js", Content::Whole("opencode.js")),
            file("{home}/.agents/skills/mailbox", Content::Skill),
            file("{config}/command/mailbox.md", Content::Whole("opencode-mailbox.md")),
            file("{config}/command/workflow-dispatch.md", Content::Whole("workflow-dispatch.md")),
        ],
        project: &[
            file(
                "{project}/opencode.json",
                Content::Json(&[
                    Entry::Put { at: &["permission", "bash"], key: "postroom *", value: r#""allow""# },
                    Entry::Put {
                        at: &["mcp"],
                        key: "postroom",
                        value: r#"{"type":"local","command":[{postroom},"mcp"],"enabled":true}"#,
                    },
                ]),
            ),
            file("{project}/.opencode/plugin/postroom.js", Content::Whole("opencode.js")),
            file("{project}/.agents/skills/mailbox", Content::Skill),
            file("{project}/.opencode/command/mailbox.md", Content::Whole("opencode-mailbox.md")),
            file("{project}/.opencode/command/workflow-dispatch.md", Content::Whole("workflow-dispatch.md")),
        ],
        reads: &[
            "AGENTS.md",
            "CLAUDE.md",
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
            ".opencode/agent/",
            ".opencode/agents/",
            ".opencode/command/",
            ".opencode/commands/",
            ".opencode/mode/",
            ".opencode/modes/",
            ".opencode/plugin/",
            ".opencode/plugins/",
            ".opencode/skill/",
            ".opencode/skills/",
            ".opencode/tool/",
            ".opencode/tools/",
            ".claude/skills/",
            ".agents/skills/",
        ],
        open: &["--prompt", "{prompt}"],
        witness: &["mcp", "list"],
        then: "",
    },
    Program {
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
        tells_session: true,
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
            file(
                "{project}/.agents/skills/workflow-dispatch/SKILL.md",
                Content::Whole("workflow-dispatch.md"),
            ),
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
        witness: &[],
        then: "copilot keeps no rules in a file: start it with --allow-tool 'shell(postroom:*)' --allow-tool postroom",
    },
];
