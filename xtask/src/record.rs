//! The recording at the top of README.md: two real agent programs exchange mail in a real terminal.
//!
//! `cargo xtask record` starts Claude Code and Codex in two panes of tmux (stage.rs), types what a person would type, and
//! looks at the terminal until the story is over. What it has seen (cells.rs, film.rs) becomes docs/recording.svg (svg.rs).
//! Only the models are a stand-in, so that it costs nothing and tells the same story every time: their part is here.

mod cells;
mod film;
#[allow(dead_code, reason = "some of it is for the tests alone")]
#[path = "../../tests/cli/support/programs.rs"]
mod programs;
mod shapes;
pub(crate) mod shots;
mod stage;
mod svg;

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::repo::Repo;
use film::Film;
use stage::{PROJECT, SAMPLE, Stage, appears};
use svg::Words;

/// Who takes part, from left to right. `start` is typed.
const AGENTS: [Agent; 2] = [
    Agent { who: "alice · Claude Code", start: "postroom claude --as alice", ready: "? for shortcuts" },
    Agent { who: "bob · Codex", start: "postroom codex --as bob", ready: "? for shortcuts" },
];

/// For bob: Codex can be woken from its first prompt on, Claude Code before that.
const PROMPT: &str = "ask alice to review src/parse.rs";

struct Agent {
    who: &'static str,
    start: &'static str,
    /// What is on its screen once it waits for a prompt.
    ready: &'static str,
}

const FILE: (&str, &str) = (
    "src/parse.rs",
    "/// The number before the colon: `12:` is 12.\npub fn length(text: &str) -> Option<u32> {\n    let mut sum = 0;\n    \
     for digit in text.split(':').next()?.chars() {\n        sum = sum * 10 + digit.to_digit(10)?;\n    }\n    \
     Some(sum)\n}\n",
);

const ALICE_ENDS: &str = "Bob has my review.";
const BOB_ENDS: &str =
    "Alice's review: line 5 overflows if the number is too long. I will use checked_mul there.";

/// What the models say, each after the time that one takes to think.
fn script() -> serde_json::Value {
    let think = 1100;
    json!([
        {"has": PROMPT, "turns": [
            {"pause": think, "shell": "postroom send alice -m 'Review src/parse.rs.'"},
            {"pause": think, "text": "Alice has the request. I go on when her answer comes."},
            {"pause": think, "shell": "postroom read"},
            {"pause": think, "text": BOB_ENDS},
        ]},
        {"has": "", "turns": [
            {"pause": think, "shell": "postroom read"},
            {"pause": think, "shell": "cat src/parse.rs"},
            {"pause": think, "shell": "postroom reply {{quoted data):\\n}} -m 'Line 5 overflows.'"},
            {"pause": think, "text": ALICE_ENDS},
        ]},
    ])
}

const OUTPUT: &str = "docs/recording.svg";
const COLUMNS: usize = 113;
const ROWS: usize = 28;
const KEY: Duration = Duration::from_millis(45);

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(argument) = args.first() {
        return Err(format!("`cargo xtask record` takes no argument such as `{argument}`"));
    }
    let repo = Repo::open()?;
    let mut stage = Stage::set(&repo, FILE, &script())?;
    stage.prepare("git init --quiet")?;
    stage.open()?;
    let film = play(&stage)?;
    stage.clear()?;

    let words = Words {
        title: "Claude Code and Codex exchange mail",
        description: "In the right terminal, a person asks bob, a Codex session, to have alice review a file. Bob runs postroom \
             send. In the left terminal alice, an idle Claude Code session, is woken, reads the mail and the file, and \
             answers with postroom reply. Bob is woken and shows the answer.",
    };
    let picture = svg::draw(&film, sides(), &words);
    let path = repo.root.join(OUTPUT);
    fs::write(&path, &picture).map_err(|e| format!("{}: {e}", path.display()))?;
    let (frames, length) = (film.frames.len(), film.length().as_secs_f64());
    println!("    {OUTPUT}: {frames} frames, {length:.1} s, {} KB", picture.len() / 1000);
    Ok(())
}

/// The columns of both panes; the border is between them.
fn sides() -> [std::ops::Range<usize>; 2] {
    let half = COLUMNS / 2;
    [0..half, half + 1..COLUMNS]
}

