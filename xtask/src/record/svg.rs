//! A film as one animated SVG: no script, no font, nothing from outside.
//!
//! ```text
//! <defs>   each different row of a side once (r0 …), and each different side of a screen made of them (s0 …)
//! <g>      the film strip: a screen beside the other; keyframes move it a screen further at a time
//! ```
//!
//! The screen is cut into its two sides, because mostly only one of them changes. Where a reader wants less motion, the last
//! frame stands still. Each run of text has its length, so that columns align whatever the font is.

use std::collections::HashMap;
use std::fmt::Write;

use super::cells::{Cell, Colour, Row, Screen, Style};
use super::film::Film;
use super::shapes::{HEIGHT, WIDTH, rectangles};

const MARGIN: usize = 12;
const FORE: &str = "#d6dbe1";
const BACK: &str = "#14181d";
/// The first sixteen colours of the terminal.
const PALETTE: [&str; 16] = [
    "#3b4148", "#f47067", "#57ab5a", "#c69026", "#6cb6ff", "#b083f0", "#56c2d6", "#c5ccd3", "#4b535d",
    "#ff938a", "#6bc46d", "#daaa3f", "#8cc8ff", "#cba6f7", "#7ad7e8", "#f2f5f8",
];

/// What the picture shows, in words.
pub(crate) struct Words<'a> {
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
}

/// The picture; `sides` are the columns of each side, and what is between them does not change.
pub(crate) fn draw(film: &Film, sides: [std::ops::Range<usize>; 2], words: &Words<'_>) -> String {
    let (columns, rows) = (sides[1].end, film.frames.first().map_or(0, |frame| frame.screen.rows.len()));
    let (width, height) = (columns * WIDTH + 2 * MARGIN, rows * HEIGHT + 2 * MARGIN);
    let mut sheet = Sheet::default();
    let mut strip = String::new();
    let mut moves = String::new();
    let (mut at, length) = (0.0, film.length().as_secs_f64());
    for (index, frame) in film.frames.iter().enumerate() {
        for side in &sides {
            let id = sheet.side(&frame.screen.part(side.clone()));
            let x = index * width + side.start * WIDTH;
            let _ = write!(strip, "<use href=\"#s{id}\" x=\"{x}\"/>");
        }
        strip.push('\n');
        let _ =
            write!(moves, "{}%{{transform:translateX(-{}px)}}", number(at / length * 100.0), index * width);
        at += frame.shown.as_secs_f64();
    }
    let between = film.frames.last().map(|frame| frame.screen.part(sides[0].end..sides[1].start));
    let between = between.map(|screen| sheet.side(&screen)).unwrap_or_default();
    let last = film.frames.len().saturating_sub(1) * width;
    let title = escaped(words.title);
    let description = escaped(words.description);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"title desc\" xml:space=\"preserve\">\n\
         <title id=\"title\">{title}</title>\n<desc id=\"desc\">{description}</desc>\n<style>\n\
         text{{white-space:pre;font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",\"Liberation Mono\",monospace;fill:{FORE}}}\n\
         .b{{font-weight:bold}}.d{{opacity:.6}}.i{{font-style:italic}}.u{{text-decoration:underline}}.f{{shape-rendering:crispEdges}}\n{}\n\
         @keyframes play{{{moves}}}\n\
         @media (prefers-reduced-motion:no-preference){{#film{{animation:play {}s step-end infinite}}}}\n\
         </style>\n<defs>\n{}</defs>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{BACK}\" stroke=\"#444c56\"/>\n\
         <svg x=\"{MARGIN}\" y=\"{MARGIN}\" width=\"{}\" height=\"{}\">\n\
         <use href=\"#s{between}\" x=\"{}\"/>\n<g id=\"film\" transform=\"translate(-{last})\">\n{strip}</g>\n</svg>\n</svg>\n",
        sheet.classes(),
        number(length),
        sheet.text,
        columns * WIDTH,
        rows * HEIGHT,
        sides[0].end * WIDTH,
    )
}

/// The definitions, each made once.
#[derive(Default)]
struct Sheet {
    text: String,
    rows: HashMap<Row, usize>,
    sides: HashMap<Vec<Option<usize>>, usize>,
    colours: Vec<String>,
}

