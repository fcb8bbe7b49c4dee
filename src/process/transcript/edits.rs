//! Edits: what a call of a tool changes in a file, as far as its input says. Programs name these fields differently.

use serde_json::Value;

/// One place of a file: the text before, and the text after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub old: String,
    pub new: String,
}

const OLD: [&str; 4] = ["old_string", "oldString", "old_str", "old_text"];
const NEW: [&str; 4] = ["new_string", "newString", "new_str", "new_text"];

/// The edits of a call. None if it changes no file, or its input does not say how.
pub fn edits(tool: &str, input: &Value) -> Vec<Edit> {
    if let Some(Value::Array(all)) = input.get("edits") {
        return all.iter().filter_map(replaced).collect();
    }
    if let Some(edit) = replaced(input) {
        return vec![edit];
    }
    let is_write = ["write", "create"].iter().any(|word| tool.to_ascii_lowercase().contains(word));
    match input.get("content").and_then(Value::as_str) {
        Some(new) if is_write => vec![Edit { old: String::new(), new: new.to_owned() }],
        _ => vec![],
    }
}

fn replaced(input: &Value) -> Option<Edit> {
    let text = |keys: [&str; 4]| keys.iter().find_map(|key| input.get(*key)?.as_str()).map(str::to_owned);
    Some(Edit { old: text(OLD)?, new: text(NEW)? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_is_found_however_its_program_calls_it() {
        let edit = |old: &str, new: &str| Edit { old: old.into(), new: new.into() };
        assert_eq!(
            edits("Edit", &json!({"file_path": "a", "old_string": "x", "new_string": "y"})),
            [edit("x", "y")]
        );
        assert_eq!(
            edits("edit", &json!({"filePath": "a", "oldString": "x", "newString": ""})),
            [edit("x", "")]
        );
        let many = json!({"edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "v"}]});
        assert_eq!(edits("MultiEdit", &many), [edit("x", "y")]);
        assert_eq!(edits("Write", &json!({"content": "new"})), [edit("", "new")]);
        assert_eq!(edits("Post", &json!({"content": "new"})), []);
        assert_eq!(edits("Bash", &json!({"command": "ls"})), []);
        assert_eq!(edits("Bash", &Value::Null), []);
    }
}
