//! Which messages a summary replaces, and which stay word for word.

use super::Pressure;
use super::story::{is_seam, newest};
use crate::view::View;

/// The share of the window that the newest messages may take when there is a choice.
const SHARE: u64 = 4;

/// The number of messages to summarize, from the beginning. None if there is nothing to gain: a single exchange, or a
/// prompt that nothing was said to.
pub fn plan(view: &View, pressure: &Pressure, tokens: impl Fn(u64) -> u64) -> Option<usize> {
    let items = view.items();
    let limit = newest(view);
    let seams: Vec<usize> = (1..=limit).filter(|at| is_seam(view, *at)).collect();
    let answered = |at: &&usize| {
        items.get(..**at).is_some_and(|part| part.iter().any(|item| item.message().is_assistant()))
    };
    let seams: Vec<usize> = seams.iter().filter(answered).copied().collect();
    let wanted = items.len().saturating_sub(pressure.keep);
    let first = seams.iter().rposition(|at| *at <= wanted).unwrap_or(usize::MAX);
    let weight = |from: usize| -> u64 {
        items.get(from..).unwrap_or_default().iter().map(|item| item.weight()).sum()
    };
    // Where the overhead is most of the window, what the target leaves beside it counts.
    let room = pressure.target.saturating_sub(pressure.overhead) / 2;
    let fits = |at: &usize| tokens(weight(*at)) <= room.min(pressure.window / SHARE);
    match seams.get(first) {
        // The newest messages as many as are wanted, or fewer if they are heavy.
        Some(_) => {
            let rest = seams.get(first..).unwrap_or_default();
            rest.iter().find(|at| fits(at)).or(rest.last()).copied()
        }
        None => seams.iter().find(|at| fits(at)).or(seams.last()).copied(),
    }
}

/// The next place after `from`, at most `to`, up to which a piece may go whose messages weigh no more than `room`.
/// A single exchange is taken whatever it weighs.
pub fn piece(view: &View, from: usize, to: usize, room: u64) -> usize {
    let (mut end, mut weight, mut answered) = (None, 0, false);
    for at in from + 1..=to {
        if let Some(item) = view.items().get(at - 1) {
            weight += item.weight();
            answered |= item.message().is_assistant();
        }
        if !is_seam(view, at) || !answered {
            continue;
        }
        match end {
            Some(end) if weight > room => return end,
            _ => end = Some(at),
        }
    }
    end.unwrap_or(to)
}