impl Sheet {
    fn side(&mut self, screen: &Screen) -> usize {
        let rows: Vec<Option<usize>> = screen.rows.iter().map(|row| self.row(row)).collect();
        if let Some(known) = self.sides.get(&rows) {
            return *known;
        }
        let id = self.sides.len();
        let _ = write!(self.text, "<g id=\"s{id}\">");
        for (index, row) in rows.iter().enumerate().filter_map(|(index, row)| Some((index, (*row)?))) {
            let _ = write!(self.text, "<use href=\"#r{row}\" y=\"{}\"/>", index * HEIGHT);
        }
        self.text.push_str("</g>\n");
        self.sides.insert(rows, id);
        id
    }

    /// Nothing for a row on which nothing is seen.
    fn row(&mut self, row: &Row) -> Option<usize> {
        if let Some(known) = self.rows.get(row) {
            return Some(*known);
        }
        let drawn: String = runs(row).iter().map(|run| self.run(run)).collect();
        if drawn.is_empty() {
            return None;
        }
        let id = self.rows.len();
        self.rows.insert(row.clone(), id);
        let _ = writeln!(self.text, "<g id=\"r{id}\">{drawn}</g>");
        Some(id)
    }

    fn run(&mut self, run: &[Cell]) -> String {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return String::new() };
        let (fore, back) = colours(first.style);
        let mut drawn = String::new();
        if let Some(back) = back {
            let columns = last.column + last.width - first.column;
            let class = self.class(&back);
            drawn = rectangle(&class, [first.column * WIDTH, 0, columns * WIDTH, HEIGHT].map(|n| n as f64));
        }
        // Spaces at the ends are not drawn, and those within keep their place by the length of the run.
        let seen = |cell: &Cell| cell.text != " ";
        let (Some(from), Some(to)) = (run.iter().position(seen), run.iter().rposition(seen)) else {
            return drawn;
        };
        let (first, last) = (&run[from], &run[to]);
        let x = first.column * WIDTH;
        let mut classes: Vec<String> = fore.iter().map(|colour| self.class(colour)).collect();
        let style = first.style;
        let marks = [(style.bold, "b"), (style.dim, "d"), (style.italic, "i"), (style.underline, "u")];
        classes.extend(marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, class)| class.to_owned()));
        let class = classes.join(" ");
        let character = first.text.chars().next().unwrap_or(' ');
        if let Some(parts) = rectangles(character, to - from + 1) {
            let class = if fore.is_some() { class } else { format!("{} {class}", self.class(FORE)) };
            let parts = parts
                .into_iter()
                .map(|[left, top, w, h]| rectangle(class.trim(), [left + x as f64, top, w, h]));
            return drawn + &parts.collect::<String>();
        }
        let text: String = run[from..=to].iter().map(|cell| cell.text.as_str()).collect();
        let length = (last.column + last.width - first.column) * WIDTH;
        let class = if class.is_empty() { class } else { format!(" class=\"{class}\"") };
        // A single character is where its x is, and keeps its shape.
        let length = if from == to { String::new() } else { format!(" textLength=\"{length}\"") };
        let _ = write!(drawn, "<text x=\"{x}\" y=\"13\"{length}{class}>{}</text>", escaped(&text));
        drawn
    }

    fn class(&mut self, colour: &str) -> String {
        let known = self.colours.iter().position(|known| known == colour);
        let index = known.unwrap_or_else(|| {
            self.colours.push(colour.to_owned());
            self.colours.len() - 1
        });
        format!("c{index}")
    }

    fn classes(&self) -> String {
        let rule = |(index, colour): (usize, &String)| format!(".c{index}{{fill:{colour}}}");
        self.colours.iter().enumerate().map(rule).collect()
    }
}

/// Neighbours that are drawn as one: text of one style, or one other character, repeated if it is drawn as a shape.
fn runs(row: &Row) -> Vec<&[Cell]> {
    let plain = |cell: &Cell| cell.text.is_ascii();
    let joined = |a: &Cell, b: &Cell| {
        let shape = || a.text == b.text && rectangles(a.text.chars().next().unwrap_or(' '), 1).is_some();
        a.style == b.style && (plain(a) && plain(b) || shape())
    };
    row.chunk_by(joined).collect()
}

