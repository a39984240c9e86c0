//! One request through all its tries. Until the answer begins, failures are healed or repeated here and told by
//! `Note` and `Retrying`; from then on a failure is the last thing said.

use crate::deadline::DeadlineWatch;
use crate::failure::{AttemptFailure, human};
use crate::http_model::ModelShared;
use crate::protocol::{AnswerReader, RefusedFeatures, Remedy, SentFeatures};
use crate::retry::{FailedTries, GiveUp, RetryDecision};
use crate::transport::HttpReply;
use ostler_core::model::{ModelError, ModelEvent, Request, Retry};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

type AttemptItem = Result<ModelEvent, ModelError>;

pub(crate) struct Run {
    shared: Arc<ModelShared>,
    request: Request,
    phase: AttemptPhase,
    ready: VecDeque<AttemptItem>,
    repeats: u32,
    /// What this request alone must do without.
    refused: RefusedFeatures,
    /// What of the last try the provider might have refused.
    sent: SentFeatures,
}

enum AttemptPhase {
    Send,
    Wait(Duration),
    Read(Box<StreamReading>),
    Done,
}

impl Run {
    pub fn new(shared: Arc<ModelShared>, request: Request) -> Self {
        Run {
            shared,
            request,
            phase: AttemptPhase::Send,
            ready: VecDeque::new(),
            repeats: 0,
            refused: RefusedFeatures::default(),
            sent: SentFeatures::default(),
        }
    }

    pub async fn next(&mut self) -> Option<AttemptItem> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match std::mem::replace(&mut self.phase, AttemptPhase::Done) {
                AttemptPhase::Send => match self.send().await {
                    Ok(reading) => self.phase = AttemptPhase::Read(Box::new(reading)),
                    Err(failure) => self.failed(failure),
                },
                AttemptPhase::Wait(wait) => {
                    tokio::time::sleep(wait).await;
                    self.phase = AttemptPhase::Send;
                }
                AttemptPhase::Read(reading) => self.read(reading).await,
                AttemptPhase::Done => return None,
            }
        }
    }

    async fn send(&mut self) -> Result<StreamReading, AttemptFailure> {
        let (shared, request) = (&self.shared, &self.request);
        let protocol = shared.protocol.as_ref();
        let refused = shared.refused(&request.model).and(&self.refused);
        let capabilities = shared.capabilities(&request.model);
        let mut call = protocol.call(request, &capabilities, &refused);
        self.sent = std::mem::take(&mut call.sent);
        let mut watch =
            DeadlineWatch::new(shared.deadlines.first_event, shared.deadlines.first_event);
        let model = &capabilities.model;
        let reply = shared.transport.send(call, protocol, model, &mut watch).await?;
        let reader = protocol.reader(request, reply.headers());
        Ok(StreamReading { reply, watch, reader })
    }

    async fn read(&mut self, mut reading: Box<StreamReading>) {
        let was_started = reading.reader.is_started();
        let mut events = Vec::new();
        let outcome = reading.step(&self.shared, &mut events).await;
        self.ready.extend(events.into_iter().map(Ok));
        match outcome {
            Ok(()) if reading.reader.is_ended() => reading.reply.drain().await,
            Ok(()) => {
                if !was_started && reading.reader.is_started() {
                    let limits = &self.shared.deadlines;
                    reading.watch = DeadlineWatch::new(limits.silence, limits.answer);
                }
                self.phase = AttemptPhase::Read(reading);
            }
            Err(failure) if reading.reader.is_started() => self.ready.push_back(Err(failure.error)),
            Err(failure) => self.failed(failure),
        }
    }

    /// A try failed before the answer began: heal the request, wait and try again, or give up.
    fn failed(&mut self, failure: AttemptFailure) {
        if let Some(refusal) = &failure.refusal
            && let Some(remedy) = self.shared.protocol.remedy(refusal, &self.sent)
            && let Some(note) = self.heal(remedy)
        {
            self.ready.push_back(Ok(ModelEvent::Note(note)));
            self.phase = AttemptPhase::Send;
            return;
        }
        let allowed = self.request.retries_for(failure.error.kind);
        let tried = FailedTries {
            repeats: self.repeats,
            allowed: allowed.min(failure.repeats.unwrap_or(u32::MAX)),
            kind: failure.error.kind,
            retry_after: failure.error.retry_after,
            should_retry: failure.should_retry,
        };
        match self.shared.retry.decide(&tried, (self.shared.jitter)()) {
            RetryDecision::Wait(wait) => {
                self.repeats += 1;
                self.ready.push_back(Ok(ModelEvent::Retrying(Retry {
                    attempt: self.repeats,
                    of: tried.allowed,
                    wait,
                    status: failure.error.status,
                    kind: failure.error.kind,
                    message: failure.error.message,
                })));
                self.phase = AttemptPhase::Wait(wait);
            }
            RetryDecision::GiveUp(why) => {
                let mut error = failure.error;
                let said = error.message.trim_end_matches('.');
                error.message = match why {
                    GiveUp::Exhausted if self.repeats > 0 => {
                        format!("{said} (gave up after {} attempts)", self.repeats + 1)
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
                    "{} is not supported by the provider of {model} and is left out from now on",
                    feature.label
                ))
            }
            Remedy::WithoutOnce(feature, why) if !self.refused.contains(feature.name) => {
                self.refused.insert(feature.name);
                Some(why.into())
            }
            // A limit that was kept already is no remedy.
            Remedy::MaxOutput(limit)
                if self.refused.max_output.is_none() && limit < self.sent.max_output =>
            {
                self.refused.max_output = Some(limit);
                Some(format!("the answer is limited to {limit} tokens, the most that fits"))
            }
            Remedy::WithoutOnce(..) | Remedy::MaxOutput(_) => None,
        }
    }
}

/// An answer being read.
struct StreamReading {
    reply: HttpReply,
    watch: DeadlineWatch,
    reader: Box<dyn AnswerReader>,
}

impl StreamReading {
    async fn step(
        &mut self,
        shared: &ModelShared,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), AttemptFailure> {
        let misread = |error: ModelError| shared.transport.peer.misread(&error);
        let Some(bytes) = self.reply.piece(&mut self.watch, self.reader.is_started()).await? else {
            return self.reader.end().map_err(misread);
        };
        self.reader.push(&bytes, out).map_err(misread)?;
        if self.reader.is_alive() {
            self.watch.alive();
        }
        Ok(())
    }
}
