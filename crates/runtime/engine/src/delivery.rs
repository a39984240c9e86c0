//! Delivers what arrived during a turn: before a request, as one message.

use crate::hooks::Refused;
use crate::run::Turn;
use ostler_core::event::{Event, Notice};
use ostler_core::hook::{EventName, HookEvent};
use ostler_core::ids::InboundId;
use ostler_core::inbox::{Delivery, Inbound, InboundSource};
use ostler_core::message::{Block, Message};
use ostler_core::ports::StoreError;
use ostler_core::turn::{Continue, Outcome, State};

impl Turn {
    /// None: nothing is to be delivered now.
    pub(crate) async fn receive(&mut self, state: &State) -> Option<Outcome> {
        if let Err(error) = self.announce_tools(state).await {
            self.tally.store_failed(error.to_string());
            return Some(Outcome::StoreFailed);
        }
        let due = {
            let results = state.last == Some(Continue::NextTurn);
            self.agent.inbox().take_due(std::mem::take(&mut self.waited), results)
        };
        let (mut content, mut ids, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for item in due {
            let id = item.id.clone();
            match self.blocks_with_hook_additions(item).await {
                Ok(mut blocks) => {
                    content.append(&mut blocks);
                    ids.push(id);
                }
                Err(Refused::By(why)) => {
                    self.notice(Notice::Hook { text: why }).await;
                    refused.push(id);
                }
                Err(Refused::Interrupted) => return Some(Outcome::Interrupted),
            }
        }
        let message = Message::User { content };
        // An empty item would be offered forever.
        if !ids.is_empty() && state.view.clone().push(message.clone()).is_none() {
            refused.append(&mut ids);
        }
        if let Err(error) = self.refuse(refused).await {
            self.tally.store_failed(error.to_string());
            return Some(Outcome::StoreFailed);
        }
        (!ids.is_empty()).then_some(Outcome::Received { message, ids })
    }

    /// Tools that came and went are an item like any other. One that an earlier process left, and that is not true any
    /// more, goes: the model never read it.
    async fn announce_tools(&mut self, state: &State) -> Result<(), StoreError> {
        let inbox = self.agent.inbox();
        let news = self.tools.toolbox.news(&state.view);
        let is_current =
            |item: &Inbound| news.as_ref().is_some_and(|news| news.message == item.body);
        let pending = inbox.pending().into_iter();
        let announced = pending.filter(|item| matches!(item.source, InboundSource::Tools { .. }));
        let (current, stale): (Vec<_>, Vec<_>) = announced.partition(is_current);
        let ids: Vec<_> = stale.into_iter().map(|item| item.id).collect();
        self.refuse(ids).await?;
        let Some(news) = news.filter(|_| current.is_empty()) else { return Ok(()) };
        let item = Inbound {
            id: InboundId::new(self.agent.meter.ids.uuid()),
            source: InboundSource::Tools { added: news.added, removed: news.removed },
            when: Delivery::NextBoundary,
            body: news.message,
            at: self.agent.journal.clock().now(),
        };
        let queued = item.queued();
        inbox.arrive(item)?;
        self.out.emit(Event::Queued(queued)).await;
        Ok(())
    }

    /// The words of a person go through the same hooks as a prompt, and come with what these add.
    async fn blocks_with_hook_additions(&mut self, item: Inbound) -> Result<Vec<Block>, Refused> {
        let mut blocks = item.body.blocks().to_vec();
        let hooks = &self.agent.hooks;
        if item.source == InboundSource::Person && hooks.listens(EventName::UserPromptSubmit, None)
        {
            let event = HookEvent::UserPromptSubmit { prompt: item.body.text() };
            let added = self.hook_additions(event).await?;
            blocks.extend(added.into_iter().map(|text| Block::Text { text, meta: true }));
        }
        Ok(blocks)
    }
}
