//! Gemini CLI.

use super::{SERVER, file, hook};
use crate::agents::program::{
    Argument, Content, Context, Entry, Event, Hold, Launch, Position, Program, Resume, Wake,
};

const MILLISECONDS: &str = r#"{"hooks":[{"type":"command","command":{command},"timeout":10000}]}"#;

const SETTINGS: Content = Content::Commented(&[
    Entry::Hooks("hooks"),
    Entry::WithServer(&Entry::Put { at: &["mcpServers"], key: "postroom", value: SERVER }),
]);

// Extensions are read from the home alone; its settings for a whole machine must belong to root. The hooks of this one do
// nothing in other sessions.
const LAUNCH: Launch = Launch {
    files: &[
        file("{start}/policy.toml", Content::Whole("gemini-policy.toml")),
        file("{config}/extensions/postroom/gemini-extension.json", Content::Whole("gemini-extension.json")),
        file("{config}/extensions/postroom/hooks/hooks.json", Content::Hooks(r#"{"hooks":{hooks}}"#)),
        file("{config}/extensions/postroom/skills/mailbox", Content::Skill),
    ],
    // The first one alone would take the place of the person's own policies.
    arguments: &[
        Argument::Kit(&["--policy={start}/policy.toml"]),
        Argument::Unless("--policy", &["--policy={config}/policies"]),
    ],
    position: Position::End,
    variables: &[],
    commands: &["extension", "extensions", "gemma", "hook", "hooks", "mcp", "skill", "skills"],
    headless: &[],
    resume: Resume::Option("--resume"),
    resumes: &["-r", "--resume", "--session-file"],
};

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
    login_shell: false,
    own_process: true,
    user: &[
        file("{config}/settings.json", SETTINGS),
        file("{config}/policies/postroom.toml", Content::Whole("gemini-policy.toml")),
        file("{home}/.agents/skills/mailbox", Content::Skill),
        file("{config}/commands/workflow-dispatch.toml", Content::Whole("gemini-workflow-dispatch.toml")),
    ],
    project: &[
        file("{project}/.gemini/settings.json", SETTINGS),
        file("{project}/.agents/skills/mailbox", Content::Skill),
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
    launch: LAUNCH,
    then: "gemini has no way to be woken when it is idle: it hears of mail at its next prompt. In tmux, `postroom install gemini \
        --type-into-tmux` (or `postroom gemini --type-into-tmux`, for one start) allows one fixed line to be typed for it",
};
