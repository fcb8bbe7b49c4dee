//! Verification: what a program sees of an installation, according to the program itself. A file that was written proves
//! nothing: a program may not load it.
//!
//! No model is called, and no prompt is sent to one. Claude Code and Copilot CLI open an empty session for it, Codex its
//! server; Gemini CLI and OpenCode list what they loaded. Everything has a time limit, and no answer is a result too.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::codex_hooks::{self, trust_of};
use super::complaint::{Refusal, complaint, section};
use super::probe::{Said, Trust, question};
use super::programs::Program;
use super::talk::Talk;
use crate::message::visible;

/// The variable that asks our hook of a starting session to answer with its value, and to do nothing else.
pub const PROBE: &str = "POSTROOM_PROBE";

/// The name of the skill, as programs list it.
const SKILL: &str = "mailbox";

/// How often a server that is still starting is asked about, and the pause between.
const STARTING: (usize, Duration) = (40, Duration::from_millis(100));

/// What a program sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub hooks: Said,
    pub skill: Said,
    pub server: Said,
    /// Whether the hooks are trusted, if the program asks for that.
    pub trust: Option<Trust>,
}

impl Report {
    /// Nobody could be asked.
    pub const NOTHING: Self =
        Self { hooks: Said::Nothing, skill: Said::Nothing, server: Said::Nothing, trust: None };
}

/// Whom to ask, and where.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub spec: &'static Program,
    /// The file of the program.
    pub program: &'a Path,
    /// The project, or the home directory.
    pub place: &'a Path,
    pub is_project: bool,
}

