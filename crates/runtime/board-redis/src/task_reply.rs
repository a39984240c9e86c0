//! Tasks as a script describes them.

use crate::reply::{Fields, Read, Reply, Unreadable, is_stuck, status};
use ostler_board::{Blocker, HistoryEntry, Priority, Status, Task, TaskEvent, TaskId};

/// How much of a task is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Whole,
    Listed,
}

/// Its id, its fields, what it depends on, and, for the whole of it, its history.
pub(crate) fn task(reply: &mut Reply, detail: Detail) -> Read<Task> {
    let id = TaskId(reply.text()?);
    let mut fields = reply.fields()?;
    let needed: Vec<Blocker> =
        reply.lists()?.iter_mut().map(blocker).collect::<Read<Vec<Blocker>>>()?;
    let mut task = described(id, &mut fields, detail)?;
    task.depends_on = needed.iter().map(|blocker| blocker.id.clone()).collect();
    if task.status == Status::Pending {
        task.blocked_by =
            needed.into_iter().filter(|blocker| blocker.status != Status::Done).collect();
    }
    if detail == Detail::Whole {
        let added = HistoryEntry { at_ms: task.created_ms, event: TaskEvent::Added };
        task.history.push(added);
        task.history.extend(reply.texts()?.iter().filter_map(|entry| history_entry(entry)));
    }
    Ok(task)
}

fn described(id: TaskId, fields: &mut Fields, detail: Detail) -> Read<Task> {
    let is_whole = detail == Detail::Whole;
    let status = status(fields.number("st")?)?;
    let at = usize::try_from(fields.number("p")?).map_err(|_| Unreadable)?;
    let touches = fields.text("touches")?;
    Ok(Task {
        id,
        status,
        title: fields.text("title")?,
        description: fields.take("desc").filter(|_| is_whole).unwrap_or_default(),
        priority: Priority::ALL.get(at).copied().unwrap_or_default(),
        depends_on: Vec::new(),
        touches: serde_json::from_str(&touches).map_err(|_| Unreadable)?,
        claimed_by: fields.take("wk").filter(|_| status != Status::Pending),
        fence: Some(fields.number("f")?).filter(|fence| *fence > 0),
        lease_until: Some(fields.number("u")?).filter(|_| status == Status::InProgress),
        attempt: u32::try_from(fields.number("a")?).map_err(|_| Unreadable)?,
        result: fields.take("res").filter(|_| is_whole),
        error: fields.take("err"),
        blocked_by: Vec::new(),
        created_ms: fields.number("cr")?,
        changed_ms: fields.number("ch")?,
        history: Vec::new(),
    })
}

fn blocker(reply: &mut Reply) -> Read<Blocker> {
    let (id, status) = (TaskId(reply.text()?), reply.status()?);
    let reason = reply.optional()?.filter(|_| is_stuck(status));
    Ok(Blocker { id, status, reason })
}

/// Time, event, fence, and a text after `=` if there is one. An event of a newer version is left out.
fn history_entry(entry: &str) -> Option<HistoryEntry> {
    let mut words = entry.splitn(4, ' ');
    let (at, name, fence) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    let text = words.next().and_then(|text| text.strip_prefix('=')).map(str::to_owned);
    let event = match (name, text) {
        ("claimed", Some(worker)) => TaskEvent::Claimed { worker, fence },
        ("finished", _) => TaskEvent::Finished { fence },
        ("failed", Some(error)) => TaskEvent::Failed { fence, error },
        ("returned", Some(reason)) => TaskEvent::Returned { fence, reason },
        ("lease_expired", Some(worker)) => TaskEvent::LeaseExpired { worker, fence },
        ("parked", Some(reason)) => TaskEvent::Parked { reason },
        ("retried", _) => TaskEvent::Retried,
        ("cancelled", reason) => TaskEvent::Cancelled { reason },
        _ => return None,
    };
    Some(HistoryEntry { at_ms: at.parse().ok()?, event })
}
