//! The inputs of a run: command-line values, parsed as the kinds that the definition declares. Pure.

use serde_json::{Map, Value as Json};

use super::definition::{Definition, Input, Kind};

/// The inputs of a run with defaults, or everything that is wrong with the given ones.
pub fn resolve(
    definition: &Definition,
    given: &[(String, String)],
) -> Result<Map<String, Json>, Vec<String>> {
    let mut wrong = vec![];
    let mut values = Map::new();
    let known = || definition.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ");
    for (index, (key, _)) in given.iter().enumerate() {
        if !definition.inputs.iter().any(|input| input.name == *key) {
            let there = match definition.inputs.is_empty() {
                true => "it has none".to_owned(),
                false => format!("it has {}", known()),
            };
            wrong.push(format!("`{}` has no input `{key}`; {there}", definition.name));
        }
        if given[..index].iter().any(|(other, _)| other == key) {
            wrong.push(format!("the input `{key}` is given twice"));
        }
    }
    for input in &definition.inputs {
        let text = given.iter().find(|(key, _)| *key == input.name).map(|(_, text)| text);
        match (text, &input.default) {
            (Some(text), _) => match read(input, text) {
                Ok(value) => drop(values.insert(input.name.clone(), value)),
                Err(why) => wrong.push(format!("the input `{}`: {why}", input.name)),
            },
            (None, Some(default)) => drop(values.insert(input.name.clone(), default.clone())),
            (None, None) => {
                let about =
                    if input.about.is_empty() { String::new() } else { format!(" ({})", input.about) };
                wrong.push(format!("the input `{}`{about} is missing: --input {}=…", input.name, input.name));
            }
        }
    }
    if wrong.is_empty() { Ok(values) } else { Err(wrong) }
}

/// The default values of the optional inputs.
pub fn defaults(definition: &Definition) -> Map<String, Json> {
    let default = |input: &Input| Some((input.name.clone(), input.default.clone()?));
    definition.inputs.iter().filter_map(default).collect()
}

fn read(input: &Input, text: &str) -> Result<Json, String> {
    let parsed = || serde_json::from_str::<Json>(text);
    match input.kind {
        Kind::Text => Ok(Json::String(text.to_owned())),
        Kind::Number | Kind::Boolean => match parsed() {
            Ok(value) if input.kind.fits(&value) => Ok(value),
            _ if input.kind == Kind::Number => Err(format!("`{text}` is no number")),
            _ => Err(format!("`{text}` is neither true nor false")),
        },
        Kind::List => match parsed() {
            Ok(value @ Json::Array(_)) => Ok(value),
            _ if text.trim_start().starts_with('[') => Err("it begins like JSON and is no list".to_owned()),
            _ => Ok(Json::Array(text.split(',').map(|part| Json::String(part.trim().to_owned())).collect())),
        },
        Kind::Json => parsed().map_err(|e| format!("it is not JSON: {e}")),
    }
}