impl Asked<'_> {
    /// What the program sees. `nonce`: what our hook is to answer.
    pub fn report(&self, nonce: &str) -> Report {
        match self.spec.word {
            "claude" => self.claude(nonce),
            "codex" => self.codex(),
            "gemini" => self.gemini(),
            "opencode" => self.opencode(),
            "copilot" => self.copilot(),
            _ => Report::NOTHING,
        }
    }

    /// The first of these settings that the program does not load as they are.
    pub fn refusal(&self, settings: &[&Path]) -> Option<Refusal> {
        let words: &[&str] = match self.spec.word {
            "claude" => &["doctor"],
            "codex" | "gemini" => &["mcp", "list"],
            "opencode" => &["debug", "config", "--pure"],
            _ => return None,
        };
        let output = self.question(words).output().ok()?;
        let said =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        // Claude Code lists its complaints and goes on; the others do not start.
        let said = match self.spec.word {
            "claude" => section(&said, "Invalid settings")?,
            _ if output.status.success() => return None,
            _ => said,
        };
        complaint(&said, settings).or_else(|| {
            // Codex does not name its one file of settings where a value is of the wrong kind.
            let (_, why) = said.split_once("failed to load bootstrap configuration")?;
            let path = settings.iter().find(|path| path.ends_with("config.toml"))?;
            let why = why.replace("Caused by:", "");
            let why: Vec<&str> = why.split_whitespace().collect();
            Some(Refusal { path: path.to_path_buf(), why: visible::clip(&why.join(" "), 300) })
        })
    }

    fn question(&self, words: &[&str]) -> Command {
        let mut command = question(self.program, words, self.place);
        if self.spec.word == "gemini" && !self.is_project {
            // In a folder that it does not trust it lists nothing. The home directory has only what is the user's own.
            command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        }
        command
    }

    /// What it prints, if it ends well.
    fn answer(&self, words: &[&str]) -> Option<String> {
        let output = self.question(words).output().ok().filter(|output| output.status.success())?;
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        Some(said).filter(|said| !said.trim().is_empty())
    }

    fn claude(&self, nonce: &str) -> Report {
        let words = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
        let mut command = self.question(&[&words[..], &["--no-session-persistence"]].concat());
        let mut report = Report::NOTHING;
        let Some(mut talk) = Talk::begin(command.env(PROBE, nonce)) else { return report };
        let ask = |id: &str, what: &str| json!({"type": "control_request", "request_id": id, "request": {"subtype": what}});
        talk.say(&ask("1", "initialize"));
        let mut answered = false;
        let mut asked = 0;
        while let Some(message) = talk.hear() {
            answered |= message["subtype"] == "hook_response"
                && message["output"].as_str().is_some_and(|output| output.contains(nonce));
            let answer = &message["response"];
            match answer["request_id"].as_str() {
                // The hooks of the start were called before.
                Some("1") => {
                    report.hooks = Said::of(answered, "none of them was called");
                    report.skill = Said::of(lists(&answer["response"]["commands"], SKILL), "");
                }
                Some("2") => {
                    report.server = server(&answer["response"]["mcpServers"]);
                    if report.server != starting() || asked == STARTING.0 {
                        break;
                    }
                    crate::mailbox::pause(STARTING.1);
                }
                _ => continue,
            }
            asked += 1;
            talk.say(&ask("2", "mcp_status"));
        }
        report
    }

    fn codex(&self) -> Report {
        let mut report = Report::NOTHING;
        let Some(mut talk) = codex_hooks::begin(&mut self.question(&["app-server"])) else { return report };
        let cwds = json!({"cwds": [self.place]});
        talk.say(&json!({"id": 2, "method": "hooks/list", "params": cwds}));
        talk.say(&json!({"id": 3, "method": "skills/list", "params": cwds}));
        let here = json!({"includeLayers": false, "cwd": self.place});
        talk.say(&json!({"id": 4, "method": "config/read", "params": here}));
        let mut left = 3;
        while left > 0 {
            let Some(message) = talk.hear() else { break };
            let result = &message["result"];
            match message["id"].as_u64() {
                Some(2) => {
                    let (open, all) = codex_hooks::counts(result);
                    report.hooks = Said::of(all > 0, &warnings(&message));
                    report.trust = Some(trust_of(open, all));
                }
                Some(3) => report.skill = Said::of(lists(&result["data"][0]["skills"], SKILL), ""),
                Some(4) => {
                    let known = result["config"]["mcp_servers"]["postroom"].is_object();
                    report.server = Said::of(known, &warnings(&message));
                }
                _ => continue,
            }
            left -= 1;
        }
        if report.trust.is_none() {
            report.trust = Some(Trust::Unknown("codex app-server did not answer".to_owned()));
        }
        report
    }

    fn gemini(&self) -> Report {
        let Some(said) = self.answer(&["skills", "list", "--debug"]) else { return Report::NOTHING };
        let untrusted = "it does not trust this folder";
        let why = if said.contains("folder is not trusted") { untrusted } else { "" };
        let loaded = said.split_once("Hook registry initialized with ");
        let count = loaded.and_then(|(_, rest)| rest.split(' ').next()?.parse::<usize>().ok());
        let Some(count) = count else { return Report::NOTHING };
        Report {
            hooks: Said::of(count >= self.spec.hooks.len(), why),
            skill: Said::of(said.contains(&format!("{SKILL} [Enabled]")), why),
            server: Said::of(said.contains("server 'postroom'"), why),
            trust: None,
        }
    }

    fn opencode(&self) -> Report {
        let document = |words: &[&str]| -> Option<Value> {
            let said = self.answer(words)?;
            let begins = said.find(['{', '['])?;
            serde_json::Deserializer::from_str(&said[begins..]).into_iter().next()?.ok()
        };
        // Without `--pure` it loads a package for plugins first, and waits a minute for it where no network is.
        let config = document(&["debug", "config", "--pure"]);
        let skills = document(&["debug", "skill", "--pure"]);
        let plugin = |config: Value| {
            let is_ours = |plugin: &Value| plugin.as_str().is_some_and(|path| path.ends_with("postroom.js"));
            config["plugin"].as_array().is_some_and(|plugins| plugins.iter().any(is_ours))
        };
        let server = config.as_ref().map(|config| config["mcp"]["postroom"].is_object());
        Report {
            hooks: config.map_or(Said::Nothing, |config| Said::of(plugin(config), "")),
            skill: skills.map_or(Said::Nothing, |skills| Said::of(lists(&skills, SKILL), "")),
            server: server.map_or(Said::Nothing, |known| Said::of(known, "")),
            trust: None,
        }
    }

    fn copilot(&self) -> Report {
        if let Some(said) = self.environment_of_copilot() {
            let part = |name: &str| section(&said, &format!("**{name}**")).unwrap_or_default();
            let line = |text: &str| text.lines().find(|line| line.contains("postroom")).map(str::to_owned);
            let server = line(&part("MCP Servers")).unwrap_or_default();
            return Report {
                hooks: Said::of(part("Hooks").contains("postroom.json"), ""),
                skill: Said::of(part("Skills").contains(&format!("- {SKILL} ")), ""),
                server: Said::of(server.contains("(connected)"), server.trim_start_matches("- ")),
                trust: None,
            };
        }
        // Without an account it opens no session, but lists two of the three.
        let lists = |words: &[&str], text: &str| {
            self.answer(words).map_or(Said::Nothing, |said| Said::of(said.contains(text), ""))
        };
        Report {
            skill: lists(&["skill", "list"], &format!(" {SKILL} - ")),
            server: lists(&["mcp", "list"], "postroom"),
            ..Report::NOTHING
        }
    }

    /// What Copilot CLI says about its own environment.
    fn environment_of_copilot(&self) -> Option<String> {
        let mut talk = Talk::begin(&mut self.question(&["--acp", "--stdio"]))?;
        let ask = |id: u32, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let files = json!({"fs": {"readTextFile": false, "writeTextFile": false}});
        talk.say(&ask(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": files})));
        talk.say(&ask(2, "session/new", json!({"cwd": self.place, "mcpServers": []})));
        let (mut knows, mut text, mut asked) = (false, String::new(), 0);
        let mut session = None;
        loop {
            let message = talk.hear()?;
            let update = &message["params"]["update"];
            // A prompt that is not its own command would go to a model.
            knows |= lists(&update["availableCommands"], "env");
            if let (Some(said), true) = (update["content"]["text"].as_str(), asked > 0) {
                text.push_str(said);
            }
            match message["id"].as_u64() {
                Some(2) => session = message["result"]["sessionId"].as_str().map(str::to_owned),
                Some(3) if text.contains("postroom (starting)") && asked < STARTING.0 => {
                    text.clear();
                    crate::mailbox::pause(STARTING.1);
                }
                Some(3) => return Some(text),
                _ => continue,
            }
            let session = session.as_deref().filter(|_| knows)?;
            let prompt = json!([{"type": "text", "text": "/env"}]);
            asked += 1;
            talk.say(&ask(3, "session/prompt", json!({"sessionId": session, "prompt": prompt})));
        }
    }
}

/// Whether a list has an object of this name.
fn lists(list: &Value, name: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|item| item["name"] == name))
}

fn starting() -> Said {
    Said::No("pending".to_owned())
}

/// The state of our server in a list of Claude Code.
fn server(list: &Value) -> Said {
    let mut servers = list.as_array().into_iter().flatten();
    match servers.find(|server| server["name"] == "postroom") {
        Some(server) if server["status"] == "connected" => Said::Yes,
        Some(server) => Said::No(visible::clip(server["status"].as_str().unwrap_or_default(), 60)),
        None => Said::No(String::new()),
    }
}

/// What Codex says went wrong.
fn warnings(message: &Value) -> String {
    let data = &message["result"]["data"][0];
    let texts = [&data["errors"][0]["message"], &data["warnings"][0], &message["error"]["message"]];
    visible::clip(texts.iter().find_map(|text| text.as_str()).unwrap_or_default(), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_others_are_not_counted() {
        let hook = |command: &str, status: &str| json!({"command": command, "trustStatus": status});
        let list = json!({"data": [{"hooks": [
            hook("postroom hook codex stop", "trusted"), hook("postroom hook codex prompt", "modified"), hook("x", "untrusted"),
        ]}]});
        assert_eq!(codex_hooks::counts(&list), (1, 2));
    }
}
