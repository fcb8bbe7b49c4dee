//! Cells that can be written to from anywhere: what is outside of the screen is not drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

/// A screen that is drawn on.
pub(in crate::tui) trait Canvas {
    /// How many columns there are from a cell on; none outside.
    fn columns_from(&self, x: u16, y: u16) -> u16;
    fn line(&mut self, x: u16, y: u16, line: &Line<'_>, width: u16);
    fn text(&mut self, x: u16, y: u16, text: &str, style: Style);
    fn paint(&mut self, area: Rect, style: Style);
}

impl Canvas for Buffer {
    fn columns_from(&self, x: u16, y: u16) -> u16 {
        if y < self.area.height { self.area.width.saturating_sub(x) } else { 0 }
    }

    fn line(&mut self, x: u16, y: u16, line: &Line<'_>, width: u16) {
        let width = width.min(self.columns_from(x, y));
        if width > 0 {
            self.set_line(x, y, line, width);
        }
    }

    fn text(&mut self, x: u16, y: u16, text: &str, style: Style) {
        let width = self.columns_from(x, y);
        if width > 0 {
            self.set_stringn(x, y, text, width.into(), style);
        }
    }

    fn paint(&mut self, area: Rect, style: Style) {
        self.set_style(area.intersection(self.area), style);
    }
}
