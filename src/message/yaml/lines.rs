//! Reads a header that is not valid YAML line by line: a model writes `context: fix: the parser` and means one value.
//!
//! A line that is YAML by itself is read as YAML; for any other line the raw rest after the colon is the value. Lists
//! and texts of several lines are lost this way, so this is only for headers that could not be read at all.

use super::{Field, ScalarStyle, scalar, set as set_in_yaml};
use crate::message::frontmatter::{ParseError, is_raw_key};

/// The fields of a header, and the keys of those whose value was read raw.
pub fn fields(header: &str) -> Result<(Vec<Field>, Vec<String>), ParseError> {
    let (mut found, mut raw) = (vec![], vec![]);
    let mut start = 0;
    for (index, line) in header.split_inclusive('\n').enumerate() {
        let (at, number) = (start, index + 2);
        start += line.len();
        let bare = line.trim_end();
        if bare.is_empty() || bare.starts_with([' ', '\t', '#']) {
            continue;
        }
        let field = match super::fields(bare).ok().and_then(|fields| <[Field; 1]>::try_from(fields).ok()) {
            Some([field]) => field,
            None => {
                let field = raw_field(bare).ok_or(ParseError::NotAField { line: number })?;
                raw.push(field.key.clone());
                field
            }
        };
        let span = field.span.start + at..field.span.end + at;
        found.push(Field { line: number, span, ..field });
    }
    Ok((found, raw))
}

fn raw_field(line: &str) -> Option<Field> {
    let (key, rest) = line.split_once(':').filter(|(key, _)| is_raw_key(key))?;
    let value = rest.trim();
    let start = line.len() - rest.trim_start().len();
    let span = start..start + value.len();
    Some(Field {
        key: key.to_owned(),
        value: Some(value.to_owned()),
        line: 0,
        span,
        style: ScalarStyle::Plain,
    })
}

/// The header with the value of one line changed.
pub fn set(header: &str, field: &Field, value: &str) -> String {
    let start = header[..field.span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = header[start..].find('\n').map_or(header.len(), |at| start + at);
    let line = header[start..end].trim_end();
    let changed = match set_in_yaml(line, &field.key, value) {
        Ok(Some(changed)) => changed,
        _ => format!("{}: {}", field.key, scalar(value)),
    };
    format!("{}{changed}{}", &header[..start], &header[start + line.len()..])
}
