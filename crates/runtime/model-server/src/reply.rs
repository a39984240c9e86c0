//! From a reply of the script to the bytes, waits and breaks of one response.

mod delivery;
mod events;
mod fixed_length;
mod fold;
mod frame;
mod head;
mod plan;
mod resolve;

use std::time::Duration;

use bytes::Bytes;

pub(crate) use delivery::{SentBytes, deliver};
pub(crate) use resolve::{Ids, ReplyUsage, Resolved, resolve, signature};

use crate::script::{How, Reply, ReplyBody, ReplyDelivery, Wait};

/// Everything `deliver` needs to know; nothing in it refers to the script any more.
pub(crate) struct Response {
    pub due: Vec<Wait>,
    /// `None` if the items are the whole response.
    pub head: Option<Bytes>,
    /// Whether the items travel in HTTP chunks.
    pub chunked: bool,
    pub items: Vec<ReplyItem>,
    pub ending: ReplyEnding,
    pub pace: Option<Duration>,
    pub chunk: Option<usize>,
    pub keep_alive: bool,
}

/// One thing to do while the body is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ReplyItem {
    Event { name: String, bytes: Bytes },
    Bytes(Bytes),
    Wait(Wait),
    Flood { name: Option<String>, head: Bytes, fill: u64, tail: Bytes },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyEnding {
    Complete,
    /// Broken before the head.
    Unanswered(How),
    /// Broken inside the body.
    Inside(How),
    /// Broken after the body.
    After(How),
}

impl Response {
    /// A small answer that no script speaks of.
    pub fn plain(status: u16, content_type: &str, body: Bytes, request_id: &str) -> Self {
        let head = head::fixed(status, content_type, body.len(), request_id, &[]);
        Self::whole(head, body)
    }

    pub fn error(status: u16, kind: &str, message: &str, request_id: &str) -> Self {
        let body = head::error_body(kind, message, request_id);
        Self::plain(status, "application/json", body, request_id)
    }

    /// As its head says; none if the script wrote the whole response, or nothing is answered.
    pub fn status(&self) -> Option<u16> {
        if matches!(self.ending, ReplyEnding::Unanswered(_)) {
            return None;
        }
        let line = self.head.as_deref()?.get(b"HTTP/1.1 ".len()..)?.get(..3)?;
        std::str::from_utf8(line).ok()?.parse().ok()
    }

    /// An answer to HEAD: the head of a response whose body is not sent.
    pub fn bodiless(mut self) -> Self {
        self.items.clear();
        self
    }

    fn whole(head: Bytes, body: Bytes) -> Self {
        Self {
            due: Vec::new(),
            head: Some(head),
            chunked: false,
            items: vec![ReplyItem::Bytes(body)],
            ending: ReplyEnding::Complete,
            pace: None,
            chunk: None,
            keep_alive: true,
        }
    }
}

/// The response to a request that asked for a stream or for one message.
pub(crate) fn respond(
    reply: &Reply,
    resolved: Option<&Resolved>,
    stream: bool,
    request_id: &str,
) -> Result<Response, String> {
    let mut response = match (&reply.body, resolved) {
        (ReplyBody::Answer(_), Some(resolved)) if stream => streamed(reply, resolved, request_id)?,
        (ReplyBody::Answer(_), Some(resolved)) => fold::folded(reply, resolved, request_id)?,
        (ReplyBody::Answer(_), None) => return Err("an answer was not resolved".into()),
        (ReplyBody::Error { status, kind, message }, _) => {
            let kind = kind.as_deref().unwrap_or_else(|| head::usual_kind(*status));
            let message = message.as_deref().unwrap_or_else(|| head::usual_message(*status));
            let body = head::error_body(kind, message, request_id);
            without_events(reply)?;
            fixed_length::fixed(reply, *status, "application/json", body, request_id, None)?
        }
        (ReplyBody::Http { status, content_type, bytes }, _) => {
            without_events(reply)?;
            fixed_length::fixed(reply, *status, content_type, bytes.clone(), request_id, None)?
        }
        (ReplyBody::Raw(bytes), _) => {
            without_events(reply)?;
            let (items, ending) =
                plan::broken(vec![ReplyItem::Bytes(bytes.clone())], reply.cut.as_ref())?;
            let ending = match ending {
                ReplyEnding::Complete => ReplyEnding::After(How::Close),
                ending => ending,
            };
            let whole = Response::whole(Bytes::new(), Bytes::new());
            Response { head: None, items, ending, ..whole }
        }
    };
    response.due = reply.due.clone();
    let ReplyDelivery { pace, chunk, .. } = reply.delivery;
    (response.pace, response.chunk) = (pace, chunk);
    response.keep_alive = !reply.headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
    });
    Ok(response)
}

fn streamed(reply: &Reply, resolved: &Resolved, request_id: &str) -> Result<Response, String> {
    let items = events::items(resolved, &reply.delivery);
    let items = plan::inserted(items, reply, resolved)?;
    let (items, ending) = plan::broken(items, reply.cut.as_ref())?;
    let head = head::streaming(request_id, &reply.headers);
    let mut response = Response::whole(head, Bytes::new());
    (response.chunked, response.items, response.ending) = (true, items, ending);
    Ok(response)
}

fn without_events(reply: &Reply) -> Result<(), String> {
    match reply.insert.first() {
        Some(insert) => Err(format!("this reply has no event `{}` to insert after", insert.after)),
        None => Ok(()),
    }
}

/// Whether the reply can be sent as described, found out before anyone asks for it.
pub(crate) fn dry_run(reply: &Reply) -> Result<(), String> {
    let resolved = match &reply.body {
        ReplyBody::Answer(answer) => Some(resolve::dry(answer)),
        _ => None,
    };
    respond(reply, resolved.as_ref(), true, "req_dry").map(|_| ())
}
