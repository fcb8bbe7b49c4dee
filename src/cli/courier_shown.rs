//! The state of a courier in words.

use super::context::Context;
use super::output::{BOLD, GREEN, PLAIN, RED, YELLOW};
use crate::courier::{CourierStatus, Member, PeerStatus};
use crate::hint::Hint;
use crate::message::visible;
use crate::network::News;
use crate::view::courier::CourierState;

/// Shows the state of a courier.
pub(super) fn show(context: &mut Context, member: &Member, status: &CourierStatus) {
    let state = CourierState::of(member, status);
    if context.output.json {
        return context.output.json(&state);
    }
    let output = &mut context.output;
    let server = match state.version {
        "" => visible::line(state.server),
        version => format!("{} ({})", visible::line(state.server), visible::line(version)),
    };
    output.line(&format!("room: {} on {}, {server}", state.room, state.network));
    output.line(&format!("key: {}", state.fingerprint));
    let (style, word) = match (state.runs, state.connected) {
        (true, true) => (GREEN, "connected".to_owned()),
        (true, false) => (YELLOW, "runs, without a connection".to_owned()),
        (false, _) => (PLAIN, "no courier runs".to_owned()),
    };
    let contact = if state.contact.is_empty() { "never".to_owned() } else { visible::line(state.contact) };
    let word = output.paint(style, &word);
    output
        .line(&format!("courier: {word}; last contact {contact}; {} at the server for this room", state.lag));
    if let Some(trouble) = state.trouble {
        let since = visible::line(&status.contact.since);
        let text = output.paint(RED, &format!("trouble since {since}: {}", visible::line(trouble)));
        output.line(&text);
    }
    for lack in &state.lacks {
        let text = output.paint(YELLOW, lack);
        output.line(&format!("note: {text}"));
    }
    status.peers.iter().for_each(|peer| show_peer(context, peer));
    let output = &mut context.output;
    for refused in &state.refused {
        let (room, why, at) =
            (visible::line(refused.room), visible::line(refused.why), visible::line(refused.at));
        output.line(&format!("refused: {at} from {room}: {why}"));
    }
    if state.dropped > 0 {
        output.line(&format!("refused and not kept: {}", state.dropped));
    }
    for remark in state.remarks {
        output.line(&format!("remark: {}", visible::line(remark)));
    }
}

fn show_peer(context: &mut Context, peer: &PeerStatus) {
    let way = &peer.on_the_way;
    let now = context.clock().now();
    let room = way.room.as_str();
    let names = way.news.as_ref().map_or(0, |news| news.names.len());
    let heard = way.news.as_ref().and_then(News::heard).map(|at| crate::span::short(now.since(at)));
    let heard = heard.map_or("never".to_owned(), |age| format!("{age} ago"));
    let fingerprint = peer.fingerprint.as_deref().unwrap_or("unknown");
    let accepted = match peer {
        PeerStatus { is_accepted: true, .. } => String::new(),
        PeerStatus { has_other_key: true, .. } => {
            let accepted = peer.accepted_fingerprint.as_deref().unwrap_or("unknown");
            let hint =
                Hint::run(&["courier", "accept", room]).to("accepts the new key; ask the people there first");
            let hint = context.hint(hint);
            format!(
                "; ITS KEY CHANGED to {fingerprint}, mail to it waits\n  the key that was accepted: {accepted}\n  {hint}"
            )
        }
        _ => {
            let hint = context.hint(Hint::run(&["courier", "accept", room]).to("lets its mail in"));
            format!("; not accepted, key {fingerprint}\n  {hint}")
        }
    };
    let oldest = way.oldest.map(|oldest| format!(" since {}", crate::span::short(now.since(oldest))));
    let hidden = if way.is_hidden { "; a room here has the same name and comes first" } else { "" };
    let trouble = peer.trouble.as_ref().map(|t| format!("; {}", visible::line(t))).unwrap_or_default();
    let failed = if way.failed > 0 { format!(", {} failed", way.failed) } else { String::new() };
    let output = &mut context.output;
    let name = output.paint(BOLD, room);
    output.line(&format!(
        "peer {name}: {names} names, heard {heard}; {} waiting{}, {} without a receipt{failed}{trouble}{hidden}{accepted}",
        way.waiting,
        oldest.unwrap_or_default(),
        way.carried,
    ));
}