fn colours(style: Style) -> (Option<String>, Option<String>) {
    let (fore, back) = (style.fore.map(hex), style.back.map(hex));
    if !style.inverse {
        return (fore, back);
    }
    (Some(back.unwrap_or_else(|| BACK.to_owned())), Some(fore.unwrap_or_else(|| FORE.to_owned())))
}

fn hex(colour: Colour) -> String {
    let rgb = |r: u8, g: u8, b: u8| format!("#{r:02x}{g:02x}{b:02x}");
    match colour {
        Colour::Rgb(r, g, b) => rgb(r, g, b),
        Colour::Index(index @ 0..16) => PALETTE[usize::from(index)].to_owned(),
        Colour::Index(index @ 16..232) => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
            let index = index - 16;
            rgb(level(index / 36), level(index / 6 % 6), level(index % 6))
        }
        Colour::Index(index) => rgb(8 + (index - 232) * 10, 8 + (index - 232) * 10, 8 + (index - 232) * 10),
    }
}

/// Areas have sharp edges, so that neighbours leave no seam; a line would be lost by that where the picture is made smaller.
fn rectangle(class: &str, [x, y, width, height]: [f64; 4]) -> String {
    let area = if width > 1.0 && height > 1.0 { " f" } else { "" };
    let [x, y, width, height] = [x, y, width, height].map(number);
    format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{class}{area}\"/>")
}

/// Without zeros that say nothing.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn drawn(screens: &[&str]) -> String {
        let mut film = Film::default();
        for (second, screen) in (0..).zip(screens) {
            film.add(Duration::from_secs(second), Screen::read(screen));
        }
        film.hold(Duration::from_secs(1));
        draw(&film, [0..4, 5..9], &Words { title: "a & b", description: "" })
    }

    #[test]
    fn text_is_escaped_and_has_its_length() {
        let picture = drawn(&["a<&>│"]);
        assert!(
            picture.contains("<text x=\"0\" y=\"13\" textLength=\"32\">a&lt;&amp;&gt;</text>"),
            "{picture}"
        );
        assert!(picture.contains("<title id=\"title\">a &amp; b</title>"), "{picture}");
    }

    #[test]
    fn colours_are_classes_and_inverse_changes_them() {
        let picture = drawn(&["\x1b[31mab\x1b[7mcd\x1b[0m│"]);
        let (red, ground) = (PALETTE[1], BACK);
        assert!(picture.contains(&format!(".c0{{fill:{red}}}.c1{{fill:{ground}}}")), "{picture}");
        assert!(picture.contains("class=\"c0\">ab<"), "{picture}");
        assert!(
            picture.contains(
                "height=\"17\" class=\"c0 f\"/><text x=\"16\" y=\"13\" textLength=\"16\" class=\"c1\">cd<"
            ),
            "{picture}"
        );
    }

    #[test]
    fn the_256_colours_are_cube_and_greys() {
        assert_eq!(
            [16, 208, 231, 232, 255].map(|index| hex(Colour::Index(index))),
            ["#000000", "#ff8700", "#ffffff", "#080808", "#eeeeee"]
        );
    }

    #[test]
    fn what_follows_a_wide_character_is_in_its_column() {
        let picture = drawn(&["漢x"]);
        assert!(
            picture.contains("<text x=\"0\" y=\"13\">漢</text><text x=\"16\" y=\"13\">x</text>"),
            "{picture}"
        );
    }

    #[test]
    fn a_side_that_does_not_change_is_drawn_once() {
        let picture = drawn(&["left│one", "left│two"]);
        assert_eq!(picture.matches(">left<").count(), 1);
        assert!(picture.contains("50%{transform:translateX(-96px)}"), "{picture}");
        assert!(picture.contains("animation:play 2s step-end infinite"), "{picture}");
        assert!(picture.contains("<use href=\"#s0\" x=\"96\"/>"), "{picture}");
    }
}
