//! A realistic room for tests and pictures of the web page: eight agents, three workflows, two hundred messages over a day.
//!
//! ```text
//! scene ROOT PROJECT    makes the room and the settings of its agents, prints `ready`, and holds the runs that go on until
//!                       its input ends
//! ```
//!
//! Everything but ids and the present time comes from a fixed seed, so two pictures differ only where the page does.
#![allow(clippy::disallowed_methods, reason = "a program of its own, which is not part of Postroom")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "it serves tests")]

mod crew;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use crew::{AGENTS, Dice, LETTERS, TRANSCRIPT};
use postroom::clock::{Clock, SystemClock, Timestamp};
use postroom::dispatch::runs::{Open, Run, RunState, Runs};
use postroom::mailbox::Folder;
use postroom::post::{Caller, Filter, LEASE, Letter, Me, NewMailbox, Outcome, Post};
use postroom::process::transcript::Tokens;
use postroom::workflow::carrier::Carrier;
use postroom::workflow::reading;
use postroom::workflow::start::{self, Beginning};
use postroom::workflow::templates::shipped;

/// A clock that goes through the last day.
#[derive(Debug)]
struct Past(Mutex<Timestamp>);

impl Clock for Past {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
    fn boot(&self) -> Duration {
        SystemClock.boot()
    }
    fn boot_id(&self) -> std::io::Result<String> {
        SystemClock.boot_id()
    }
    fn host(&self) -> String {
        SystemClock.host()
    }
}

struct Scene {
    root: PathBuf,
    clock: Arc<Past>,
    dice: Dice,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [root, project] = words.as_slice() else { panic!("scene ROOT PROJECT") };
    let start = SystemClock.now().minus(Duration::from_secs(86_000));
    let clock = Arc::new(Past(Mutex::new(start)));
    let mut scene = Scene { root: root.into(), clock, dice: Dice::new(42) };
    scene.hire(Path::new(project));
    scene.day();
    scene.workflows(Path::new(project));
    let open = scene.busy();
    scene.age_all();
    println!("ready");
    std::io::stdin().read_to_end(&mut vec![]).unwrap();
    drop(open);
}

/// The time that `20261118T101500Z` means.
fn compact(text: &str) -> Option<SystemTime> {
    let part = |from: usize, to: usize| text.get(from..to);
    let whole = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(9, 11)?,
        part(11, 13)?,
        part(13, 15)?
    );
    let seconds = u64::try_from(Timestamp::parse(&whole)?.seconds()).ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

impl Scene {
    fn post(&self) -> Post {
        Post::open_or_make(&self.root, Caller::default(), self.clock.clone()).unwrap()
    }

    fn me(&self, post: &Post, name: &str) -> Me {
        post.other(&post.addressee(name).unwrap()).unwrap()
    }

    fn wait(&self, seconds: u64) {
        let mut now = self.clock.0.lock().unwrap();
        *now = now.plus(Duration::from_secs(seconds)).min(SystemClock.now());
    }

    /// The mailboxes, and the settings of their programs.
    fn hire(&self, project: &Path) {
        let mut settings = String::new();
        for agent in AGENTS {
            let wanted = NewMailbox {
                name: Some(agent.name.to_owned()),
                about: Some(agent.about.to_owned()),
                program: Some(agent.preset.to_owned()),
                child: true,
                ..NewMailbox::default()
            };
            self.post().setup(&wanted).unwrap();
            settings += &format!("[agents.{}]\npreset = \"{}\"\n", agent.name, agent.preset);
        }
        for name in ["ann", "user"] {
            let person = NewMailbox { name: Some(name.to_owned()), child: true, ..NewMailbox::default() };
            self.post().setup(&person).unwrap();
        }
        std::fs::write(project.join("postroom.toml"), settings).unwrap();
    }

    /// Sends a letter, whose file is as old as it says.
    fn send(&self, from: &str, to: &str, subject: &str, body: &str) -> String {
        let post = self.post();
        let letter = Letter {
            to: vec![to.to_owned()],
            subject: Some(subject.to_owned()),
            body: body.to_owned(),
            ..Letter::default()
        };
        let receipt = post.send(&self.me(&post, from), &letter).unwrap().remove(0);
        assert!(matches!(receipt.outcome, Outcome::Queued), "{receipt:?}");
        let to = self.me(&post, to);
        self.age(&to.mailbox.path(Folder::Inbox, &receipt.file));
        receipt.id.to_string()
    }

    fn age(&self, file: &Path) {
        let seconds = u64::try_from(self.clock.now().seconds()).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
    }

    /// Gives every message the time in its name.
    fn age_all(&self) {
        for mailbox in std::fs::read_dir(&self.root).unwrap().flatten() {
            for folder in ["inbox", "archive", "failed"] {
                let Ok(files) = std::fs::read_dir(mailbox.path().join(folder)) else { continue };
                for file in files.flatten() {
                    let name = file.file_name().into_string().unwrap();
                    let Some(time) = name.get(..16).and_then(compact) else { continue };
                    std::fs::File::options()
                        .write(true)
                        .open(file.path())
                        .unwrap()
                        .set_modified(time)
                        .unwrap();
                }
            }
        }
    }

    /// Two hundred messages: most are worked on and answered, some fail, some still wait.
    fn day(&mut self) {
        for number in 0..100 {
            let pause = self.dice.below(900) + 110;
            self.wait(pause);
            let letter = &LETTERS[self.dice.below(LETTERS.len() as u64) as usize];
            let id = self.send(letter.from, letter.to, letter.subject, letter.body);
            if number > 90 && self.dice.below(10) < 6 {
                continue;
            }
            let pause = self.dice.below(90) + 2;
            self.wait(pause);
            let has_failed = self.dice.below(100) < 7;
            self.work(letter.to, &id, letter.answer, has_failed);
        }
    }

