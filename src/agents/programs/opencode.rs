//! OpenCode.

use super::file;
use crate::agents::program::{
    Content, Context, Entry, Hold, Launch, Position, Program, Resume, Variable, Wake,
};

const COMMAND: Entry = Entry::Put { at: &["permission", "bash"], key: "postroom *", value: r#""allow""# };
const ROOMS: Entry =
    Entry::Put { at: &["permission", "external_directory"], key: "{root}/*", value: r#""allow""# };
// Its own tool for skills fails where ripgrep is missing; then the model reads the file.
const SKILL: Entry =
    Entry::Put { at: &["permission", "external_directory"], key: "{skill}/*", value: r#""allow""# };
const SERVER: Entry = Entry::WithServer(&Entry::Put {
    at: &["mcp"],
    key: "postroom",
    value: r#"{"type":"local","command":[{postroom},"mcp"],"enabled":true}"#,
});

const LAUNCH: Launch = Launch {
    files: &[
        file("{start}/postroom.js", Content::Whole("opencode.js")),
        file("{start}/skills/mailbox", Content::Skill),
    ],
    arguments: &[],
    position: Position::Front,
    // The plugin adds the rest: a permission here would take the place of the person's own.
    variables: &[Variable::Settings(
        "OPENCODE_CONFIG_CONTENT",
        &[Entry::Add { at: &["plugin"], value: r#""file://{start}/postroom.js""# }],
    )],
    commands: &[
        "acp",
        "agent",
        "attach",
        "auth",
        "completion",
        "db",
        "debug",
        "export",
        "github",
        "import",
        "mcp",
        "models",
        "plug",
        "plugin",
        "providers",
        "serve",
        "session",
        "stats",
        "uninstall",
        "upgrade",
        "web",
    ],
    headless: &["run"],
    resume: Resume::Option("--session"),
    resumes: &["-c", "--continue", "-s", "--session"],
};

pub(super) const PROGRAM: Program = Program {
    word: "opencode",
    title: "OpenCode",
    tested: [1, 18, 33],
    config: ("OPENCODE_CONFIG_DIR", ".config/opencode"),
    hooks: &[],
    context: Context::Plugin,
    hold: Hold::Context,
    wake: Wake::Plugin,
    // The program sets no such variable; our plugin does.
    session: Some("POSTROOM_OPENCODE_SESSION"),
    mark: Some("OPENCODE"),
    process: None,
    attended: None,
    forbidden: "opencode forbids it; allow \"external_directory\": {\"{root}/*\": \"allow\"} in its settings",
    login_shell: false,
    own_process: true,
    user: &[
        file("{config}/opencode.json", Content::Json(&[COMMAND, ROOMS, SKILL, SERVER])),
        file("{config}/plugin/postroom.js", Content::Whole("opencode.js")),
        file("{home}/.agents/skills/mailbox", Content::Skill),
        file("{config}/command/mailbox.md", Content::Whole("opencode-mailbox.md")),
        file("{config}/command/workflow-dispatch.md", Content::Whole("workflow-dispatch.md")),
    ],
    project: &[
        file("{project}/opencode.json", Content::Json(&[COMMAND, SERVER])),
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
    launch: LAUNCH,
    then: "",
};
