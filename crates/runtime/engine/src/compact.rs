//! Summarizes a conversation. It cannot fail in a way that loses anything, and it cannot loop: a boundary is written
//! completely or not at all, and one that does not make the request smaller is not used.

use crate::context::Halt;
use crate::run::Turn;
use crate::summarise::Summary;
use ostler_core::context::boundary::{Draft, newest_seen};
use ostler_core::context::{Boundary, Gauge, Made, Pressure, Receipt, Trigger, cut, summary};
use ostler_core::event::{Event, NotCompacted, Notice, words};
use ostler_core::hook::{EventName, HookEvent, Stand};
use ostler_core::message::{Block, Message};
use ostler_core::ports::{Attachment, Carrying, Permit, Place};
use ostler_core::session::Entry;
use ostler_core::tool_facts::KnownTools;
use ostler_core::view::View;

/// Tokens that a summary gets at least, whatever the window.
const LEAST: u64 = 150;
/// Tokens of what is carried beside it, and of what is attached again.
const CARRY: u64 = 2_500;
const ATTACHED: u64 = 15_000;

/// Bytes below which a summary cannot be smaller than what it replaces.
const SMALLEST: u64 = 700;

/// How much of the window each part may take.
pub(crate) struct Room {
    pub(crate) summary: u64,
    carry: u64,
    attached: u64,
}

impl Room {
    /// What the target leaves beside what stays, in parts.
    fn new(pressure: &Pressure, stays: u64, most: u64) -> Self {
        let left = pressure.target.saturating_sub(stays);
        Room {
            summary: (left / 2).clamp(LEAST, most.max(LEAST)),
            carry: (left / 4).clamp(LEAST, CARRY),
            attached: (left / 4).min(ATTACHED),
        }
    }
}

impl Turn {
    /// Sums `view` up. False if it stays as it is; then a notice says why.
    pub(crate) async fn compact(
        &mut self,
        view: &mut View,
        trigger: Trigger,
        words: Option<&str>,
        fallback: bool,
    ) -> Result<bool, Halt> {
        if trigger == Trigger::Manual && !self.agent.settings.context.on_request {
            self.left_as_it_is(trigger, NotCompacted::SwitchedOff).await;
            return Ok(false);
        }
        let gauge = self.gauge(fallback);
        let pressure = self.pressure(view, fallback);
        let Some(cut) = cut::plan(view, &pressure, |bytes| gauge.share(bytes)) else {
            if trigger == Trigger::Manual {
                self.left_as_it_is(trigger, NotCompacted::NothingEarlier).await;
            }
            return Ok(false);
        };
        self.compactions.tried();
        let dropped: u64 = view.items().iter().take(cut).map(|item| item.weight()).sum();
        if dropped < SMALLEST && !self.agent.settings.context.even_without_gain {
            self.left_as_it_is(trigger, NotCompacted::TooLittleToGain).await;
            return Ok(false);
        }
        let kept = view.items().get(cut..).unwrap_or_default();
        let stays = kept.iter().map(|item| item.weight()).sum::<u64>() + self.repeated();
        let stays = gauge.plausible(stays);
        let least = stays + 2 * LEAST;
        if trigger == Trigger::Auto && !pressure.is_relieved_by(least) {
            if self.compactions.is_news() {
                let (tokens, window) = (least, pressure.window);
                self.left_as_it_is(trigger, NotCompacted::StaysTooLarge { tokens, window }).await;
            }
            return Ok(false);
        }
        let words = match self.permit(trigger, words).await? {
            Ok(words) => words,
            Err(text) => {
                self.left_as_it_is(trigger, NotCompacted::Hook { text }).await;
                return Ok(false);
            }
        };
        self.out.emit(Event::Compacting { trigger }).await;
        let room = Room::new(&pressure, stays, self.agent.settings.context.summary);
        let made = self.summarise(view, cut, words.as_deref(), &room, fallback).await?;
        let said = made.text.clone();
        let Some(boundary) = self.boundary(view, cut, trigger, made, &room, &pressure, fallback)
        else {
            self.left_as_it_is(trigger, NotCompacted::NoRoomGained).await;
            return Ok(false);
        };
        self.begin_at(view, boundary, trigger, &said).await?;
        Ok(true)
    }

