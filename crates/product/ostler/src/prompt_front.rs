//! What precedes a prompt: instructions, environment, changed files, memories.

use crate::memory::{Recalling, with_memories};
use crate::session_parts::SessionParts;
use ostler_core::event::Notice;
use ostler_core::message::Message;
use ostler_core::view::View;
use ostler_engine::Journal;

const LOST: &str = include_str!("../../../../prompts/lost-agents.md").trim_ascii();

/// The prompt with what belongs in front of it, and what the reader should know.
pub(crate) fn furnished(
    parts: &SessionParts,
    recalling: Option<Recalling>,
    prompt: Message,
    (view, journal): (View, &Journal),
) -> impl Future<Output = (Message, Vec<Notice>)> + Send + use<> {
    let (instructions, in_use) = (parts.instructions.clone(), parts.in_use.clone());
    let undo_news = parts.undo_news.clone();
    let lost = lost_agents(parts, journal);
    let servers = parts.servers.clone();
    async move {
        servers.first_look().await;
        let bare = prompt.clone();
        let work = move || {
            let undone = undo_news.map(|news| news.texts()).unwrap_or_default();
            instructions.before(prompt, &view, [undone, in_use.changes(), lost].concat())
        };
        let (prompt, mut notices) =
            tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| (bare, Vec::new()));
        let Some(recalling) = recalling else { return (prompt, notices) };
        let (prompt, more) = with_memories(recalling, prompt).await;
        notices.extend(more);
        (prompt, notices)
    }
}

/// Agents that were at work when an earlier process died.
fn lost_agents(parts: &SessionParts, journal: &Journal) -> Vec<String> {
    let lost = parts.subagents.roster.take_lost(journal);
    lost.map(|lines| LOST.replace("{agents}", &lines)).into_iter().collect()
}
