//! Responses whose length is known before they are sent, whole or broken.

use bytes::Bytes;

use super::{ReplyEnding, Response, head};
use crate::script::{How, Point, Reply};

/// `at_event` says how much of a body is sent when the cut names an event; `None` refuses such cuts.
pub(super) fn fixed(
    reply: &Reply,
    status: u16,
    content_type: &str,
    mut body: Bytes,
    request_id: &str,
    at_event: Option<usize>,
) -> Result<Response, String> {
    let mut length = body.len();
    let mut ending = ReplyEnding::Complete;
    if let Some(cut) = &reply.cut {
        let kept = match &cut.after {
            Point::Request => None,
            Point::End => Some(length),
            Point::Headers => Some(0),
            Point::Event(name) => Some(
                at_event.ok_or_else(|| format!("this reply has no event `{name}` to cut after"))?,
            ),
        };
        let end = kept.unwrap_or_default().saturating_add(cut.bytes).min(length);
        body.truncate(end);
        ending = match (&cut.after, cut.how) {
            (Point::Request, how) => ReplyEnding::Unanswered(how),
            (Point::End, how) => ReplyEnding::After(how),
            // A short body with a true length is a proper end.
            (_, How::End) => {
                length = body.len();
                ReplyEnding::Complete
            }
            (_, how) => ReplyEnding::Inside(how),
        };
    }
    let head = head::fixed(status, content_type, length, request_id, &reply.headers);
    Ok(Response { ending, ..Response::whole(head, body) })
}
