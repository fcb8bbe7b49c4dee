//! The frames of a recording: a screen, and for how long it is shown. A screen that did not change is one frame, and nothing
//! is shown longer than [`LONGEST`] unless it is held on purpose.

use std::time::Duration;

use super::cells::Screen;

/// A pause that is longer says nothing more.
const LONGEST: Duration = Duration::from_millis(1500);

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) screen: Screen,
    pub(crate) shown: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Film {
    pub(crate) frames: Vec<Frame>,
    last: Duration,
}

impl Film {
    /// Adds what was seen at a time since the beginning.
    pub(crate) fn add(&mut self, at: Duration, screen: Screen) {
        if let Some(frame) = self.frames.last_mut() {
            frame.shown = (frame.shown + at.saturating_sub(self.last)).min(LONGEST);
        }
        self.last = at;
        if self.frames.last().is_none_or(|frame| frame.screen != screen) {
            self.frames.push(Frame { screen, shown: Duration::ZERO });
        }
    }

    /// Shows the last frame for at least this long.
    pub(crate) fn hold(&mut self, time: Duration) {
        if let Some(frame) = self.frames.last_mut() {
            frame.shown = frame.shown.max(time);
        }
    }

    pub(crate) fn length(&self) -> Duration {
        self.frames.iter().map(|frame| frame.shown).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_frames_are_one_and_long_pauses_are_short() {
        let mut film = Film::default();
        for (at, text) in [(0, "a"), (100, "a"), (300, "b"), (9000, "c"), (9100, "c")] {
            film.add(Duration::from_millis(at), Screen::read(text));
        }
        film.hold(Duration::from_secs(3));
        let shown: Vec<_> = film.frames.iter().map(|frame| frame.shown.as_millis()).collect();
        assert_eq!(shown, [300, 1500, 3000]);
        assert_eq!(film.length(), Duration::from_millis(4800));
    }
}
