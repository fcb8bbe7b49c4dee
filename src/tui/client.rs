//! The loop: waits for a key, a signal or news from the threads, and draws what changed. Between those it makes no system call.

mod editor;

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::crew::Crew;
use super::draw::draw;
use super::ending::{End, Ended, LostDraft, PANICKED, guarded};
use super::event::Event;
use super::input::Input;
use super::memory::Memory;
use super::screen::{self, Screen};
use super::signals::{self, Signal, Signals};
use super::state::State;
use super::theme::Theme;
use super::update::{Effect, settle, update, wants};
use crate::desk::Desk;

/// How long the rest of a sequence may take. A lone escape is a key after it.
const ESCAPE: Timespec = Timespec { tv_sec: 0, tv_nsec: 25_000_000 };

/// How long a paste may be silent. A terminal that does not end one would swallow all keys.
const SILENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// How the client is started.
#[derive(Debug)]
pub struct Options {
    /// Why nobody may act; `None`: the desk has a person.
    pub looking_only: Option<String>,
    /// Without colours.
    pub is_plain: bool,
    /// The background is light, as far as the environment says.
    pub is_light: bool,
    /// The command of the person's editor.
    pub editor: String,
    /// Where it is remembered where the person was.
    pub memory: Option<PathBuf>,
}

struct Client {
    state: State,
    crew: Crew,
    screen: Screen,
    signals: Signals,
    input: Input,
    memory: Memory,
    root: PathBuf,
    editor: String,
    /// A signal that came while something else had the terminal.
    ending: Option<Ended>,
}

/// Runs the client until the person ends it.
pub fn run(desk: Desk, options: Options) -> io::Result<End> {
    let (root, room) = (desk.root.clone(), desk.own().to_owned());
    let theme = match options {
        Options { is_plain: true, .. } => Theme::Plain,
        Options { is_light: true, .. } => Theme::Light,
        _ => Theme::Dark,
    };
    let mut state = State::new(&room, Screen::size(), desk.clock.now(), theme);
    state.looking_only = options.looking_only;
    let mut memory = Memory::new(options.memory);
    memory.recall(&root, &mut state);
    memory.recall_draft(&root, &mut state);
    settle(&mut state);
    let mut crew = Crew::start(desk)?;
    crew.look(&root, wants(&state));
    let signals = Signals::new()?;
    screen::give_back_on_panic();
    let screen = Screen::new()?;
    crew.watch(&root)?;
    let mut client = Client {
        state,
        crew,
        screen,
        signals,
        input: Input::default(),
        memory,
        root,
        editor: options.editor,
        ending: None,
    };
    let how = guarded(|| client.turn());
    if let Ok(Ended::Signal(_)) = how {
        client.await_deeds();
    }
    client.memory.keep(&client.root, &client.state);
    let kept = client.memory.keep_draft(&client.root, &client.state);
    Ok(End { how, lost: kept.err().and_then(|why| LostDraft::of(&client.state, why)) })
}

/// What there is after a wait: input, news, signals.
struct Ready {
    typed: bool,
    woken: bool,
    signalled: bool,
}

impl Client {
    fn turn(&mut self) -> io::Result<Ended> {
        self.paint()?;
        loop {
            let mut events = vec![];
            let wait = match self.input.is_pasting() {
                true => Some(&SILENCE),
                false => self.input.is_open().then_some(&ESCAPE),
            };
            let Ready { typed, woken, signalled } = self.wait(wait)?;
            if signalled {
                for signal in self.signals.take() {
                    let ended = match signal {
                        Signal::End(number) => Some(Ended::Signal(number)),
                        Signal::Sleep => self.sleep()?,
                        Signal::Awake => self.come_back()?,
                        Signal::Resized => self.resize()?,
                    };
                    if let Some(ended) = ended {
                        return Ok(ended);
                    }
                }
            }
            if typed {
                let mut bytes = [0; 4096];
                match rustix::io::read(io::stdin(), &mut bytes) {
                    // The terminal has gone.
                    Ok(0) => return Ok(Ended::Signal(signal_hook::consts::SIGHUP)),
                    Ok(count) => events.extend(self.input.take(&bytes[..count])),
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    Err(Errno::IO) => return Ok(Ended::Signal(signal_hook::consts::SIGHUP)),
                    Err(e) => return Err(e.into()),
                }
            } else if wait.is_some() && !woken && !signalled {
                events.extend(self.input.end());
            }
            if woken {
                let mut bytes = [0; 4096];
                rustix::io::read(&self.crew.woken, &mut bytes)?;
                events.extend(self.crew.events.try_iter());
            }
            for event in events {
                if let Some(ended) = self.take(event)? {
                    return Ok(ended);
                }
            }
            self.paint()?;
        }
    }

    /// Takes in an event, with all that follows from it.
    fn take(&mut self, event: Event) -> io::Result<Option<Ended>> {
        for effect in update(&mut self.state, event) {
            if let Some(ended) = self.obey(effect)? {
                return Ok(Some(ended));
            }
        }
        Ok(None)
    }

    /// Takes the terminal over again, as large as it is now.
    fn come_back(&mut self) -> io::Result<Option<Ended>> {
        self.screen.enter()?;
        self.resize()
    }

