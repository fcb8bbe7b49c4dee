//! As much of Markdown as links need: their targets, and the anchors that they may name.
//!
//! Code is left out, in blocks and in lines. Anchors are made from headings as the usual forges make them. The tests of
//! `links` are the tests of this module too.

use std::collections::{BTreeMap, BTreeSet};

use super::files::File;

/// The targets of all links into the repository, with the numbers of their lines.
pub(super) fn links(page: &File) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(page) {
        let line = without_code(line);
        let inline = line.match_indices("](").map(|(start, mark)| until_closed(&line[start + mark.len()..]));
        let definition = line.trim_start().strip_prefix('[').filter(|rest| !rest.starts_with('^'));
        let defined = definition.and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
        for target in inline.chain(defined) {
            let target = target.split_whitespace().next().unwrap_or_default();
            let target = target.trim_start_matches('<').trim_end_matches('>');
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                links.push((number, target.to_owned()));
            }
        }
    }
    links
}

/// Lines outside fenced code blocks.
fn prose(page: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    page.lines().filter(move |(_, line)| {
        let line = line.trim();
        let length = line.len() - line.trim_start_matches(['`', '~']).len();
        let mark = &line[..length];
        match fence {
            Some(open) => {
                if line.starts_with(open) && mark == line {
                    fence = None;
                }
                false
            }
            None if length >= 3 => {
                fence = Some(mark);
                false
            }
            None => true,
        }
    })
}

/// The line without its code spans, in which nothing is a link.
fn without_code(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest.len() - start - rest[start..].trim_start_matches('`').len();
        let after = &rest[start + ticks..];
        let Some(end) = after.find(&rest[start..start + ticks]) else {
            break;
        };
        text.push_str(&rest[..start]);
        rest = &after[end + ticks..];
    }
    text.push_str(rest);
    text
}

/// The text up to the bracket that closes the link; brackets in pairs belong to it.
fn until_closed(text: &str) -> &str {
    let mut depth = 0;
    for (index, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return &text[..index],
            ')' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// What can stand after `#`: a slug for each heading, numbered where two are alike, and ids given in HTML.
pub(super) fn anchors(page: &File) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (_, line) in prose(page) {
        if let Some(heading) = heading(line) {
            let slug = slug(heading);
            let times = seen.entry(slug.clone()).or_default();
            anchors.insert(if *times == 0 { slug } else { format!("{slug}-{times}") });
            *times += 1;
        }
        for mark in ["id=\"", "name=\""] {
            let given =
                line.match_indices(mark).filter_map(|(start, _)| line[start + mark.len()..].split_once('"'));
            anchors.extend(given.map(|(anchor, _)| anchor.to_owned()));
        }
    }
    anchors
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| text.trim().trim_end_matches('#').trim_end())
}

fn slug(heading: &str) -> String {
    // Of a link only the text is shown, and only what is shown counts.
    let mut shown = String::new();
    let mut rest = heading;
    while let Some((before, target)) = rest.split_once("](") {
        shown.push_str(before);
        rest = target.split_once(')').map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    let kept = |character: &char| character.is_alphanumeric() || " -_".contains(*character);
    let lower = shown.chars().filter(kept).flat_map(char::to_lowercase);
    lower.map(|character| if character == ' ' { '-' } else { character }).collect()
}
