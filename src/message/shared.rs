//! A file of shared state: frontmatter with scalars and lists, and sections under headings (protocols: tree §3.5).
//!
//! [`get`] reads one part, [`set`] changes one scalar, [`append`] adds an item to a list or a line to a section.
//! Changes are made in place: comments, quoting, order and line ends of everything else are kept. A file without
//! frontmatter has sections only. The caller ensures that nobody else writes meanwhile.

use std::ops::Range;

use granit_parser::{Event, Parser};

use super::frontmatter::{self, ParseError, bad};
use super::yaml;

/// The value of a key of the frontmatter, a list as lines; else the text of the section with this heading.
pub fn get(text: &str, key: &str) -> Result<Option<String>, ParseError> {
    if let Some(header) = header(text)? {
        let block = &text[header.clone()];
        if let Some((field, lines)) = field(block, key)? {
            let lines = &block[lines];
            return Ok(Some(match (field.value, list(lines)) {
                (Some(_), _) if is_bare(lines) => String::new(),
                (Some(value), _) => value,
                (None, Some(List { items: Some(items), .. })) => items.join("\n"),
                // A map, or a list of more than plain values: returned verbatim.
                (None, _) => lines.split_once(':').map_or(lines, |(_, value)| value).trim().to_owned(),
            }));
        }
    }
    Ok(section(text, body_start(text)?, key).map(|at| text[at].trim().to_owned()))
}

/// The text with one scalar of the frontmatter changed, or added at its end.
pub fn set(text: &str, key: &str, value: &str) -> Result<String, ParseError> {
    let eol = line_end(text);
    if text.trim_start_matches('\u{feff}').is_empty() {
        return set(&format!("{text}---{eol}---{eol}"), key, value);
    }
    let Some(at) = header(text)? else { return Err(ParseError::NoFrontmatter) };
    let block = &text[at.clone()];
    let changed = match yaml::set(block, key, value)? {
        Some(changed) => changed,
        None => added(block, key, value, eol)?,
    };
    Ok(splice(text, at, &changed))
}

/// The text with one more item in the list `key` of the frontmatter, or with one more line at the end of the section
/// `key`, which is added if it is missing.
pub fn append(text: &str, key: &str, line: &str) -> Result<String, ParseError> {
    if let Some(header) = header(text)? {
        let block = &text[header.clone()];
        if let Some((field, lines)) = field(block, key)? {
            let changed =
                splice(block, lines.clone(), &with_item(&block[lines], &field, line, line_end(text))?);
            // Read again to see whether the change affected other fields.
            return match yaml::is_same_but(key, &yaml::fields(block)?, &yaml::fields(&changed)?) {
                true => Ok(splice(text, header, &changed)),
                false => Err(field.bad("cannot be changed without touching its neighbours")),
            };
        }
    }
    let title = title(key);
    if title.is_empty() || title.chars().any(char::is_control) {
        return Err(bad(0, key, "the heading of a section is one line of text"));
    }
    Ok(with_line(text, body_start(text)?, key, line))
}

/// The name of a section without the marks of a heading.
fn title(name: &str) -> &str {
    name.trim().trim_start_matches('#').trim()
}

/// The range of the lines between the fences. `None` if the file has no frontmatter.
fn header(text: &str) -> Result<Option<Range<usize>>, ParseError> {
    match frontmatter::split(text) {
        Ok(split) => {
            let start = split.header.as_ptr() as usize - text.as_ptr() as usize;
            Ok(Some(start..start + split.header.len()))
        }
        Err(ParseError::NoFrontmatter | ParseError::Empty) => Ok(None),
        Err(e) => Err(e),
    }
}

fn body_start(text: &str) -> Result<usize, ParseError> {
    match frontmatter::split(text) {
        Ok(split) => Ok(text.len() - split.body.len()),
        Err(ParseError::NoFrontmatter | ParseError::Empty) => {
            Ok(text.len() - text.trim_start_matches('\u{feff}').len())
        }
        Err(e) => Err(e),
    }
}

/// A key of a header, and the lines from it to the next.
fn field(block: &str, key: &str) -> Result<Option<(yaml::Field, Range<usize>)>, ParseError> {
    let fields = yaml::fields(block)?;
    let Some(index) = fields.iter().position(|field| field.key == key) else { return Ok(None) };
    // The header begins on line 2 of its file.
    let offset = |line: usize| block.split_inclusive('\n').take(line - 2).map(str::len).sum::<usize>();
    let start = offset(fields[index].line);
    let end = fields.get(index + 1).map_or(block.len(), |next| offset(next.line));
    let alone = index == 0 || fields[index - 1].line < fields[index].line;
    if !alone || start == end {
        return Err(fields[index].bad("stands on one line with another key"));
    }
    Ok(Some((fields[index].clone(), start..end)))
}

/// A parsed list: its items if all of them are plain values, and the end of a `[…]`.
struct List {
    items: Option<Vec<String>>,
    bracket: Option<usize>,
}

fn list(lines: &str) -> Option<List> {
    let mut parser = Parser::new_from_str(lines);
    let mut next = || parser.next_event().and_then(Result::ok);
    // The stream, the document, the map and its key come before the value.
    let start = (0..5).map_while(|_| next()).last()?;
    if !matches!(start.0, Event::SequenceStart(..)) {
        return None;
    }
    let (mut items, mut depth) = (Some(vec![]), 1);
    loop {
        let (event, span) = next()?;
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                items = None;
                depth += 1;
            }
            Event::SequenceEnd | Event::MappingEnd if depth > 1 => depth -= 1,
            Event::SequenceEnd => {
                let at = span.start.byte_offset()?;
                return Some(List { items, bracket: lines[at..].starts_with(']').then_some(at) });
            }
            Event::Scalar(value, ..) if depth == 1 => {
                if let Some(items) = items.as_mut() {
                    items.push(value.into_owned());
                }
            }
            _ => {}
        }
    }
}

