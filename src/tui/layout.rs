//! Which panels are on the screen, and where. It depends on the place, the size and the focus alone, so that drawing and the
//! mouse agree.

use ratatui::layout::Rect;

use super::seen::Found;
use super::state::{Panel, Place, State};

/// The smallest screen that shows two panels beside each other, three, and two below each other.
const TWO: u16 = 72;
const THREE: u16 = 120;
const TALL: u16 = 20;

pub(super) const ALL: [Panel; 15] = [
    Panel::Now,
    Panel::Feed,
    Panel::Boxes,
    Panel::Letters,
    Panel::Glance,
    Panel::Letter,
    Panel::Thread,
    Panel::Runs,
    Panel::Transcript,
    Panel::Diff,
    Panel::Flows,
    Panel::Steps,
    Panel::Result,
    Panel::Failed,
    Panel::Trash,
];

/// The panels of a place, in the order of Tab.
pub(super) fn panels(place: &Place) -> &'static [Panel] {
    match place {
        Place::Now => &[Panel::Now, Panel::Feed],
        Place::Mail => &[Panel::Boxes, Panel::Letters, Panel::Glance],
        Place::Runs => &[Panel::Runs],
        Place::Flows => &[Panel::Flows],
        Place::Failed => &[Panel::Failed],
        Place::Trash => &[Panel::Trash],
        Place::Letter { .. } => &[Panel::Letter, Panel::Thread],
        Place::Run { .. } => &[Panel::Transcript],
        Place::Diff { .. } => &[Panel::Diff],
        Place::Flow { .. } => &[Panel::Steps, Panel::Result],
    }
}

/// The panels that Tab leads to.
pub(super) fn reachable(state: &State) -> Vec<Panel> {
    let all = panels(state.place()).iter().copied();
    all.filter(|panel| *panel != Panel::Thread || has_thread(state)).collect()
}

/// Header and foot, and what is between them.
pub(super) struct Frame {
    pub(super) top: Rect,
    pub(super) body: Rect,
    pub(super) foot: Rect,
}

pub(super) fn frame(size: (u16, u16)) -> Frame {
    let (width, height) = size;
    Frame {
        top: Rect::new(0, 0, width, height.min(1)),
        body: Rect::new(0, 1.min(height), width, height.saturating_sub(2)),
        foot: Rect::new(0, height.saturating_sub(1), width, u16::from(height > 1)),
    }
}

/// Whether panels have a whole border; else only a line with their title.
pub(super) fn is_boxed(size: (u16, u16)) -> bool {
    size.0 >= TWO && size.1 >= TALL
}

/// What is inside the border of a panel.
pub(super) fn inside(size: (u16, u16), area: Rect) -> Rect {
    match is_boxed(size) {
        true => Rect::new(
            area.x + 1.min(area.width),
            area.y + 1.min(area.height),
            area.width.saturating_sub(2),
            area.height.saturating_sub(2),
        ),
        false => Rect::new(area.x, area.y + 1.min(area.height), area.width, area.height.saturating_sub(1)),
    }
}

/// The panels that are visible, with their areas.
pub(super) fn visible(state: &State) -> Vec<(Panel, Rect)> {
    let (width, height) = state.size;
    let body = frame(state.size).body;
    let order = panels(state.place());
    let alone = || vec![(state.focus, body)];
    let beside = |part: u16| split(body, part, true);
    let below = |part: u16| split(body, part, false);
    match state.place() {
        Place::Now if width >= THREE => two(order, beside(width / 2)),
        Place::Now if height >= TALL + 2 => two(order, below((body.height * 2 / 3).max(10))),
        Place::Mail if width >= THREE => {
            let boxes = (width / 5).clamp(28, 40);
            let (left, rest) = beside(boxes);
            let (middle, right) = split(rest, (rest.width * 2 / 5).max(40), true);
            vec![(Panel::Boxes, left), (Panel::Letters, middle), (Panel::Glance, right)]
        }
        Place::Mail if width >= TWO => {
            let (left, rest) = beside(28);
            let (upper, lower) = match height >= TALL {
                true => split(rest, (rest.height * 2 / 5).max(6), false),
                false => {
                    return match state.focus {
                        Panel::Glance => vec![(Panel::Boxes, left), (Panel::Glance, rest)],
                        _ => vec![(Panel::Boxes, left), (Panel::Letters, rest)],
                    };
                }
            };
            vec![(Panel::Boxes, left), (Panel::Letters, upper), (Panel::Glance, lower)]
        }
        Place::Letter { .. } if has_thread(state) && width >= THREE => two(order, beside(width * 3 / 5)),
        Place::Letter { .. } if has_thread(state) && height >= TALL => two(order, below(body.height * 3 / 5)),
        Place::Letter { .. } if !has_thread(state) => vec![(Panel::Letter, body)],
        Place::Flow { .. } if width >= THREE => two(order, beside(width / 2)),
        Place::Flow { .. } if height >= TALL => two(order, below(rows_of_tree(state, body.height / 2))),
        _ => alone(),
    }
}

/// The rows of the tree of a workflow with its border: no more than it has steps, so that the text below gets the rest.
fn rows_of_tree(state: &State, most: u16) -> u16 {
    let Some(Found::Flow(flow)) = state.found(Panel::Steps) else { return most };
    let border = if is_boxed(state.size) { 2 } else { 1 };
    u16::try_from(flow.steps.len()).unwrap_or(most).max(1).saturating_add(border).min(most)
}

fn two(order: &[Panel], (one, other): (Rect, Rect)) -> Vec<(Panel, Rect)> {
    order.iter().copied().zip([one, other]).collect()
}

fn split(area: Rect, part: u16, is_beside: bool) -> (Rect, Rect) {
    if is_beside {
        let part = part.min(area.width);
        let left = Rect { width: part, ..area };
        (left, Rect { x: area.x + part, width: area.width - part, ..area })
    } else {
        let part = part.min(area.height);
        let upper = Rect { height: part, ..area };
        (upper, Rect { y: area.y + part, height: area.height - part, ..area })
    }
}

/// Whether the open message has others beside it.
fn has_thread(state: &State) -> bool {
    matches!(state.found(Panel::Letter), Some(Found::Letter(letter)) if letter.thread.len() > 1)
}
