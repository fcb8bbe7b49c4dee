//! Markdown of a message as lines for a terminal. Nothing of it is obeyed: controls are shown as text, raw HTML is text, and
//! a link says where it leads.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::theme::{Theme, Tone};
use super::wrap::fold;
use crate::message::visible;

/// The most of a text that is laid out.
const LIMIT: usize = 512 * 1024;

/// The lines of a body.
pub(super) fn render(body: &str, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let (body, rest) = body.split_at(body.floor_char_boundary(LIMIT));
    let body = visible::text(body);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page { theme, width: usize::from(width), ..Page::default() };
    for event in Parser::new_ext(&body, options) {
        page.take(event);
    }
    page.flush();
    while page.lines.last().is_some_and(|line| line.width() == 0) {
        page.lines.pop();
    }
    if !rest.is_empty() {
        let text = format!("… {} more bytes", rest.len());
        page.lines.push(Line::from(Span::styled(text, theme.style(Tone::Dim))));
    }
    page.lines
}

#[derive(Debug, Default)]
struct Page {
    theme: Theme,
    width: usize,
    lines: Vec<Line<'static>>,
    /// The line in the making.
    parts: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// What stands before each line: quotes and lists, with the number of the next item.
    nesting: Vec<Nest>,
    /// Stands before the first line of an item.
    bullet: Option<String>,
    code: bool,
    links: Vec<String>,
    /// The cells of a table, row by row.
    table: Option<Vec<Vec<String>>>,
}

#[derive(Debug)]
enum Nest {
    Quote,
    List(Option<u64>),
    Item(usize),
}

impl Page {
    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn tone(&self, tone: Tone) -> Style {
        self.theme.style(tone)
    }

