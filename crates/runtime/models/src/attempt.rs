//! One request through all its tries. Until the answer begins, failures are healed or repeated here and told by
//! `Note` and `Retrying`; from then on a failure is the last thing said.

use crate::catalog;
use crate::deadline::Watch;
use crate::failure::{Failure, human};
use crate::http_model::Shared;
use crate::protocol::anthropic_messages::body;
use crate::protocol::anthropic_messages::options::{Feature, Options, Wishes};
use crate::protocol::anthropic_messages::parser::Parser;
use crate::protocol::anthropic_messages::refusal::{Remedy, remedy};
use crate::retry::{Decision, GiveUp, Tried};
use crate::sse::{Decoder, Frame, MAX_NOISE_BYTES};
use crate::transport::Reply;
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent, Request, Retry};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

type Item = Result<ModelEvent, ModelError>;

pub(crate) struct Run {
    shared: Arc<Shared>,
    request: Request,
    phase: Phase,
    ready: VecDeque<Item>,
    repeats: u32,
    /// What this request alone must do without.
    ceiling: Option<u32>,
    /// The output limit of the last try.
    asked: u32,
    unthinking: bool,
    /// What of the last try the provider might not have known.
    sent: Vec<Feature>,
}

enum Phase {
    Send,
    Wait(Duration),
    Read(Box<Reading>),
    Done,
}

impl Run {
    pub fn new(shared: Arc<Shared>, request: Request) -> Self {
        Run {
            shared,
            request,
            phase: Phase::Send,
            ready: VecDeque::new(),
            repeats: 0,
            ceiling: None,
            asked: 0,
            unthinking: false,
            sent: Vec::new(),
        }
    }

    pub async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match std::mem::replace(&mut self.phase, Phase::Done) {
                Phase::Send => match self.send().await {
                    Ok(reading) => self.phase = Phase::Read(Box::new(reading)),
                    Err(failure) => self.failed(failure),
                },
                Phase::Wait(wait) => {
                    tokio::time::sleep(wait).await;
                    self.phase = Phase::Send;
                }
                Phase::Read(reading) => self.read(reading).await,
                Phase::Done => return None,
            }
        }
    }

    async fn send(&mut self) -> Result<Reading, Failure> {
        let (shared, request) = (&self.shared, &self.request);
        let mut refused = shared.refused(&request.model);
        if self.unthinking {
            refused.insert(Feature::Thinking);
        }
        let options = Options::decide(&Wishes {
            max_output: request.max_output,
            thinking: request.thinking,
            effort: shared.effort,
            cache: shared.cache,
            family: catalog::family(&request.model),
            refused: &refused,
            ceiling: self.ceiling,
        });
        self.sent = options.features();
        self.asked = options.max_tokens;
        let body = body::assemble(&request.model, &shared.prefix(request), &request.view, &options);
        let mut watch = Watch::new(shared.deadlines.first_event, shared.deadlines.first_event);
        let reply =
            shared.transport.send(body, &options.betas, request.model.as_str(), &mut watch).await?;
        let parser = Parser::new(request.raw_events, reply.request_id());
        Ok(Reading { reply, watch, decoder: Decoder::default(), frames: Vec::new(), parser })
    }

    async fn read(&mut self, mut reading: Box<Reading>) {
        let was_started = reading.parser.is_started();
        let mut events = Vec::new();
        let outcome = reading.step(&self.shared, &mut events).await;
        self.ready.extend(events.into_iter().map(Ok));
        match outcome {
            Ok(()) if reading.parser.is_ended() => reading.reply.drain().await,
            Ok(()) => {
                if !was_started && reading.parser.is_started() {
                    let limits = &self.shared.deadlines;
                    reading.watch = Watch::new(limits.silence, limits.answer);
                }
                self.phase = Phase::Read(reading);
            }
            Err(failure) if reading.parser.is_started() => self.ready.push_back(Err(failure.error)),
            Err(failure) => self.failed(failure),
        }
    }

    /// A try failed before the answer began: heal the request, wait and try again, or give up.
    fn failed(&mut self, failure: Failure) {
        if failure.error.status == Some(400)
            && let Some(remedy) = remedy(&failure.words, &self.sent)
            && let Some(note) = self.heal(remedy)
        {
            self.ready.push_back(Ok(ModelEvent::Note(note)));
            self.phase = Phase::Send;
            return;
        }
        let allowed = self.request.retries_for(failure.error.kind);
        let tried = Tried {
            repeats: self.repeats,
            allowed: allowed.min(failure.repeats.unwrap_or(u32::MAX)),
            kind: failure.error.kind,
            retry_after: failure.error.retry_after,
            should_retry: failure.should_retry,
        };
        match self.shared.retry.decide(&tried, (self.shared.jitter)()) {
            Decision::Wait(wait) => {
                self.repeats += 1;
                self.ready.push_back(Ok(ModelEvent::Retrying(Retry {
                    attempt: self.repeats,
                    of: tried.allowed,
                    wait,
                    status: failure.error.status,
                    kind: failure.error.kind,
                    message: failure.error.message,
                })));
                self.phase = Phase::Wait(wait);
            }
            Decision::GiveUp(why) => {
                let mut error = failure.error;
                let said = error.message.trim_end_matches('.');
                error.message = match why {
                    GiveUp::Exhausted if self.repeats > 0 => {
                        format!("{said} (given up after {} tries)", self.repeats + 1)
                    }
                    GiveUp::TooLong(asked) => {
                        let most = human(self.shared.retry.longest_asked);
                        let asked = human(asked);
                        format!(
                            "{said}; it asks to retry after {asked}, more than the limit of {most}"
                        )
                    }
                    GiveUp::Exhausted | GiveUp::Pointless => said.to_owned(),
                };
                self.ready.push_back(Err(error));
            }
        }
    }

    /// Each remedy is applied once; none if it was tried before.
    fn heal(&mut self, remedy: Remedy) -> Option<String> {
        let model = &self.request.model;
        match remedy {
            Remedy::Without(feature) => {
                self.shared.refuse(model, feature);
                Some(format!(
                    "{} is not known to the provider of {model} and is left out from now on",
                    name(feature)
                ))
            }
            Remedy::WithoutThinkingOnce if !self.unthinking => {
                self.unthinking = true;
                Some(
                    "the history does not allow thinking here; this request goes without it".into(),
                )
            }
            // A limit that was kept already is no remedy.
            Remedy::Ceiling(limit) if self.ceiling.is_none() && limit < self.asked => {
                self.ceiling = Some(limit);
                Some(format!("the answer is limited to {limit} tokens, the most that fits"))
            }
            Remedy::WithoutThinkingOnce | Remedy::Ceiling(_) => None,
        }
    }
}