    fn resize(&mut self) -> io::Result<Option<Ended>> {
        let (width, height) = Screen::size();
        self.take(Event::Resized(width, height))
    }

    /// Waits for input, news and signals.
    fn wait(&self, limit: Option<&Timespec>) -> io::Result<Ready> {
        let stdin = io::stdin();
        let mut all = [stdin.as_fd(), self.crew.woken.as_fd(), self.signals.pipe.as_fd()]
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match poll(&mut all, limit) {
            Ok(_) => {
                let [typed, woken, signalled] = all.map(|fd| !fd.revents().is_empty());
                Ok(Ready { typed, woken, signalled })
            }
            Err(Errno::INTR) => Ok(Ready { typed: false, woken: false, signalled: true }),
            Err(e) => Err(e.into()),
        }
    }

    fn paint(&mut self) -> io::Result<()> {
        let mut buffer = Screen::empty(self.state.size);
        let cursor = draw(&self.state, &mut buffer);
        self.screen.paint(buffer, cursor)
    }

    fn obey(&mut self, effect: Effect) -> io::Result<Option<Ended>> {
        match effect {
            Effect::Look => self.crew.look(&self.root, wants(&self.state)),
            Effect::Fetch(new) => self.crew.fetch(&self.root, wants(&self.state), new),
            Effect::Do(deed) => self.crew.perform(&self.root, deed),
            Effect::Edit(text) => {
                let text = self.edit(&text);
                self.come_back()?;
                self.take(Event::Edited(text))?;
                return Ok(self.ending.take());
            }
            Effect::Enter(room) => self.enter(&room)?,
            Effect::Redraw => self.screen.forget(),
            // A shell that could wake it would have given it a group of its own.
            Effect::Suspend if crate::os::is_with_session_leader() => {
                self.state.complain("there is no shell to go back to; q ends");
            }
            Effect::Suspend => {
                screen::give_back();
                signals::stop_others();
                return self.sleep();
            }
            Effect::Quit if self.keeps_draft() => return Ok(Some(Ended::Quit)),
            Effect::Quit => {}
            Effect::Fail => return Err(io::Error::other(PANICKED)),
        }
        Ok(None)
    }

    /// Whether the draft is on the disk, and so may leave the screen.
    fn keeps_draft(&mut self) -> bool {
        let kept = self.memory.keep_draft(&self.root, &self.state);
        if let Err(why) = &kept {
            self.state.complain(format!("your draft cannot be kept: {why}; c, then C-X, throws it away"));
        }
        kept.is_ok()
    }

    /// Waits for what is being done, so that a signal loses no letter. Another signal ends the wait.
    fn await_deeds(&mut self) {
        self.state.is_ending = true;
        while !self.state.doing.is_empty() {
            // The terminal may have gone.
            let _ = self.paint();
            let mut all = [self.crew.woken.as_fd(), self.signals.pipe.as_fd()]
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            let _ = poll(&mut all, None);
            let is_woken = !all[0].revents().is_empty();
            if self.signals.take().iter().any(|signal| matches!(signal, Signal::End(_))) {
                return;
            }
            if is_woken && rustix::io::read(&self.crew.woken, &mut [0; 4096]).is_err() {
                return;
            }
            for event in self.crew.events.try_iter() {
                match event {
                    Event::Told(told) => drop(super::told::take(&mut self.state, told)),
                    // It may be the thread that is waited for.
                    Event::Panicked => return,
                    _ => {}
                }
            }
        }
    }

    /// Serves another room. A draft stays in its own.
    fn enter(&mut self, room: &str) -> io::Result<()> {
        let Some(root) = self.crew.desk().root_of(room) else {
            let room = crate::message::visible::clip(room, 60);
            self.state.complain(format!("there is no room {room}"));
            return Ok(());
        };
        if !self.keeps_draft() {
            return Ok(());
        }
        self.memory.keep(&self.root, &self.state);
        let (size, now, theme) = (self.state.size, self.state.now, self.state.theme);
        let looking_only = self.state.looking_only.take();
        self.state = State { looking_only, ..State::new(room, size, now, theme) };
        self.root = root;
        self.memory.recall(&self.root, &mut self.state);
        self.memory.recall_draft(&self.root, &mut self.state);
        settle(&mut self.state);
        self.crew.look(&self.root, wants(&self.state));
        self.crew.watch(&self.root)
    }

    /// Back to the shell, until it brings this to the front again.
    fn sleep(&mut self) -> io::Result<Option<Ended>> {
        screen::give_back();
        signals::sleep();
        self.remember_end();
        let resized = self.come_back()?;
        Ok(self.ending.take().or(resized))
    }

    /// Takes the signals that came meanwhile; returns whether one of them is for sleep. What ends the client ends it afterwards.
    fn remember_end(&mut self) -> bool {
        let signals = self.signals.take();
        // An interrupt was meant for what had the terminal.
        let ends = |signal: &&Signal| matches!(signal, Signal::End(number) if *number != signal_hook::consts::SIGINT);
        if let Some(Signal::End(number)) = signals.iter().find(ends) {
            self.ending = Some(Ended::Signal(*number));
        }
        signals.contains(&Signal::Sleep)
    }
}
