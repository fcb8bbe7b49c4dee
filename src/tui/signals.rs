//! Signals, as bytes in a pipe: a new size, the end, and sleep.

use std::io::{self, PipeReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::{flag, low_level};

/// What a signal wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Resized,
    /// End, and exit as this signal would.
    End(i32),
    Sleep,
    /// It slept, and goes on.
    Awake,
}

#[derive(Debug)]
pub(super) struct Signals {
    pub(super) pipe: PipeReader,
    raised: Vec<(Signal, Arc<AtomicBool>)>,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        let (pipe, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let all = [
            (SIGWINCH, Signal::Resized),
            (SIGTERM, Signal::End(SIGTERM)),
            (SIGHUP, Signal::End(SIGHUP)),
            (SIGINT, Signal::End(SIGINT)),
            (SIGTSTP, Signal::Sleep),
            (SIGCONT, Signal::Awake),
        ];
        let mut raised = vec![];
        for (number, signal) in all {
            let is_raised = Arc::new(AtomicBool::new(false));
            // In this order: who sees the byte finds the flag.
            flag::register(number, Arc::clone(&is_raised))?;
            low_level::pipe::register(number, writer.try_clone()?)?;
            raised.push((signal, is_raised));
        }
        Ok(Self { pipe, raised })
    }

    /// What came since the last look, each once.
    pub(super) fn take(&mut self) -> Vec<Signal> {
        let mut bytes = [0; 64];
        while matches!(self.pipe.read(&mut bytes), Ok(1..)) {}
        let came = self.raised.iter().filter(|(_, is_raised)| is_raised.swap(false, Ordering::SeqCst));
        came.map(|(signal, _)| *signal).collect()
    }
}

/// Asks the others of this job to stop, as the key does by default: a script that started this must not wait for it.
pub(super) fn stop_others() {
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
}

/// Stops this process, as the signal does by default. Returns when it goes on.
pub(super) fn sleep() {
    let _ = low_level::emulate_default_handler(SIGTSTP);
}