/// Whether nothing but a comment follows the key.
fn is_bare(lines: &str) -> bool {
    let mut rest = lines.split_once(':').map_or("", |(_, rest)| rest).lines().map(str::trim);
    rest.all(|line| line.is_empty() || line.starts_with('#'))
}

/// The lines of a list with one more item, in the form of the list.
fn with_item(lines: &str, field: &yaml::Field, item: &str, eol: &str) -> Result<String, ParseError> {
    let not_a_list = || field.bad("not a list");
    let known = match list(lines) {
        Some(known) => known,
        None if field.value.is_some() && is_bare(lines) => List { items: Some(vec![]), bracket: None },
        None => return Err(not_a_list()),
    };
    let changed = if let Some(at) = known.bracket {
        // Within brackets a comma ends an item, so it is always quoted; JSON strings are valid YAML.
        let quoted = serde_json::Value::from(item).to_string();
        let empty = lines[..at].trim_end().ends_with(['[', ',']);
        splice(lines, at..at, &format!("{}{quoted}", if empty { "" } else { ", " }))
    } else {
        let mut at = 0;
        let mut last = 0;
        let mut indent = "  ";
        for (number, line) in lines.split_inclusive('\n').enumerate() {
            at += line.len();
            let bare = line.trim_start();
            if number == 0 || !(bare.is_empty() || bare.starts_with('#')) {
                last = at;
            }
            if number > 0 && last == at && indent == "  " && bare.starts_with('-') {
                indent = &line[..line.len() - bare.len()];
            }
        }
        splice(lines, last..last, &format!("{indent}- {}{eol}", yaml::scalar(item)))
    };
    let right = |mut before: Vec<String>| {
        before.push(item.to_owned());
        list(&changed).is_some_and(|after| after.items.as_ref() == Some(&before))
    };
    match known.items.is_none_or(right) {
        true => Ok(changed),
        false => Err(field.bad("a list in a form that is not changed in place")),
    }
}

fn added(block: &str, key: &str, value: &str, eol: &str) -> Result<String, ParseError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if key.is_empty() || !key.chars().all(plain) || key.starts_with('-') {
        return Err(bad(0, key, "a new key has letters, digits, `_` and `-`"));
    }
    let changed = format!("{block}{key}: {}{eol}", yaml::scalar(value));
    let (before, after) = (yaml::fields(block)?, yaml::fields(&changed)?);
    let kept = before.iter().zip(&after).all(|(a, b)| (&a.key, &a.value) == (&b.key, &b.value));
    match after.last() {
        Some(last)
            if kept
                && after.len() == before.len() + 1
                && (last.key.as_str(), last.value.as_deref()) == (key, Some(value)) =>
        {
            Ok(changed)
        }
        _ => Err(bad(0, key, "cannot be added to this frontmatter")),
    }
}

/// The range of the text under a heading: up to the next heading of the same or a higher level.
fn section(text: &str, from: usize, name: &str) -> Option<Range<usize>> {
    let wanted = title(name);
    let headings = headings(text, from);
    let exact = headings.iter().position(|heading| heading.title == wanted);
    let index = exact.or_else(|| {
        headings.iter().position(|heading| heading.title.to_lowercase() == wanted.to_lowercase())
    })?;
    let level = headings[index].level;
    let next = headings[index + 1..].iter().find(|next| next.level <= level);
    Some(headings[index].end..next.map_or(text.len(), |next| next.start))
}

/// A heading, and where its line is.
struct Heading<'a> {
    start: usize,
    end: usize,
    level: usize,
    title: &'a str,
}

/// The headings outside fenced code.
fn headings(text: &str, from: usize) -> Vec<Heading<'_>> {
    let mut found = vec![];
    let mut fence: Option<&str> = None;
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim();
        let ticks = bare.len() - bare.trim_start_matches(['`', '~']).len();
        match fence {
            Some(open) => {
                if bare.len() == ticks && bare.starts_with(open) {
                    fence = None;
                }
            }
            None if ticks >= 3 => fence = Some(&bare[..ticks]),
            None => {
                let level = line.len() - line.trim_start_matches('#').len();
                let title = &line[level..];
                if (1..=6).contains(&level) && (title.trim().is_empty() || title.starts_with([' ', '\t'])) {
                    let title = title.trim().trim_end_matches('#').trim_end();
                    found.push(Heading { start, end: at, level, title });
                }
            }
        }
    }
    found
}

/// The text with one more line at the end of a section, before its trailing blank lines.
fn with_line(text: &str, from: usize, name: &str, line: &str) -> String {
    let eol = line_end(text);
    let line = line.lines().collect::<Vec<_>>().join(eol);
    let Some(at) = section(text, from, name) else {
        let title = title(name);
        let gap = match text {
            "" => "",
            text if text.ends_with('\n') => eol,
            _ => &eol.repeat(2),
        };
        return format!("{text}{gap}## {title}{eol}{eol}{line}{eol}");
    };
    let inside = &text[at.clone()];
    let written = inside.trim_end();
    let heading_ends = text[..at.start].ends_with('\n');
    if written.is_empty() {
        let after = if at.end < text.len() { eol } else { "" };
        let before = if heading_ends { "" } else { eol };
        return splice(text, at, &format!("{before}{eol}{line}{eol}{after}"));
    }
    let end = at.start + written.len();
    splice(text, end..end, &format!("{eol}{line}{}", if end == text.len() { eol } else { "" }))
}

fn line_end(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn splice(text: &str, at: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..at.start], &text[at.end..])
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod tests;
