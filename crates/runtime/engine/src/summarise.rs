//! Asks a model for a summary, in pieces that fit. If the model fails, the summary is built from the messages, so that
//! there always is one.

use crate::answer_stream::{AnswerPart, AnswerStream};
use crate::budget;
use crate::compact::{Room, by_model};
use crate::context::Halt;
use crate::payment::Payment;
use crate::run::Turn;
use ostler_core::context::{Made, cut, summary};
use ostler_core::event::Event;
use ostler_core::ids::ModelId;
use ostler_core::ledger::Purpose;
use ostler_core::message::Message;
use ostler_core::model::{ModelError, ModelErrorKind, Request, StopReason};
use ostler_core::view::View;

/// Requests that one compaction may take.
const MOST: u32 = 8;
/// Tries of one of them; a summary that does not come is not worth a long wait.
const RETRIES: u32 = 2;

pub(crate) struct Summary {
    pub(crate) text: String,
    pub(crate) made: Made,
    pub(crate) requests: u32,
}

/// Why a request brought no summary.
enum Without {
    TooLong,
    Why(String),
}

impl Turn {
    /// Summarizes the first `cut` messages.
    pub(crate) async fn summarise(
        &mut self,
        view: &View,
        cut: usize,
        words: Option<&str>,
        room: &Room,
        fallback: bool,
    ) -> Result<Summary, Halt> {
        let gauge = self.gauge(fallback);
        let bytes = usize::try_from(gauge.bytes(room.summary)).unwrap_or(usize::MAX);
        let model = self.summary_model(fallback);
        let ask = summary::instruction(words, room.summary);
        let mut most = self.piece_limit(&model, room.summary, fallback);
        let (mut text, mut from, mut requests) = (String::new(), 0, 0);
        let mut failure = None;
        while from < cut && requests < MOST {
            let to = cut::piece(view, from, cut, most);
            if weight(view, from, to) > most {
                // A single exchange that cannot fit is not tried.
                failure = Some("an exchange is too long to be summarized".to_owned());
                break;
            }
            requests += 1;
            match self.ask_summary(piece(view, from, to, &text, &ask), &model).await? {
                Ok(answer) => {
                    let Some(clean) = summary::clean(&answer, bytes) else {
                        failure = Some("the model's summary was empty".to_owned());
                        break;
                    };
                    (text, from) = (clean, to);
                }
                Err(Without::TooLong) => {
                    if to == cut::piece(view, from, cut, 0) {
                        // It is all there is in this piece.
                        failure = Some("an exchange is too long to be summarized".to_owned());
                        break;
                    }
                    // A little more than half, so that two pieces are enough.
                    most = weight(view, from, to) * 3 / 5;
                }
                Err(Without::Why(why)) => {
                    failure = Some(why);
                    break;
                }
            }
        }
        if from >= cut {
            return Ok(Summary { text, made: by_model(&model), requests });
        }
        // The rest in lines of its own; what a model has summarized stays in front of it.
        let why = failure.unwrap_or_else(|| format!("it took more than {MOST} requests"));
        let rest = bytes.saturating_sub(text.len()).max(bytes / 2);
        let left = view.messages().take(cut).skip(from);
        let lines = summary::extracted(left, rest, self.tools.known());
        let text = summary::bounded(&text, bytes / 2);
        let text = if text.is_empty() { lines } else { format!("{text}\n\n{lines}") };
        Ok(Summary { text, made: Made::Extract { why }, requests })
    }

    fn summary_model(&self, fallback: bool) -> ModelId {
        let chosen = self.agent.settings.context.summary_model.clone();
        chosen.unwrap_or_else(|| self.agent.model_id(fallback))
    }

    /// Bytes of messages that fit the summarizer's window beside everything else.
    fn piece_limit(&self, model: &ModelId, summary: u64, fallback: bool) -> u64 {
        let gauge = self.gauge(fallback);
        let pressure = self.agent.pressure(&View::default(), model);
        let window = match self.agent.settings.context.summary_model {
            Some(_) => self.agent.model.info(model).window,
            None => pressure.window,
        };
        // The instruction and the answer take their part.
        let free = window.saturating_sub(pressure.overhead + 2 * summary + 1_000);
        gauge.bytes(free.max(window / 8))
    }

    /// One request. No call of the answer is run.
    async fn ask_summary(
        &mut self,
        view: View,
        model: &ModelId,
    ) -> Result<Result<String, Without>, Halt> {
        let settings = &self.agent.settings;
        let mut request = Request {
            model: model.clone(),
            system: self.agent.system.clone(),
            tools: self.tools.toolbox.specs(),
            view,
            max_output: 0,
            thinking: self.agent.thinking(),
            retries: settings.retries.min(RETRIES),
            retries_before_fallback: None,
            raw_events: false,
            source: Purpose::Compaction,
            agent: self.agent.meter.path.clone(),
        };
        let wanted = budget::wanted(&self.agent, &request, false);
        let reserved = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Err(Halt::Interrupted),
            reserved = budget::reserve(&self.agent, &request, wanted) => reserved,
        };
        let reserved = match reserved {
            Ok(reserved) => reserved,
            Err(_) => return Ok(Err(Without::Why("the budget does not allow it".into()))),
        };
        request.max_output = reserved.output;
        let task = self.task.clone();
        let payment = Payment::new(self.agent.clone(), &request, reserved, task);
        self.read_summary(AnswerStream::new(payment, request), model).await
    }

    async fn read_summary(
        &mut self,
        mut stream: AnswerStream,
        model: &ModelId,
    ) -> Result<Result<String, Without>, Halt> {
        let ended = loop {
            let part = tokio::select! {
                biased;
                () = self.interrupt.cancelled() => break Err(Halt::Interrupted),
                part = stream.next() => part,
            };
            match part {
                Ok(AnswerPart::Retrying(retry)) => self.out.emit(Event::Retrying(retry)).await,
                Ok(AnswerPart::Ended(stop)) => break Ok(Ok(stop)),
                Ok(AnswerPart::Failed(error)) => break Ok(Err(Without::from(error))),
                Ok(_) => {}
                Err(error) => {
                    self.tally.store_failed(error.to_string());
                    break Err(Halt::Store);
                }
            }
        };
        let (answer, payment) = stream.close();
        self.tally.api_time(payment.elapsed());
        let whole = matches!(ended, Ok(Ok(_)));
        self.spend(payment, model, whole).await.map_err(|()| Halt::Store)?;
        Ok(match ended? {
            Ok(StopReason::Refusal { .. }) => Err(Without::Why("the model refused".into())),
            Ok(_) => Ok(answer.into_message(model).map(|said| said.text()).unwrap_or_default()),
            Err(without) => Err(without),
        })
    }
}

impl From<ModelError> for Without {
    fn from(error: ModelError) -> Self {
        match error.kind {
            ModelErrorKind::ContextOverflow => Without::TooLong,
            _ => Without::Why(error.message),
        }
    }
}

fn weight(view: &View, from: usize, to: usize) -> u64 {
    view.items().iter().take(to).skip(from).map(|item| item.weight()).sum()
}

/// A part of the conversation with the instruction behind it. The first part is the beginning of the very requests
/// that were sent before, so that the provider has it in its cache.
fn piece(view: &View, from: usize, to: usize, so_far: &str, ask: &Message) -> View {
    let mut part = match from {
        0 => view.head(to),
        _ => {
            let mut part = View::from_messages([summary::so_far(so_far)]);
            for item in view.items().iter().take(to).skip(from) {
                part.push_item(item);
            }
            part
        }
    };
    part.push(ask.clone());
    part
}
