//! Delivers what arrived during a turn: before a request, as one message.

use crate::hooks::Refused;
use crate::run::Turn;
use ostler_core::event::Notice;
use ostler_core::hook::{EventName, HookEvent};
use ostler_core::inbox::{Inbound, InboundSource};
use ostler_core::message::{Block, Message};
use ostler_core::turn::{Outcome, State};

impl Turn {
    /// None: nothing is to be delivered now.
    pub(crate) async fn receive(&mut self, state: &State) -> Option<Outcome> {
        let due = self.agent.inbox().take_due(std::mem::take(&mut self.waited));
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
