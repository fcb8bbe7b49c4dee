//! The workflows that ship with Postroom. They are ordinary definitions, and a project may have one of the same name.

/// A shipped workflow: its name and its text.
pub const SHIPPED: [(&str, &str); 4] = [
    ("research-create", include_str!("templates/research-create.yaml")),
    ("implement-review", include_str!("templates/implement-review.yaml")),
    ("fan-out-review", include_str!("templates/fan-out-review.yaml")),
    ("plan-approve", include_str!("templates/plan-approve.yaml")),
];

/// The text of a shipped workflow.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::reading;

    #[test]
    fn every_shipped_workflow_is_right() {
        for (name, text) in SHIPPED {
            let definition =
                reading::parse(text, name).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
            assert!(!definition.about.is_empty(), "{name}");
            assert_eq!(definition.commands().count(), 0, "{name}: what ships runs no command");
        }
    }
}
