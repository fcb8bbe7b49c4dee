//! Codex.

use super::{GROUP, file, hook};
use crate::agents::program::{
    Argument, Content, Context, Entry, Event, Hold, Launch, Position, Program, Resume, Wake,
};

// Codex passes its servers only the variables listed here; without them they would use another room, without an
// identity.
const CODEX_SERVER: &str = r#"{"command":{postroom},"args":["mcp"],"env_vars":["POSTROOM_ROOT","XDG_STATE_HOME","CODEX_HOME","AGENT_MAILBOX_ID"]}"#;

const HOOKS: Content = Content::Strict(&[Entry::Hooks("hooks")]);

const ROOTS: [&str; 2] = ["sandbox_workspace_write", "writable_roots"];

const CONFIG: Content = Content::Toml(&[
    Entry::Add { at: &ROOTS, value: "{root}" },
    Entry::WithServer(&Entry::Put { at: &["mcp_servers"], key: "postroom", value: CODEX_SERVER }),
]);

// The skill is a plugin that nothing but these arguments enables. With `-c` and `--no-daemon` the session runs in this
// process, so that its environment is that of this start.
const LAUNCH: Launch = Launch {
    files: &[
        file(
            "{config}/plugins/cache/postroom-local/postroom/1.0.0/.codex-plugin/plugin.json",
            Content::Whole("codex-plugin.json"),
        ),
        file("{config}/plugins/cache/postroom-local/postroom/1.0.0/skills/mailbox", Content::Skill),
    ],
    arguments: &[
        Argument::Hooks,
        Argument::Skill(&["-c", r#"plugins={"postroom@postroom-local"={enabled=true}}"#]),
        Argument::Setting("mcp_servers.postroom", CODEX_SERVER),
        // Its shell would take the search path of a login.
        Argument::Kit(&["-c", "allow_login_shell=false"]),
        Argument::Writable("--add-dir", ROOTS),
        Argument::Attended(&["--no-daemon"]),
    ],
    position: Position::Front,
    variables: &[],
    commands: &[
        "a",
        "agents",
        "app-server",
        "apply",
        "archive",
        "cloud",
        "completion",
        "debug",
        "delete",
        "doctor",
        "exec-server",
        "features",
        "help",
        "login",
        "logout",
        "mcp",
        "migrate-nfs-db",
        "migrate-rollouts",
        "plugin",
        "queue",
        "remote-control",
        "sandbox",
        "unarchive",
        "update",
    ],
    headless: &["exec", "e", "review"],
    resume: Resume::Word("resume"),
    resumes: &["resume", "fork"],
};

pub(super) const PROGRAM: Program = Program {
    word: "codex",
    title: "Codex",
    tested: [0, 166, 0],
    config: ("CODEX_HOME", ".codex"),
    hooks: &[
        hook(Event::Start, "SessionStart", GROUP),
        hook(Event::Prompt, "UserPromptSubmit", GROUP),
        hook(Event::ToolEnd, "PostToolUse", GROUP),
        hook(Event::Stop, "Stop", GROUP),
        hook(Event::End, "SessionEnd", r#"{"hooks":[{"type":"command","command":{command},"timeout":3}]}"#),
    ],
    context: Context::Nested,
    hold: Hold::Block,
    wake: Wake::Queue,
    session: Some("CODEX_THREAD_ID"),
    mark: None,
    process: None,
    attended: None,
    // Seen in its read-only sandbox, where `--add-dir` does not help.
    forbidden: "write it as one plain command, `postroom … -m 'TEXT'`, which codex runs outside of its sandbox by the rule of \
        `postroom install codex`; a heredoc or a pipe stays inside",
    login_shell: true,
    // Its terminal sessions share one daemon.
    own_process: false,
    user: &[
        file("{config}/hooks.json", HOOKS),
        file("{config}/config.toml", CONFIG),
        file("{config}/rules/postroom.rules", Content::Whole("codex.rules")),
        file("{home}/.agents/skills/mailbox", Content::Skill),
        file("{home}/.agents/skills/workflow-dispatch/SKILL.md", Content::Whole("workflow-dispatch.md")),
    ],
    project: &[
        file("{project}/.codex/hooks.json", HOOKS),
        file("{project}/.codex/config.toml", CONFIG),
        file("{project}/.codex/rules/postroom.rules", Content::Whole("codex.rules")),
        file("{project}/.agents/skills/mailbox", Content::Skill),
        file("{project}/.agents/skills/workflow-dispatch/SKILL.md", Content::Whole("workflow-dispatch.md")),
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
    launch: LAUNCH,
    then: "codex skips hooks until you trust them: start codex once and choose to trust the hooks of postroom (/hooks shows them)",
};