    /// From here on the conversation begins at the boundary.
    async fn begin_at(
        &mut self,
        view: &mut View,
        boundary: Boundary,
        trigger: Trigger,
        said: &str,
    ) -> Result<(), Halt> {
        let new = boundary.view_sharing(view);
        let receipt = Box::new(boundary.receipt.clone());
        let summary = boundary.summary().map(str::to_owned);
        self.write(Entry::Boundary(Box::new(boundary)))?;
        *view = new;
        self.agent.meter.made_room();
        self.tools.toolbox = self.agent.tools.relisted();
        self.synced().await?;
        if trigger == Trigger::Manual {
            self.tally.answered(format!("{}.", receipt.words()));
        }
        self.out.emit(Event::Compacted { receipt }).await;
        if let Some(text) = summary {
            self.out.emit(Event::MessageAdded { text }).await;
        }
        self.tell_after(trigger, said).await;
        Ok(())
    }

    async fn synced(&mut self) -> Result<(), Halt> {
        let journal = self.agent.journal.clone();
        journal.sync().await.map_err(|error| {
            self.tally.store_failed(error.to_string());
            Halt::Store
        })
    }

    async fn left_as_it_is(&mut self, trigger: Trigger, why: NotCompacted) {
        let notice = Notice::NotCompacted(why);
        if trigger == Trigger::Manual {
            // A person who asked for it gets it as the answer.
            return self.tally.answered(words::notice(&notice));
        }
        self.notice(notice).await;
    }

    /// First asks the guards that can forbid it. An interrupt does not wait for their answer.
    async fn permit(
        &mut self,
        trigger: Trigger,
        words: Option<&str>,
    ) -> Result<Result<Option<String>, String>, Halt> {
        let words = words.map(str::to_owned);
        let agent = self.agent.clone();
        let words = match self.heard_before(trigger, words).await? {
            Ok(words) => words,
            Err(why) => return Ok(Err(why)),
        };
        let Some(before) = &agent.context.before_compact else { return Ok(Ok(words)) };
        let permit = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Err(Halt::Interrupted),
            permit = before.ask(trigger, words.clone()) => permit,
        };
        Ok(match permit {
            Permit::Block(why) => Err(why),
            Permit::Go(more) => Ok(both(words, more)),
        })
    }

    /// Hooks can forbid it, too, and say what the summary should focus on.
    async fn heard_before(
        &mut self,
        trigger: Trigger,
        words: Option<String>,
    ) -> Result<Result<Option<String>, String>, Halt> {
        let (agent, name) = (self.agent.clone(), hook_name(trigger));
        if !agent.hooks.listens(EventName::PreCompact, Some(name)) {
            return Ok(Ok(words));
        }
        let custom_instructions = words.clone().unwrap_or_default();
        let event = HookEvent::PreCompact { trigger: name.to_owned(), custom_instructions };
        let heard = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Err(Halt::Interrupted),
            heard = agent.hooks.fire(event) => heard,
        };
        self.hook_messages(&heard).await;
        if heard.stand >= Stand::Ask {
            return Ok(Err(heard.why()));
        }
        let more = (!heard.context.is_empty()).then(|| heard.context.join("\n"));
        Ok(Ok(both(words, more)))
    }

    /// It is done and on disk; hooks get the event and cannot change it.
    async fn tell_after(&mut self, trigger: Trigger, summary: &str) {
        let (agent, name) = (self.agent.clone(), hook_name(trigger));
        if !agent.hooks.listens(EventName::PostCompact, Some(name)) {
            return;
        }
        let (trigger, compact_summary) = (name.to_owned(), summary.to_owned());
        let heard = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return,
            heard = agent.hooks.fire(HookEvent::PostCompact { trigger, compact_summary }) => heard,
        };
        self.hook_messages(&heard).await;
    }

    /// The boundary with everything that fits, or with less of it if that is not smaller than what it replaces.
    #[allow(clippy::too_many_arguments, reason = "each is a fact about the same moment")]
    fn boundary(
        &self,
        view: &View,
        cut: usize,
        trigger: Trigger,
        made: Summary,
        room: &Room,
        pressure: &Pressure,
        fallback: bool,
    ) -> Option<Boundary> {
        let gauge = self.gauge(fallback);
        let (known, seen, turns, title) = self.agent.journal.carried();
        let carried = known.and_of(view.messages().take(cut), self.tools.known());
        let bytes = |tokens: u64| usize::try_from(gauge.bytes(tokens)).unwrap_or(usize::MAX);
        let kept: Vec<_> = view.messages().skip(cut).collect();
        let attachments = self.attachments(&seen, bytes(room.attached), &kept);
        // All of it; without what can be read again; with little beside the summary.
        let tries = [(true, room.carry), (false, room.carry), (false, LEAST)];
        let drafts = tries.into_iter().filter_map(|(attach, carry)| {
            let (words, carry) = summary::frame(&made.text, carried.clone(), bytes(carry));
            let draft = Draft {
                view,
                cut,
                before: texts_at(&attachments, Place::Before),
                summary: words,
                after: if attach { texts_at(&attachments, Place::After) } else { Vec::new() },
            };
            let (head, kept) = (draft.head(), draft.kept_messages());
            let weight: u64 = head.iter().map(ostler_core::context::weight::of_message).sum();
            let dropped: u64 = view.items().iter().take(cut).map(|item| item.weight()).sum();
            let before = pressure.tokens;
            let left = view.weight().saturating_sub(dropped) + weight;
            let after = self.size_after(&gauge, left, weight < dropped, before)?;
            let names = attachments.iter().filter(|one| attach || one.place == Place::Before);
            let receipt = Receipt {
                trigger,
                made: made.made.clone(),
                messages: cut as u64,
                calls: draft.calls(),
                calls_dropped: draft.dropped().map(|message| message.calls().count() as u64).sum(),
                kept: kept.len() as u64,
                before,
                after,
                requests: made.requests,
                attached: names.map(|one| one.name.clone()).collect(),
            };
            let (title, seen) = (title.clone(), newest_seen(&seen));
            let at = self.agent.journal.clock().now();
            let size = after.min(gauge.plausible(left));
            // What is pending may change until it is written; the journal adds it then.
            let (inbox, questions, jobs, control) = (Vec::new(), Vec::new(), Vec::new(), None);
            #[rustfmt::skip]
            let boundary = Boundary { head, kept, carry, receipt, turns, title, seen, at, inbox, questions, jobs, control };
            Some((size, boundary))
        });
        chosen(drafts, pressure.target)
    }

    /// The size with a boundary. None if it is not smaller than what it replaces, where that matters.
    fn size_after(&self, gauge: &Gauge, left: u64, is_lighter: bool, before: u64) -> Option<u64> {
        let after = gauge.tokens(left);
        if is_lighter && after < before {
            return Some(after);
        }
        let wanted = self.agent.settings.context.even_without_gain;
        wanted.then(|| gauge.plausible(left).min(after))
    }

    /// Bytes of what always holds and is repeated.
    fn repeated(&self) -> u64 {
        let (_, seen, ..) = self.agent.journal.carried();
        let all = self.attachments(&seen, 0, &[]);
        let before = all.iter().filter(|one| one.place == Place::Before);
        before.map(|one| one.text.len() as u64).sum()
    }

    /// What is repeated. What always holds is taken whole, the rest as far as there is room.
    /// What the messages that are `kept` show is not said twice.
    fn attachments(
        &self,
        seen: &[ostler_core::tool::Seen],
        bytes: usize,
        kept: &[&Message],
    ) -> Vec<Attachment> {
        let at = Carrying { seen, bytes };
        let mut left = bytes;
        let all = self.agent.context.carried.iter().flat_map(|carried| carried.carry(&at));
        let tools = self.tools.known();
        let new = all.filter(|one| !kept.iter().any(|message| already_shows(message, one, tools)));
        new.filter(|one| match one.place {
            Place::Before => true,
            Place::After => match left.checked_sub(one.text.len()) {
                Some(rest) => {
                    left = rest;
                    true
                }
                None => false,
            },
        })
        .collect()
    }
}

