//! The agent programs that `cargo xtask test` installs from the npm registry: the file of each, and what it needs so that it
//! talks to a stand-in for its models (tests/agents) without an account. `{PORT}` stands for the port of that.

use std::path::{Path, PathBuf};

/// One program: its file, what it needs in its environment, and the files of its home.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) file: PathBuf,
    pub(crate) environment: &'static [(&'static str, &'static str)],
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// The first file below that has this ending, in a directory whose name begins like this.
fn native(installed: &Path, scope: &str, begins: &str, ends: &[&str]) -> Option<PathBuf> {
    let list = std::fs::read_dir(installed.join(scope)).ok()?;
    let mut found: Vec<PathBuf> = list
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(begins))
        .flat_map(|entry| ends.iter().map(move |end| entry.path().join(end)))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found.into_iter().next()
}

pub(crate) fn claude(installed: &Path) -> Option<Program> {
    Some(Program {
        name: "claude",
        file: native(installed, "@anthropic-ai", "claude-code-linux", &["claude"])?,
        environment: &[
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:{PORT}"),
            ("ANTHROPIC_API_KEY", "none"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
        ],
        files: &[],
    })
}

pub(crate) fn codex(installed: &Path) -> Option<Program> {
    const CONFIG: &str = "model = \"gpt-5.5\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n\
        [model_providers.mock]\nname = \"mock\"\nbase_url = \"http://127.0.0.1:{PORT}/v1\"\nenv_key = \"MOCK_API_KEY\"\n\
        wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n[analytics]\nenabled = false\n";
    let ends = [
        "vendor/x86_64-unknown-linux-musl/bin/codex",
        "vendor/aarch64-unknown-linux-musl/bin/codex",
        "vendor/x86_64-unknown-linux-musl/codex/codex",
    ];
    Some(Program {
        name: "codex",
        file: native(installed, "@openai", "codex-linux", &ends)?,
        environment: &[("MOCK_API_KEY", "none")],
        files: &[(".codex/config.toml", CONFIG)],
    })
}

pub(crate) fn gemini(installed: &Path) -> Option<Program> {
    const SETTINGS: &str = "{\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}},\
        \"general\":{\"enableAutoUpdate\":false},\"privacy\":{\"usageStatisticsEnabled\":false}}";
    Some(Program {
        name: "gemini",
        file: Some(installed.join(".bin/gemini")).filter(|file| file.is_file())?,
        environment: &[("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:{PORT}"), ("GEMINI_API_KEY", "none")],
        files: &[(".gemini/settings.json", SETTINGS)],
    })
}

pub(crate) fn opencode(installed: &Path) -> Option<Program> {
    const CONFIG: &str = "{\"provider\":{\"mock\":{\"npm\":\"@ai-sdk/openai-compatible\",\"options\":\
        {\"baseURL\":\"http://127.0.0.1:{PORT}/v1\",\"apiKey\":\"none\"},\"models\":{\"m\":{\"name\":\"m\"}}}},\
        \"model\":\"mock/m\",\"small_model\":\"mock/m\"}";
    Some(Program {
        name: "opencode",
        file: native(installed, "", "opencode-linux", &["bin/opencode"])?,
        environment: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
        files: &[(".config/opencode/opencode.json", CONFIG)],
    })
}

pub(crate) fn copilot(installed: &Path) -> Option<Program> {
    Some(Program {
        name: "copilot",
        file: native(installed, "@github", "copilot-linux", &["copilot"])?,
        environment: &[
            ("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:{PORT}/v1"),
            // It blots the key out wherever it would print it, so this is no word that is looked for.
            ("COPILOT_PROVIDER_API_KEY", "a-key-of-nobody"),
            ("COPILOT_MODEL", "gpt-4.1"),
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_AUTO_UPDATE", "false"),
        ],
        files: &[],
    })
}