fn name(feature: Feature) -> &'static str {
    match feature {
        Feature::ContextManagement => "`context_management`",
        Feature::InterleavedThinking => "thinking between calls",
        Feature::Effort => "`effort`",
        Feature::Thinking => "`thinking`",
        Feature::LongCache => "a cache of one hour",
        Feature::CacheMarks => "`cache_control`",
    }
}

/// An answer being read.
struct Reading {
    reply: Reply,
    watch: Watch,
    decoder: Decoder,
    frames: Vec<Frame>,
    parser: Parser,
}

impl Reading {
    async fn step(&mut self, shared: &Shared, out: &mut Vec<ModelEvent>) -> Result<(), Failure> {
        let peer = &shared.transport.peer;
        let misread = |error: ModelError| peer.misread(error.kind, &error.message);
        let Some(bytes) = self.reply.piece(&mut self.watch, self.parser.is_started()).await? else {
            return self.parser.end().map_err(misread);
        };
        let decoded = self.decoder.push(&bytes, &mut self.frames);
        if self.decoder.noise() == 0 {
            self.watch.alive();
        }
        for frame in self.frames.drain(..) {
            self.parser.push(&frame, out).map_err(misread)?;
        }
        // Waiting is what deadlines measure, so they do not end a stream that never pauses.
        if self.decoder.noise() > MAX_NOISE_BYTES {
            let what = "the stream goes on without an event";
            return Err(peer.misread(ModelErrorKind::Protocol, what));
        }
        match decoded {
            Err(too_large) if !self.parser.is_ended() => {
                Err(peer.misread(ModelErrorKind::Protocol, &too_large.to_string()))
            }
            _ => Ok(()),
        }
    }
}
