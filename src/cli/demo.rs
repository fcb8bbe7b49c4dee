//! `postroom demo`: the whole job, done for real in a temporary room with this binary alone.
//!
//! Each act runs the commands that it shows and checks their effect. The agents of the last two acts are this binary
//! too: a role reads its prompt and prints its answer, as a model would.
#![allow(
    clippy::disallowed_methods,
    reason = "it starts and times real processes, in a directory for temporary files"
)]

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::stage::{Stage, wrong};
use crate::post::Filter;
use crate::trust::{Choice, Look, Store};

/// Show the whole job, for real, in a temporary room
///
/// Two agents, a durable send, a killed reader, a killed worker, three protocols, a dispatcher and a workflow: every
/// command is shown and run, and its effect is checked. Afterwards the room is removed.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Keep the room, to look into it
    #[arg(long)]
    keep: bool,
    /// Be one of the agents of the demo
    #[arg(long, value_name = "ROLE", hide = true)]
    play: Option<Role>,
}

/// A scripted agent.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Role {
    /// Claims a task and then hangs, until it is killed.
    Worker,
    Coder,
    Reviewer,
}

impl Verb for Demo {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        if let Some(role) = self.play {
            return role.play(context);
        }
        let mut stage = Stage::new(context)?;
        let played = stage.play();
        if let Some(signal) = stage.signal() {
            if self.keep {
                let _ = stage.tell_room();
            } else {
                stage.strike()?;
            }
            // Ends this process as the signal would have.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        // A room in which something went wrong has to be looked at.
        if self.keep || matches!(&played, Err(e) if !matches!(e, Fail::Output(_))) {
            let _ = stage.tell_room();
            return played;
        }
        stage.strike()?;
        played
    }
}

impl Role {
    fn play(self, context: &mut Context) -> Result<(), Fail> {
        let mut prompt = String::new();
        if matches!(self, Self::Worker) {
            let (post, me) = context.post_and_me()?;
            post.claim(&me, Some("tasks"), None, &Filter::default(), Duration::from_secs(1))?;
            context.output.line(&format!("{} has it", me.shown()));
            context.output.flush().map_err(Fail::Output)?;
        }
        std::io::stdin().read_to_string(&mut prompt).map_err(|e| wrong(e.to_string()))?;
        let answer = match self {
            Self::Worker => "",
            Self::Coder if prompt.contains("does not accept") => "Fixed: line 12 cannot overflow now.",
            Self::Coder => "Done: src/parse.rs has a parser.",
            Self::Reviewer if prompt.contains("cannot overflow now") => "Nothing to add.\nVERDICT: ACCEPT",
            Self::Reviewer => "Line 12 overflows.\nVERDICT: FIX",
        };
        context.output.line(answer);
        Ok(())
    }
}