fn texts_at(attachments: &[Attachment], place: Place) -> Vec<String> {
    let there = attachments.iter().filter(move |one| one.place == place);
    there.map(|one| one.text.clone()).collect()
}

/// The first one that reaches the target, otherwise the smallest.
fn chosen(drafts: impl Iterator<Item = (u64, Boundary)>, target: u64) -> Option<Boundary> {
    let mut best: Option<(u64, Boundary)> = None;
    for (size, draft) in drafts {
        if best.as_ref().is_none_or(|(smallest, _)| size < *smallest) {
            best = Some((size, draft));
        }
        if size <= target {
            break;
        }
    }
    best.map(|(_, boundary)| boundary)
}

/// As hooks know it.
fn hook_name(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Manual => "manual",
        Trigger::Auto | Trigger::Overflow => "auto",
    }
}

fn both(words: Option<String>, more: Option<String>) -> Option<String> {
    let both: Vec<String> = [words, more].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join("\n"))
}

/// Word for word, or as a file that was read whole.
fn already_shows(message: &Message, one: &Attachment, tools: &KnownTools) -> bool {
    message.blocks().iter().any(|block| match block {
        Block::Text { text, meta: true } => *text == one.text,
        Block::ToolUse { name, input, .. } if one.place == Place::After => {
            let path = tools.facts(name).read_whole(input);
            path.is_some_and(|path| std::path::Path::new(path).ends_with(&one.name))
        }
        _ => false,
    })
}

/// How a summary came about, for the receipt.
pub(crate) fn by_model(model: &ostler_core::ids::ModelId) -> Made {
    Made::Model { model: model.clone() }
}