    /// An agent works on a message: a run, and an answer or a failure.
    fn work(&mut self, agent: &str, id: &str, answer: &str, has_failed: bool) {
        let post = self.post();
        let me = self.me(&post, agent);
        let claimed = post.claim(&me, None, Some(id), &Filter::default(), LEASE).unwrap().0.unwrap();
        let (runs, began) = (Runs::open(post.room()).unwrap(), self.clock.now());
        let open = runs.begin(began).unwrap();
        let took = self.dice.below(400) + 15;
        self.wait(took);
        let post = self.post();
        let held = post.held(&me, &claimed.token.to_string()).unwrap();
        let mut run = self.run(&open, agent, &me, &claimed.opened.message.envelope, began);
        (run.ended, run.file) = (self.clock.now().to_string(), claimed.opened.name.clone());
        if has_failed {
            post.fail(&me, &held, "the tests do not pass: 3 of 214 failed in parse::tests").unwrap();
            (run.state, run.why) = (RunState::Failed, "the tests do not pass: 3 of 214 failed".to_owned());
        } else {
            let letter = Letter { body: answer.to_owned(), ..Letter::default() };
            post.done(&me, &held, Some(letter)).unwrap();
            run.state = RunState::Done;
        }
        run.cost = Some(0.01 + self.dice.below(90) as f64 / 400.0);
        run.tokens = Some(Tokens {
            input: 9000 + self.dice.below(60_000),
            cached: 6000,
            output: 900 + self.dice.below(4000),
        });
        runs.record(&open.dir, &run).unwrap();
        runs.count_cost(me.id.as_str(), began, run.cost.unwrap()).unwrap();
        runs.close(open);
    }

    fn run(
        &self,
        open: &Open,
        agent: &str,
        me: &Me,
        envelope: &postroom::message::Envelope,
        began: Timestamp,
    ) -> Run {
        let preset = AGENTS.iter().find(|known| known.name == agent).map_or("claude", |known| known.preset);
        std::fs::write(open.dir.path().join("out"), if preset == "claude" { TRANSCRIPT } else { "" })
            .unwrap();
        let post = self.post();
        let record = serde_json::json!({
            "v": 1, "id": open.id, "mailbox": me.id.to_string(), "agent": agent, "message": envelope.id.to_string(),
            "file": "", "from": post.sender_shown(envelope), "thread": "t", "attempt": 1, "started": began.to_string(),
            "state": "running", "preset": preset,
        });
        serde_json::from_value(record).unwrap()
    }

    /// Three workflows: one is completed, one waits for the person, one is at work.
    fn workflows(&mut self, project: &Path) {
        let runs = [
            ("implement-review", vec![("task", "Add --json to `names`"), ("coder", "builder")], 3),
            ("plan-approve", vec![("task", "Move the index to SQLite"), ("coder", "builder")], 1),
            ("research-create", vec![("topic", "How other mail queues retry")], 1),
        ];
        for (name, inputs, answers) in runs {
            let text = shipped(name).unwrap();
            let definition = reading::parse(text, name).unwrap();
            let known: Vec<&str> = definition.inputs.iter().map(|input| input.name.as_str()).collect();
            let people = [
                ("researcher", "scout"),
                ("writer", "docs"),
                ("planner", "planner"),
                ("reviewer", "reviewer"),
            ];
            let people = people.into_iter().filter(|(key, _)| known.contains(key));
            let given: Vec<(String, String)> = inputs
                .into_iter()
                .chain(people)
                .filter(|(key, _)| known.contains(key))
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
            let inputs = postroom::workflow::inputs::resolve(&definition, &given).unwrap();
            let post = self.post();
            let project = project.to_owned();
            let beginning =
                Beginning { definition: &definition, text, inputs, project, tree: None, by: "ann" };
            let run = start::begin(&post, beginning).unwrap();
            self.carry(&run);
            for _ in 0..answers {
                self.wait(70);
                self.answer_run(&run);
                self.carry(&run);
            }
        }
    }

    fn carry(&self, run: &str) {
        let post = self.post();
        let runs = postroom::workflow::runs::Runs::existing(post.room()).unwrap().unwrap();
        Carrier::default().carry_in_turn(&post, &runs, run, &|_, _| Ok(())).unwrap();
    }

    /// The agent that a run has asked answers it.
    fn answer_run(&mut self, run: &str) {
        for agent in AGENTS {
            let post = self.post();
            let me = self.me(&post, agent.name);
            let found = post.check(&me, &Filter::default(), 50).unwrap();
            let asked = found.headers.iter().find(|header| header.envelope.extra("workflow") == Some(run));
            if let Some(asked) = asked {
                self.work(agent.name, &asked.envelope.id.to_string(), crew::RESULT, false);
                return;
            }
        }
    }

    /// Mail for the person, and three agents at work now.
    fn busy(&mut self) -> Vec<Open> {
        self.wait(86_400);
        let mut open = vec![];
        for (agent, subject, activity) in crew::AT_WORK {
            let id = self.send("planner", agent, subject, "Please do it.\n");
            let post = self.post();
            let me = self.me(&post, agent);
            let claimed = post.claim(&me, None, Some(&id), &Filter::default(), LEASE).unwrap().0.unwrap();
            let runs = Runs::open(post.room()).unwrap();
            let began = self.clock.now().minus(Duration::from_secs(30 + self.dice.below(200)));
            let one = runs.begin(began).unwrap();
            let mut run = self.run(&one, agent, &me, &claimed.opened.message.envelope, began);
            (run.activity, run.file) = (activity.to_owned(), claimed.opened.name.clone());
            runs.record(&one.dir, &run).unwrap();
            open.push(one);
        }
        open
    }
}
