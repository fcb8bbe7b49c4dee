//! The JSON Schema of every document, generated from its type and compared with docs/schema/.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};

use super::{VERSION, of_tools, printed};

/// The schema of a document `D` that is printed as `P`.
pub(super) fn of<D: JsonSchema, P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let document = settings.clone().into_generator().into_root_schema_for::<D>().to_value();
    let whole = settings.into_generator().into_root_schema_for::<P>().to_value();
    // The description comes first.
    let mut schema = Map::new();
    for (key, from) in [("$schema", &whole), ("title", &document), ("description", &document)] {
        schema.insert(key.to_owned(), from[key].clone());
    }
    for (key, value) in whole.as_object().into_iter().flatten() {
        schema.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let mut schema = Value::Object(schema);
    never_null(&mut schema);
    schema
}

/// A field is never null: what is absent is left out.
fn never_null(schema: &mut Value) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |key: &String| required.as_array().is_some_and(|all| all.contains(&json!(key)));
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (_, property) in properties.into_iter().flatten().filter(|(key, _)| !is_required(key)) {
        if let Some([word, _]) = property["type"].as_array().map(Vec::as_slice) {
            property["type"] = word.clone();
        }
        if let Some([one, _]) = property["anyOf"].as_array().map(Vec::as_slice) {
            let (one, description) = (one.clone(), property["description"].clone());
            *property = json!({"$ref": one["$ref"], "description": description});
        }
    }
    match schema {
        Value::Object(inside) => inside.values_mut().for_each(never_null),
        Value::Array(inside) => inside.iter_mut().for_each(never_null),
        _ => {}
    }
}

/// The schema of the version.
pub(super) fn version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"const": VERSION})
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema")
}

/// Every document, with the text of its file.
fn wanted() -> BTreeMap<String, String> {
    let text = |schema: Value| format!("{schema:#}\n");
    printed()
        .into_iter()
        .chain(of_tools())
        .map(|(name, schema)| (format!("{name}.json"), text(schema)))
        .collect()
}

#[test]
fn the_schemas_are_those_of_the_types() {
    let wanted = wanted();
    if std::env::var_os("SCHEMAS").is_some() {
        wanted.iter().for_each(|(file, text)| std::fs::write(directory().join(file), text).unwrap());
    }
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap())
    };
    let there: BTreeMap<String, String> = std::fs::read_dir(directory()).unwrap().map(read).collect();
    assert_eq!(there.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (file, text) in &wanted {
        let is_same = there[file] == *text;
        assert!(
            is_same,
            "docs/schema/{file} is not that of its type: SCHEMAS=write cargo nextest run schemas"
        );
    }
}

/// A name that is used twice would hide a document.
#[test]
fn every_document_has_a_name_of_its_own() {
    assert_eq!(wanted().len(), printed().len() + of_tools().len());
}

/// Without a description a schema says no more than the document.
#[test]
fn everything_is_described() {
    fn look(value: &Value, at: &str) {
        if let Some(Value::Object(properties)) = value.get("properties") {
            for (key, schema) in properties {
                let tag = schema.get("const").is_some();
                assert!(tag || schema.get("description").is_some(), "{at}: `{key}` has no description");
            }
        }
        match value {
            Value::Object(inside) => inside.values().for_each(|value| look(value, at)),
            Value::Array(inside) => inside.iter().for_each(|value| look(value, at)),
            _ => {}
        }
    }
    for (name, schema) in printed().into_iter().chain(of_tools()) {
        assert!(schema["description"].is_string(), "{name} has no description");
        look(&schema, name);
    }
}