    fn push_style(&mut self, style: Style) {
        let style = self.style().patch(style);
        self.styles.push(style);
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => self.code_lines(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => {
                let style = self.style().patch(self.tone(Tone::Code));
                self.styled(&text, style);
            }
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.flush();
                let rule = "─".repeat(self.width.min(40));
                self.lines.push(Line::from(Span::styled(rule, self.tone(Tone::Border))));
                self.blank();
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text)
            }
        }
    }

    fn text(&mut self, text: &str) {
        let style = self.style();
        self.styled(text, style);
    }

    fn styled(&mut self, text: &str, style: Style) {
        if let Some(cell) =
            self.table.as_mut().and_then(|rows| rows.last_mut()).and_then(|row| row.last_mut())
        {
            cell.push_str(&text.replace('\n', " "));
            return;
        }
        let mut lines = text.split('\n').peekable();
        while let Some(line) = lines.next() {
            if !line.is_empty() {
                self.parts.push(Span::styled(line.to_owned(), style));
            }
            if lines.peek().is_some() {
                self.flush();
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let add = |modifier| Style::new().add_modifier(modifier);
        match tag {
            Tag::Heading { level, .. } => {
                self.flush();
                let style = self.tone(Tone::Accent).add_modifier(Modifier::BOLD);
                let style =
                    if level == HeadingLevel::H1 { style.add_modifier(Modifier::UNDERLINED) } else { style };
                self.push_style(style);
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.nesting.push(Nest::Quote);
                self.push_style(self.tone(Tone::Dim));
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.code = true;
                if let CodeBlockKind::Fenced(word) = kind
                    && !word.is_empty()
                {
                    let word = Span::styled(visible::clip(&word, 40), self.tone(Tone::Dim));
                    self.parts.push(word);
                    self.flush();
                }
            }
            Tag::List(first) => {
                self.flush();
                self.nesting.push(Nest::List(first));
            }
            Tag::Item => {
                self.flush();
                let bullet = match self.nesting.iter_mut().rev().find_map(|nest| match nest {
                    Nest::List(number) => Some(number),
                    _ => None,
                }) {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.nesting.push(Nest::Item(bullet.chars().count()));
                self.bullet = Some(bullet);
            }
            Tag::Emphasis => self.push_style(add(Modifier::ITALIC)),
            Tag::Strong => self.push_style(add(Modifier::BOLD)),
            Tag::Strikethrough => self.push_style(add(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
                self.push_style(self.tone(Tone::Accent).add_modifier(Modifier::UNDERLINED));
            }
            Tag::Table(_) => {
                self.flush();
                self.table = Some(vec![]);
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(rows) = &mut self.table {
                    rows.push(vec![]);
                }
            }
            Tag::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|rows| rows.last_mut()) {
                    row.push(String::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                if !self.nesting.iter().any(|nest| matches!(nest, Nest::Item(_))) {
                    self.blank();
                }
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.blank();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.nesting.pop();
                self.styles.pop();
                self.blank();
            }
            TagEnd::CodeBlock => {
                self.code = false;
                self.blank();
            }
            TagEnd::List(_) => {
                self.flush();
                self.nesting.pop();
                if self.nesting.is_empty() {
                    self.blank();
                }
            }
            TagEnd::Item => {
                self.flush();
                self.bullet = None;
                self.nesting.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                let shown: String =
                    self.parts.last().map(|part| part.content.to_string()).unwrap_or_default();
                self.styles.pop();
                if let Some(address) = self.links.pop().filter(|address| *address != shown) {
                    let style = self.tone(Tone::Dim);
                    self.styled(&format!(" <{}>", visible::line(&address)), style);
                }
            }
            TagEnd::Table => {
                let rows = self.table.take().unwrap_or_default();
                self.draw_table(&rows);
                self.blank();
            }
            TagEnd::HtmlBlock => self.flush(),
            _ => {}
        }
    }

    fn code_lines(&mut self, text: &str) {
        let style = self.tone(Tone::Code);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.parts.push(Span::styled(format!("  {line}"), style));
            self.flush();
        }
    }

    /// Each column as wide as its widest cell, if all fit; else the cells of a row below each other.
    fn draw_table(&mut self, rows: &[Vec<String>]) {
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let wide: Vec<usize> = (0..count)
            .map(|at| {
                rows.iter()
                    .filter_map(|row| row.get(at))
                    .map(|cell| visible::columns(cell))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let fits = wide.iter().sum::<usize>() + 2 * count <= self.width;
        for (at, row) in rows.iter().enumerate() {
            let style = if at == 0 { self.tone(Tone::Strong) } else { Style::new() };
            for (cell, wide) in row.iter().zip(&wide) {
                let text =
                    if fits { visible::pad(cell, wide + 2) } else { format!("{}  ", visible::line(cell)) };
                self.parts.push(Span::styled(text, style));
            }
            self.flush();
        }
    }

    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    /// What stands before each line. Each line repeats it, and a hostile message nests thousands of quotes: what is deeper than
    /// half of the width stands no further to the right.
    fn indent(&self) -> String {
        let (mut indent, mut used) = (String::new(), 0);
        for nest in &self.nesting {
            let wide = match nest {
                Nest::Quote => 2,
                Nest::List(_) => continue,
                Nest::Item(wide) => *wide,
            };
            used += wide;
            if used > self.width / 2 {
                break;
            }
            match nest {
                Nest::Quote => indent.push_str("│ "),
                _ => indent.push_str(&" ".repeat(wide)),
            }
        }
        indent
    }

    /// Ends the line in the making.
    fn flush(&mut self) {
        if self.parts.is_empty() {
            return;
        }
        let indent = self.indent();
        let first = match self.bullet.take() {
            Some(bullet) => {
                let own = " ".repeat(bullet.chars().count());
                format!("{}{bullet}", indent.strip_suffix(&own).unwrap_or(&indent))
            }
            None => indent.clone(),
        };
        let style = self.tone(Tone::Dim);
        let (first, hang) = (Span::styled(first, style), Span::styled(indent, style));
        let parts = std::mem::take(&mut self.parts);
        self.lines.extend(fold(&parts, self.width, &first, &hang));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str, width: u16) -> Vec<String> {
        render(body, width, Theme::Plain).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ordinary_markdown() {
        let text = "# Title\n\nSome **bold** and `code`,\nand [docs](https://x.org).\n\n- one\n- two\n  1. a\n\n> said\n\n```rust\nfn x() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 22 |\n";
        assert_eq!(
            shown(text, 60),
            [
                "Title",
                "",
                "Some bold and code, and docs <https://x.org>.",
                "",
                "• one",
                "• two",
                "  1. a",
                "",
                "│ said",
                "",
                "rust",
                "  fn x() {}",
                "",
                "a  b",
                "1  22"
            ]
        );
        assert_eq!(shown("- a long line in a list", 12), ["• a long", "  line in a", "  list"]);
    }

    #[test]
    fn deep_quotes_and_lists_leave_half_of_the_width_to_the_text() {
        let text = "x".repeat(4000);
        for deep in [">".repeat(300), "- ".repeat(300)] {
            let lines = shown(&format!("{deep}{text}"), 80);
            assert!(lines.len() < 110, "{} lines", lines.len());
            assert!(lines.iter().all(|line| visible::columns(line) <= 80));
        }
        assert_eq!(shown("- 1\n  - 2\n    - 3", 8), ["• 1", "  • 2", "  • 3"]);
    }

    #[test]
    fn nothing_hostile_is_left() {
        for body in [
            "\u{1b}[2J\u{1b}]0;x\u{7}",
            "<script>\u{9b}31m</script>",
            "[x](javascript:\u{1b}[0m)",
            "a\u{202e}b",
        ] {
            let all = shown(body, 40).join("\n");
            assert!(!all.chars().any(|c| visible::is_unsafe(c) && c != '\n'), "{all:?}");
        }
        assert_eq!(shown("<b>x</b>", 40), ["<b>x</b>"]);
    }
}
