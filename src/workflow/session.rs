//! A run's entries in the session: `session-context.md` lists the invoked agents and the decisions.
//!
//! Each agent has one line with its state, `- explore (completed)`. Each decision is added to its section once. Text by
//! others is kept.

use super::engine::{AskKind, Engine};
use super::runs::Record;
use super::state::Desk;
use crate::mailbox::fault::Result;
use crate::mailbox::tree::{SESSION as SHAPE, with_agent};
use crate::message::shared;

/// The file of a session.
const SESSION: &str = "session-context";

/// Updates the session from a run.
pub(super) fn update(
    desk: &mut Desk,
    engine: &Engine,
    record: &Record,
    invoked: &[String],
    over: bool,
) -> Result<Option<String>> {
    let mut lines: Vec<(String, String)> = vec![];
    for agent in invoked {
        let busy =
            engine.open().values().any(|ask| matches!(&ask.kind, AskKind::Work { to, .. } if to == agent));
        let word = if busy && !over { "in_progress" } else { "completed" };
        lines.push((agent.clone(), format!("{agent} ({word})")));
    }
    let decisions: Vec<String> =
        engine.decisions().iter().map(|decision| format!("- {}: {decision}", record.id)).collect();
    let news = |line: &String| !desk.told.contains(line);
    let new_lines: Vec<_> = lines.into_iter().filter(|(_, line)| news(line)).collect();
    let new_decisions: Vec<_> = decisions.into_iter().filter(news).collect();
    if new_lines.is_empty() && new_decisions.is_empty() {
        return Ok(None);
    }
    desk.tree()?.rewrite(SESSION, |text| {
        let mut text = if text.trim().is_empty() { SHAPE.to_owned() } else { text.to_owned() };
        for (key, value) in [
            ("session_id", format!("session-{}", record.id)),
            ("started", record.started.clone()),
            ("user_goal", goal(engine)),
        ] {
            if shared::get(&text, key)?.is_none_or(|value| value.is_empty()) {
                text = shared::set(&text, key, &value)?;
            }
        }
        for (agent, line) in &new_lines {
            text = with_agent(&text, agent, line)?;
        }
        for decision in &new_decisions {
            let known = shared::get(&text, "Decisions Made")?.unwrap_or_default();
            if !known.lines().any(|line| line == decision) {
                text = shared::append(&text, "Decisions Made", decision)?;
            }
        }
        Ok(text)
    })?;
    for (agent, line) in new_lines {
        desk.told.retain(|told| !told.starts_with(&format!("{agent} (")));
        desk.told.push(line);
    }
    desk.told.extend(new_decisions);
    Ok(None)
}

/// The goal of the session, as far as a run knows.
fn goal(engine: &Engine) -> String {
    let definition = engine.definition();
    let about = if definition.about.is_empty() { &definition.name } else { &definition.about };
    crate::message::envelope::subject_with("", about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_list_of_agents_is_changed() {
        let text = SHAPE.replace("## Open Questions\n", "## Open Questions\n\n- explore (in_progress)\n");
        let begun = with_agent(&text, "explore", "explore (in_progress)").unwrap();
        assert_eq!(begun.matches("- explore (in_progress)").count(), 2, "{begun}");
        let over = with_agent(&begun, "explore", "explore (completed)").unwrap();
        assert!(over.contains("agents_invoked:\n  - explore (completed)\n---"), "{over}");
        assert!(over.ends_with("## Open Questions\n\n- explore (in_progress)\n"), "{over}");
        // A text that is not an agent name cannot add a field.
        let hostile = with_agent(&over, "x\nstatus: hacked", "x\nstatus: hacked (completed)");
        assert!(hostile.map_or(true, |text| shared::get(&text, "status") == Ok(None)));
    }
}