/// The story.
fn play(stage: &Stage) -> Result<Film, String> {
    let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
    stage.tmux(&["new-session", "-d", "-c", PROJECT, "-s", "mail", "-x", &columns, "-y", &rows])?;
    stage.tmux(&["split-window", "-h", "-c", PROJECT, "-t", "mail"])?;
    for (pane, agent) in AGENTS.iter().enumerate() {
        stage.tmux(&["set", "-p", "-t", &format!("mail.{pane}"), "@who", agent.who])?;
    }
    stage.tmux(&["select-pane", "-t", "mail.0"])?;
    // A terminal that shows the terminal: only so its borders are seen.
    let attach = "env -u TMUX tmux -u -S /srv/tmux.sock attach -t mail";
    stage.tmux(&["new-session", "-d", "-c", PROJECT, "-s", "seen", "-x", &columns, "-y", &rows, attach])?;
    stage.tmux(&["set", "-w", "-t", "seen", "pane-border-status", "off"])?;
    for pane in ["mail.0", "mail.1", "seen"] {
        stage.until(pane, "~/parser $", None)?;
    }

    let mut camera = Camera { stage, film: Film::default(), start: Instant::now() };
    camera.rest(Duration::from_millis(800))?;
    for (pane, agent) in AGENTS.iter().enumerate() {
        camera.type_into(pane, agent.start)?;
    }
    for (pane, agent) in AGENTS.iter().enumerate() {
        camera.until(pane, agent.ready)?;
    }
    camera.rest(Duration::from_millis(500))?;
    camera.type_into(1, PROMPT)?;
    camera.until(0, ALICE_ENDS)?;
    camera.until(1, BOB_ENDS)?;
    camera.rest(Duration::from_millis(1000))?;
    camera.film.hold(Duration::from_secs(4));
    Ok(camera.film)
}

/// Looks at the terminal while something happens.
struct Camera<'a> {
    stage: &'a Stage,
    film: Film,
    start: Instant,
}

impl Camera<'_> {
    fn look(&mut self) -> Result<(), String> {
        let screen = self.stage.screen("seen")?;
        self.film.add(self.start.elapsed(), screen);
        Ok(())
    }

    fn rest(&mut self, time: Duration) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < time {
            self.look()?;
            std::thread::sleep(SAMPLE);
        }
        Ok(())
    }

    /// Types a line as a person does, and sends it.
    fn type_into(&mut self, pane: usize, line: &str) -> Result<(), String> {
        let target = format!("mail.{pane}");
        self.stage.tmux(&["select-pane", "-t", &target])?;
        for key in line.chars() {
            self.stage.tmux(&["send-keys", "-t", &target, "-l", &key.to_string()])?;
            std::thread::sleep(KEY);
            self.look()?;
        }
        self.until(pane, line)?;
        self.rest(Duration::from_millis(400))?;
        self.stage.tmux(&["send-keys", "-t", &target, "Enter"]).map(drop)
    }

    fn until(&mut self, pane: usize, text: &str) -> Result<(), String> {
        appears(text, || {
            self.look()?;
            let screen = self.film.frames.last().map(|frame| frame.screen.part(sides()[pane].clone()));
            Ok(screen.map(|screen| screen.words()).unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording() -> String {
        fs::read_to_string(crate::repo::root().unwrap().join(OUTPUT)).unwrap()
    }

    /// Each opening tag has its end, and `&` begins an entity.
    #[test]
    fn the_recording_is_well_formed() {
        let text = recording();
        let mut open = vec![];
        for tag in text.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').unwrap();
            let name = tag.split([' ', '\n']).next().unwrap();
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None if tag.ends_with('/') => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
        for entity in text.split('&').skip(1) {
            assert!(
                ["amp;", "lt;", "gt;", "quot;"].iter().any(|known| entity.starts_with(known)),
                "{entity:.20}"
            );
        }
    }

    #[test]
    fn the_recording_tells_the_story_and_names_nothing_of_a_machine() {
        let text = recording();
        for told in ["role=\"img\"", "prefers-reduced-motion", "postroom", "Line 5 overflows."] {
            assert!(text.contains(told), "{told}");
        }
        for path in ["/tmp", "/srv", "/home", "/root", "/usr", "/var", "127.0.0.1", "<script", "url("] {
            assert!(!text.contains(path), "{path}");
        }
        assert!(text.len() < 300_000, "{}", text.len());
    }
}
