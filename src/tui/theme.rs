//! Colours: for a dark and a light background, and none at all. What a colour says is also said by a word or a sign.

use ratatui::style::{Color, Modifier, Style};

/// The colours of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Theme {
    Dark,
    Light,
    /// Without colours.
    #[default]
    Plain,
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Dim,
    Strong,
    Accent,
    Good,
    Bad,
    Warn,
    Work,
    Border,
    BorderFocus,
    Key,
    Code,
    Chosen,
    ChosenElsewhere,
    Bar,
}

impl Theme {
    pub(super) fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        let (bold, dim) = (Modifier::BOLD, Modifier::DIM);
        match (tone, self) {
            (Tone::Plain, _) => plain,
            (Tone::Strong, _) => plain.add_modifier(bold),
            (Tone::Chosen, Self::Plain) => plain.add_modifier(Modifier::REVERSED),
            (Tone::ChosenElsewhere, Self::Plain) => plain.add_modifier(Modifier::UNDERLINED),
            (Tone::Bar, Self::Plain) => plain.add_modifier(Modifier::REVERSED),
            (Tone::Dim | Tone::Border, Self::Plain) => plain.add_modifier(dim),
            (Tone::Key | Tone::BorderFocus | Tone::Bad | Tone::Warn, Self::Plain) => plain.add_modifier(bold),
            (_, Self::Plain) => plain,
            (Tone::Dim, Self::Dark) => plain.fg(Color::Indexed(245)),
            (Tone::Dim, Self::Light) => plain.fg(Color::Indexed(242)),
            (Tone::Accent | Tone::Key, Self::Dark) => plain.fg(Color::Indexed(80)),
            (Tone::Accent | Tone::Key, Self::Light) => plain.fg(Color::Indexed(24)),
            (Tone::Good, Self::Dark) => plain.fg(Color::Indexed(114)),
            (Tone::Good, Self::Light) => plain.fg(Color::Indexed(28)),
            (Tone::Bad, Self::Dark) => plain.fg(Color::Indexed(203)),
            (Tone::Bad, Self::Light) => plain.fg(Color::Indexed(160)),
            (Tone::Warn, Self::Dark) => plain.fg(Color::Indexed(221)),
            (Tone::Warn, Self::Light) => plain.fg(Color::Indexed(130)),
            (Tone::Work, Self::Dark) => plain.fg(Color::Indexed(111)),
            (Tone::Work, Self::Light) => plain.fg(Color::Indexed(26)),
            (Tone::Border, Self::Dark) => plain.fg(Color::Indexed(239)),
            (Tone::Border, Self::Light) => plain.fg(Color::Indexed(249)),
            (Tone::BorderFocus, Self::Dark) => plain.fg(Color::Indexed(80)),
            (Tone::BorderFocus, Self::Light) => plain.fg(Color::Indexed(24)),
            (Tone::Code, Self::Dark) => plain.fg(Color::Indexed(180)),
            (Tone::Code, Self::Light) => plain.fg(Color::Indexed(94)),
            (Tone::Chosen, Self::Dark) => plain.bg(Color::Indexed(24)).fg(Color::Indexed(231)),
            (Tone::Chosen, Self::Light) => plain.bg(Color::Indexed(153)).fg(Color::Indexed(16)),
            (Tone::ChosenElsewhere, Self::Dark) => plain.bg(Color::Indexed(237)),
            (Tone::ChosenElsewhere, Self::Light) => plain.bg(Color::Indexed(254)),
            (Tone::Bar, Self::Dark) => plain.bg(Color::Indexed(236)),
            (Tone::Bar, Self::Light) => plain.bg(Color::Indexed(254)),
        }
    }
}
