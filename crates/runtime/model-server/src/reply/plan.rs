//! Where parts go into the stream, and where the stream breaks.

use bytes::Bytes;

use super::{ReplyEnding, ReplyItem, Resolved, events};
use crate::script::{Cut, Point, Reply};

/// The items with the reply's insertions. Places refer to the stream before any insertion.
pub(super) fn inserted(
    items: Vec<ReplyItem>,
    reply: &Reply,
    resolved: &Resolved,
) -> Result<Vec<ReplyItem>, String> {
    let mut places = Vec::new();
    for insert in &reply.insert {
        let item = events::between(&insert.part, resolved, reply.delivery.framing)
            .ok_or("only events, comments, raw bytes, waits and lines can be inserted")?;
        let place = match &insert.after {
            // The byte order mark stays in front of everything.
            Point::Headers => usize::from(reply.delivery.framing.bom),
            Point::Event(name) => position(&items, name, insert.nth)? + 1,
            point => return Err(format!("nothing can be inserted after `{point}`")),
        };
        places.push((place, item));
    }
    let mut out = Vec::with_capacity(items.len() + places.len());
    for (at, item) in items.into_iter().map(Some).chain([None]).enumerate() {
        out.extend(places.iter().filter(|(place, _)| *place == at).map(|(_, item)| item.clone()));
        out.extend(item);
    }
    Ok(out)
}

/// The items up to the cut, and how they end.
pub(super) fn broken(
    mut items: Vec<ReplyItem>,
    cut: Option<&Cut>,
) -> Result<(Vec<ReplyItem>, ReplyEnding), String> {
    let Some(cut) = cut else { return Ok((items, ReplyEnding::Complete)) };
    let kept = match &cut.after {
        Point::Request => return Ok((Vec::new(), ReplyEnding::Unanswered(cut.how))),
        Point::End => return Ok((items, ReplyEnding::After(cut.how))),
        Point::Headers => 0,
        Point::Event(name) => position(&items, name, cut.nth)? + 1,
    };
    let rest = items.split_off(kept.min(items.len()));
    items.extend(first_bytes(rest, cut.bytes as u64));
    Ok((items, ReplyEnding::Inside(cut.how)))
}

fn position(items: &[ReplyItem], name: &str, nth: u32) -> Result<usize, String> {
    let named = |item: &ReplyItem| match item {
        ReplyItem::Event { name: found, .. } | ReplyItem::Flood { name: Some(found), .. } => {
            found == name
        }
        _ => false,
    };
    let mut places = items.iter().enumerate().filter(|(_, item)| named(item)).map(|(at, _)| at);
    let wanted = nth.max(1) as usize;
    places.nth(wanted - 1).ok_or_else(|| {
        let count = items.iter().filter(|item| named(item)).count();
        format!("the reply has {count} events `{name}`, so there is no number {wanted}")
    })
}

fn first_bytes(items: Vec<ReplyItem>, mut bytes: u64) -> Vec<ReplyItem> {
    let mut out = Vec::new();
    for item in items {
        if bytes == 0 {
            break;
        }
        match item {
            ReplyItem::Wait(wait) => out.push(ReplyItem::Wait(wait)),
            ReplyItem::Event { bytes: held, .. } | ReplyItem::Bytes(held) => {
                out.push(ReplyItem::Bytes(start_of(&held, &mut bytes)));
            }
            ReplyItem::Flood { head, fill, tail, .. } => {
                let head = start_of(&head, &mut bytes);
                let filled = fill.min(bytes);
                bytes -= filled;
                let tail = start_of(&tail, &mut bytes);
                out.push(ReplyItem::Flood { name: None, head, fill: filled, tail });
            }
        }
    }
    out
}

fn start_of(held: &Bytes, left: &mut u64) -> Bytes {
    let taken = held.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
    *left -= taken as u64;
    held.slice(..taken)
}
