//! Mistakes that can be seen before the first request: a break that never happens, an impossible head.

use super::{Cut, How, Part, Point, Reply, ReplyBody, Script, ScriptSource, ScriptStep, Times};
use crate::error::ScriptError;
use crate::reply;

impl Script {
    /// Checks what the Rust builders could not; `ModelServer::start` calls it.
    pub(crate) fn check(&self) -> Result<(), ScriptError> {
        if let Some(mistake) = self.mistakes.first() {
            return Err(ScriptError::new(mistake));
        }
        let rates = [self.usage.input_per_byte, self.usage.output_per_byte];
        if rates.iter().any(|rate| !rate.is_finite() || *rate < 0.0) {
            return Err(ScriptError::new("usage rates are numbers from 0"));
        }
        let sensible = |price: f64| price.is_finite() && price >= 0.0;
        if self.prices.iter().any(|(_, prices)| !prices.all().into_iter().all(sensible)) {
            return Err(ScriptError::new("prices are numbers from 0"));
        }
        if self.limits.body_bytes == 0 || self.limits.connections == 0 {
            return Err(ScriptError::new("limits are at least 1"));
        }
        (1..).zip(&self.steps).try_for_each(|(number, one)| step(number, one))
    }
}

pub(super) fn step(number: usize, step: &ScriptStep) -> Result<(), ScriptError> {
    let complain = |what: String| Err(ScriptError::new(format!("step {number}: {what}")));
    if step.times == Times::Count(0) {
        return complain("`times` must be at least 1".into());
    }
    match &step.source {
        ScriptSource::Fixed(reply) => reply_of(reply).or_else(complain),
        ScriptSource::Computed(_) => Ok(()),
    }
}

/// Also applied to replies that are computed while serving.
pub(crate) fn reply_of(reply: &Reply) -> Result<(), String> {
    for (name, value) in &reply.headers {
        let token = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(token) || value.contains(['\r', '\n', '\0']) {
            return Err(format!("header `{name}` cannot be sent; use `raw` for broken heads"));
        }
    }
    if reply.delivery.chunk == Some(0) || reply.delivery.delta == Some(0) {
        return Err("`chunk` and `delta` must be at least 1".into());
    }
    let status = match &reply.body {
        ReplyBody::Error { status, .. } | ReplyBody::Http { status, .. } => *status,
        _ => 200,
    };
    if !(200..=599).contains(&status) {
        return Err(format!("status {status} cannot end a request; use 200 to 599"));
    }
    if let ReplyBody::Answer(answer) = &reply.body {
        answer.parts.iter().try_for_each(part)?;
    }
    if let Some(cut) = &reply.cut {
        possible(cut)?;
    }
    reply::dry_run(reply)
}

fn part(part: &Part) -> Result<(), String> {
    match part {
        Part::Block { block, .. } if !block.is_object() => Err("`block` must be a map".into()),
        Part::Comment(text) if text.contains(['\r', '\n']) => {
            Err("a comment has one line; use `raw` for more".into())
        }
        Part::Event { name, .. } if name.contains(['\r', '\n']) => {
            Err("an event name has one line".into())
        }
        _ => Ok(()),
    }
}

fn possible(cut: &Cut) -> Result<(), String> {
    let clash = match (&cut.after, cut.how) {
        (Point::Request, How::End | How::Ping(_) | How::Comment(_)) => {
            "before the head there is no body"
        }
        (Point::End, How::End | How::Ping(_) | How::Comment(_)) => "the body has already ended",
        _ if cut.nth == 0 => "`nth` must be at least 1",
        (Point::Request | Point::Headers | Point::End, _) if cut.nth > 1 => {
            "`nth` counts events only"
        }
        (Point::Request | Point::End, _) if cut.bytes > 0 => "`bytes` counts inside the body only",
        _ => return Ok(()),
    };
    Err(format!("cut after `{}`: {clash}", cut.after))
}
