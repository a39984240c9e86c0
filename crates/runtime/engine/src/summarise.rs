//! Asks a model for a summary, in pieces that fit. What no model sums up is taken from the messages themselves, so that
//! there always is a summary.

use crate::budget;
use crate::compact::{Room, by_model};
use crate::context::Halt;
use crate::payment::Payment;
use crate::run::Turn;
use crate::sample::count;
use futures_util::StreamExt;
use ostler_core::answer::Answer;
use ostler_core::context::{Made, cut, summary};
use ostler_core::event::Event;
use ostler_core::ids::ModelId;
use ostler_core::ledger::Purpose;
use ostler_core::message::Message;
use ostler_core::model::{ModelErrorKind, ModelEvent, Request, StopReason};
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
    /// Sums up the first `cut` messages.
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
                failure = Some("an exchange is too long to be summed up".to_owned());
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
                        failure = Some("an exchange is too long to be summed up".to_owned());
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
        // The rest in lines of its own; what a model has summed up stays in front of it.
        let why = failure.unwrap_or_else(|| format!("it took more than {MOST} requests"));
        let rest = bytes.saturating_sub(text.len()).max(bytes / 2);
        let left = view.messages().take(cut).skip(from);
        let lines = summary::extracted(left, rest, self.agent.tools.known());
        let text = summary::bounded(&text, bytes / 2);
        let text = if text.is_empty() { lines } else { format!("{text}\n\n{lines}") };
        Ok(Summary { text, made: Made::Extract { why }, requests })
    }

    fn summary_model(&self, fallback: bool) -> ModelId {
        let chosen = self.agent.settings.context.summary_model.clone();
        chosen.unwrap_or_else(|| self.agent.model_id(fallback))
    }

    /// Bytes of messages that fit the summariser's window beside everything else.
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
            tools: self.agent.tools.specs(),
            view,
            max_output: 0,
            thinking: self.agent.thinking(),
            retries: settings.retries.min(RETRIES),
            retries_before_fallback: None,
            raw_events: false,
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
        let payment =
            Payment::new(self.agent.clone(), &request, reserved, Purpose::Compaction, task);
        self.heard_summary(request, payment, model).await
    }

    async fn heard_summary(
        &mut self,
        request: Request,
        mut payment: Payment,
        model: &ModelId,
    ) -> Result<Result<String, Without>, Halt> {
        let mut answer = Answer::default();
        let mut stream = self.agent.model.stream(request);
        let ended = loop {
            let event = tokio::select! {
                biased;
                () = self.interrupt.cancelled() => break Err(Halt::Interrupted),
                event = stream.next() => event,
            };
            let Some(event) = event else {
                break Ok(Err(Without::Why("the stream ended early".into())));
            };
            if let Err(error) = count(&event, &mut payment) {
                self.tally.store_failed(error.to_string());
                break Err(Halt::Store);
            }
            match event {
                Ok(event) => {
                    if let Some(stop) = self.hear(event, &mut answer).await {
                        break Ok(Ok(stop));
                    }
                }
                Err(error) if error.kind == ModelErrorKind::ContextOverflow => {
                    break Ok(Err(Without::TooLong));
                }
                Err(error) => break Ok(Err(Without::Why(error.message))),
            }
        };
        drop(stream);
        self.tally.api_time(payment.elapsed());
        let whole = matches!(ended, Ok(Ok(_)));
        self.spend(payment, model, whole).await.map_err(|()| Halt::Store)?;
        Ok(match ended? {
            Ok(StopReason::Refusal { .. }) => Err(Without::Why("the model refused".into())),
            Ok(_) => Ok(answer.into_message(model).map(|said| said.text()).unwrap_or_default()),
            Err(without) => Err(without),
        })
    }

    async fn hear(&mut self, event: ModelEvent, answer: &mut Answer) -> Option<StopReason> {
        match event {
            ModelEvent::Retrying(retry) => self.out.emit(Event::Retrying(retry)).await,
            ModelEvent::Started { message_id, usage, .. } => {
                answer.message_id =
                    if message_id.is_empty() { "unnamed".into() } else { message_id };
                answer.usage = usage;
            }
            ModelEvent::Text(text) => answer.text(&text),
            ModelEvent::Block(block) => drop(answer.block(block, &View::default())),
            ModelEvent::Ended { stop, usage } => {
                answer.usage = usage;
                return Some(stop);
            }
            ModelEvent::Thinking(_)
            | ModelEvent::Cut { .. }
            | ModelEvent::Raw(_)
            | ModelEvent::Note(_) => {}
        }
        None
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