impl Stage<'_> {
    fn play(&mut self) -> Result<(), Fail> {
        let start = Instant::now();
        self.say("1. Two agents, a mailbox each. Bob waits, at no cost, and wakes when Alice sends.")?;
        for name in ["alice", "bob", "tasks"] {
            self.run(&["setup", name, "--quiet"], "")?;
        }
        self.wake()?;
        self.say("2. A reader is killed half-way through a long message.")?;
        self.killed_reader()?;
        self.say(
            "3. A worker is killed while it holds a task. When its lease ends, the task is there again.",
        )?;
        self.killed_worker()?;
        self.say("4. Three protocols: a mailbox here, one in a workspace, one in a .claude tree.")?;
        self.protocols()?;
        self.say("5. A dispatcher starts an agent for waiting mail and carries its answer back.")?;
        self.dispatcher()?;
        self.say("6. A workflow: implement, review, fix. The review rejects once.")?;
        self.workflow()?;
        self.proof(start)
    }

    fn wake(&mut self) -> Result<(), Fail> {
        let mut waiting = self.start(&["--as", "bob", "wait", "--timeout", "30"])?;
        Self::until_watching(&mut waiting)?;
        let text = "The parser is done. Please review src/parse.rs.\n";
        self.run(&["--as", "alice", "send", "bob", "-s", "parser review"], text)?;
        let headers = self.finish(waiting)?;
        self.show(&headers)?;
        let id = first_word(&headers);
        self.run(&["--as", "bob", "reply", id, "-m", "Line 12 overflows."], "")?;
        let unread = self.run(&["--as", "alice", "check"], "")?;
        self.expect(
            unread.contains(&format!("re={id}")),
            "the message was on disk before `send` said so, and its answer names it",
        )
    }

    fn killed_reader(&mut self) -> Result<(), Fail> {
        let long = "All work and no mail makes a dull agent.\n".repeat(8000);
        self.run(&["--as", "alice", "send", "bob", "-s", "a long story"], &long)?;
        let mut reader = self.start(&["--as", "bob", "read", "--full"])?;
        let mut some = [0u8; 4096];
        let got = reader.stdout.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut some));
        let got = got.map_err(|e| wrong(e.to_string()))?;
        self.kill(reader, &format!("{got} bytes were read, then kill -9"))?;
        let left = self.run(&["--as", "bob", "check"], "")?;
        self.expect(left.contains("a long story"), "the message is still unread")
    }

    fn killed_worker(&mut self) -> Result<(), Fail> {
        let sent =
            self.run(&["--as", "alice", "send", "tasks", "-m", "Count the lines of src/parse.rs"], "")?;
        self.prompt(&["--as", "bob", "claim", "--queue", "tasks", "--lease", "1s"], "")?;
        let mut worker = self.spawn(&["--as", "bob", "demo", "--play", "worker"])?;
        let got = worker.stdout.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut [0u8; 64]));
        got.map_err(|e| wrong(e.to_string()))?;
        self.kill(worker, "kill -9")?;
        let claim = ["--as", "bob", "claim", "--queue", "tasks"];
        self.prompt(&claim, "")?;
        let claimed = self.until_printed(&claim, Duration::from_secs(10))?;
        let notes =
            claimed.lines().filter(|line| line.starts_with("note: ") || line.starts_with("to finish: "));
        self.show(&notes.collect::<Vec<_>>().join("\n"))?;
        let token = claimed.split_once("claimed as ").map_or("", |(_, rest)| first_word(rest));
        self.run(&["--as", "bob", "done", token, "-m", "120 lines"], "")?;
        let answers = self.run(&["--as", "alice", "check", "--from", "bob"], "")?;
        let answered = answers.contains(&format!("re={}", id_of(&sent)));
        self.expect(claimed.contains("attempt 2") && answered, "the second worker finished it, once")
    }

    fn protocols(&mut self) -> Result<(), Fail> {
        let project = self.project();
        std::fs::create_dir_all(project.join("carol")).map_err(|e| wrong(e.to_string()))?;
        self.run(&["setup", "carol", "--workspace", "carol", "--quiet"], "")?;
        self.run(&["setup", "--tree", ".", "explore", "--quiet"], "")?;
        let (mut places, mut asked) = (vec![], String::new());
        for (from, to, text) in [
            ("alice", "carol", "Which parser is fastest?"),
            ("carol", "explore", "Alice asks which parser is fastest."),
        ] {
            asked = self.run(&["--as", from, "send", to, "-m", text], "")?;
            places.extend(self.unread_file(id_of(&asked)));
        }
        self.run(&["--as", "explore", "reply", id_of(&asked), "-m", "A recursive one."], "")?;
        let sent =
            self.run(&["--as", "carol", "send", "alice", "-m", "A recursive one, says explore."], "")?;
        places.extend(self.unread_file(id_of(&sent)));
        self.show(&places.join("\n"))?;
        let inboxes = ["/inbox/", ".mailbox", ".claude/inboxes"];
        let holds = inboxes.iter().all(|part| places.iter().any(|place| place.contains(part)));
        self.expect(holds, "each is one file, in the form that its reader knows")
    }

    fn dispatcher(&mut self) -> Result<(), Fail> {
        let project = self.project();
        let program = self.program.display().to_string();
        let mut settings = String::new();
        for role in ["coder", "reviewer"] {
            self.run(&["setup", "--child", role, "--quiet"], "")?;
            settings += &format!("[agents.{role}]\npreset = \"command\"\n");
            settings += &format!("command = [{program:?}, \"demo\", \"--play\", \"{role}\"]\n");
        }
        std::fs::write(project.join("postroom.toml"), settings).map_err(|e| wrong(e.to_string()))?;
        self.trust(&project)?;
        self.run(&["--as", "alice", "send", "coder", "-m", "Write a parser"], "")?;
        self.run(&["dispatch"], "")?;
        let answers = self.run(&["--as", "alice", "check", "--from", "coder"], "")?;
        self.expect(
            answers.contains("re="),
            "the answer came back, and no model ran to find out that mail waits",
        )
    }

    /// A person trusts agents with `postroom trust`. The demo decides for those it wrote, in settings of its own.
    fn trust(&self, project: &Path) -> Result<(), Fail> {
        let store = Store::new(&self.config());
        let choice = Choice::default();
        let agreed = || {
            let before = store.record(project)?;
            let items = Look::at(project).items()?;
            store.keep(project, &choice.agreed(&before, &items))
        };
        agreed().map_err(|e| wrong(e.to_string()))
    }

    fn workflow(&mut self) -> Result<(), Fail> {
        let run =
            ["--as", "alice", "workflow", "run", "implement-review", "--input", "task=a parser", "--follow"];
        let said = self.run(&run, "")?;
        self.expect(said.contains(" completed "), "it completed after one more round")
    }

    fn proof(&mut self, start: Instant) -> Result<(), Fail> {
        let log = self.output_of(&["log", "--limit", "1000"])?;
        let doctor = self.run(&["doctor", "--strict"], "")?;
        self.expect(doctor.is_empty(), "the doctor finds nothing to repair")?;
        let sent = log.lines().filter(|line| line.contains(" sent ")).count();
        self.say(&format!(
            "Proven in {:.1} s: {sent} messages in three protocols, a reader and a worker killed, two agents at work; \
             nothing lost, nothing done twice.",
            start.elapsed().as_secs_f64()
        ))
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The id in the receipt of `send`.
fn id_of(receipt: &str) -> &str {
    receipt.split(' ').nth(1).unwrap_or_default()
}
