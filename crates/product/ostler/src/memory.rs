//! Memory in a session: searched for each prompt, filled when a turn or session ends.

use crate::plain_threads::SEARCHES;
use crate::system::SystemClock;
use ostler_core::event::Notice;
use ostler_core::ids::SessionId;
use ostler_core::message::{Block, Message};
use ostler_core::prompt_texts::SUMMARY;
use ostler_core::tool_facts::KnownTools;
use ostler_core::view::View;
use ostler_engine::Journal;
use ostler_memory::embed::{EndpointSettings, HttpEmbedder, PostJson};
use ostler_memory::setup::{self, SetupError};
use ostler_memory::{BUDGET, LearningScene, Meaning, Memories, NO_MODEL, Shown, facts, render};
use ostler_models::{Network, Secret};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// A prompt does not wait longer than this for the meaning of it; what was found by words is there by then.
const MEANING: Duration = Duration::from_millis(500);
/// Nor longer than this for the disk.
const PATIENCE: Duration = Duration::from_secs(2);
/// Nor an endpoint for its vectors.
const ENDPOINT: Duration = Duration::from_secs(2);
const LATE: &str = "Found by words only: the search by meaning took too long.";

/// An embedding endpoint of the usual form, instead of the model on this machine.
#[derive(Clone)]
pub struct EmbeddingEndpoint {
    pub url: String,
    pub model: String,
    pub key: Option<Secret>,
}

/// The memory of a project. `home` is where we keep our state.
pub fn memories(
    home: &Path,
    cwd: &Path,
    endpoint: Option<EmbeddingEndpoint>,
    network: Network,
) -> Memories {
    let meaning = match endpoint {
        None => Meaning::Installed(setup::model_path(home)),
        Some(endpoint) => Meaning::Given(Arc::new(embedder(endpoint, network))),
    };
    let project = ostler_store::project_name(cwd);
    Memories::new(&home.join("memory"), &project, meaning, Arc::new(SystemClock))
}

/// Fetches and installs the embedding model.
pub async fn setup_memory(
    home: &Path,
    network: &Network,
    progress: impl FnMut(usize),
) -> Result<PathBuf, SetupError> {
    let package = setup::PACKAGE;
    let fetched = network.download(package.url, package.bytes, progress).await;
    setup::install(home, |_| fetched)
}

/// The same with a package that was fetched otherwise.
pub fn install_memory(home: &Path, package: Vec<u8>) -> Result<PathBuf, SetupError> {
    setup::install(home, |_| Ok(package))
}

/// Is called where waiting is allowed, so it may have a runtime of its own.
fn embedder(endpoint: EmbeddingEndpoint, network: Network) -> HttpEmbedder {
    let EmbeddingEndpoint { url, model, key } = endpoint;
    let post: PostJson = Box::new(move |url, body| {
        let posted = network.post_json(url, key.as_ref(), body, ENDPOINT);
        crate::init::block_on(posted).map_err(|error| error.to_string())?
    });
    HttpEmbedder::new(EndpointSettings { url, model }, post)
}

/// A search for the memories of a prompt, begun when the prompt is read.
pub(crate) struct Recalling {
    words: String,
    found: oneshot::Receiver<Brought>,
    /// The same by words, if there is more than words.
    by_words: oneshot::Receiver<Brought>,
    /// That the search was by words is said once.
    said: Arc<AtomicBool>,
}

/// What a prompt brings along.
struct Brought {
    block: Option<String>,
    notices: Vec<String>,
    /// Why it was found by words only.
    note: Option<String>,
}

impl Recalling {
    /// Is this the search for that prompt?
    pub(crate) fn is_for(&self, words: &str) -> bool {
        self.words.trim() == words.trim()
    }
}

/// What is looked for: the person's words, or all there is where they said none.
pub(crate) fn words_of(prompt: &Message) -> String {
    let own: String = prompt.own_words().collect();
    if own.trim().is_empty() { prompt.text() } else { own }
}

/// Begins to look for the memories that matter, beside everything else that is to be done for a prompt. `said`: the
/// reader knows that the search is by words.
pub(crate) fn recall(
    memories: Arc<Memories>,
    words: String,
    view: View,
    session: SessionId,
    said: Arc<AtomicBool>,
) -> Recalling {
    let (tell, found) = oneshot::channel();
    let (tell_words, by_words) = oneshot::channel();
    let query = words.clone();
    SEARCHES.run(move || {
        let shown = Shown::of(view.messages());
        // What lies behind a boundary is news again, unless the summary says it.
        let shown = if is_whole(&view) { shown.with_all_of(&session) } else { shown };
        let by_words = memories.recall_by_words(&query, BUDGET, &shown);
        let mut notices = memories.notices();
        match by_words {
            Some(found) => {
                let (block, notices) = (render(&found.memories), notices.clone());
                drop(tell_words.send(Brought { block, notices, note: Some(LATE.into()) }));
            }
            None => drop(tell_words),
        }
        let found = memories.recall(&query, BUDGET, &shown);
        notices.extend(memories.notices());
        // That there is no model is known since the first prompt.
        let note = found.note.filter(|note| view.is_empty() || note != NO_MODEL);
        let _ = tell.send(Brought { block: render(&found.memories), notices, note });
    });
    Recalling { words, found, by_words, said }
}

/// Nothing of the conversation was summarized.
fn is_whole(view: &View) -> bool {
    let first = SUMMARY.split("{carry}").next().unwrap_or(SUMMARY).trim_end();
    let summed_up = |block: &Block| matches!(block, Block::Text { text, meta: true } if text.starts_with(first));
    !view.messages().flat_map(Message::blocks).any(summed_up)
}

/// The prompt with the memories that matter for it, in one block before the person's words, and what the reader
/// should know.
pub(crate) async fn with_memories(recalling: Recalling, prompt: Message) -> (Message, Vec<Notice>) {
    let Recalling { mut found, by_words, said, .. } = recalling;
    let brought = match tokio::time::timeout(MEANING, &mut found).await {
        Ok(brought) => Ok(brought),
        Err(_) => match tokio::time::timeout(PATIENCE, by_words).await {
            Ok(Ok(brought)) => Ok(Ok(brought)),
            _ => tokio::time::timeout(PATIENCE, found).await,
        },
    };
    match brought {
        Ok(Ok(Brought { block, notices, note })) => {
            // A damaged memory is worse than a missing model.
            let damage = notices.into_iter().map(|text| Notice::Memory { text });
            let note = note.filter(|_| !said.swap(true, Ordering::Relaxed));
            let note = note.map(|text| Notice::MemoryByWords { text });
            (with_block(prompt, block), damage.chain(note).collect())
        }
        // Sending a prompt without memories is better than failing.
        Ok(Err(_)) => (prompt, Vec::new()),
        Err(_) => (prompt, vec![Notice::MemoryLate]),
    }
}

/// Before the person's words, after what the harness put in front of them.
fn with_block(prompt: Message, block: Option<String>) -> Message {
    let (Message::User { mut content }, Some(text)) = (prompt.clone(), block) else {
        return prompt;
    };
    let own = |block: &Block| !matches!(block, Block::Text { meta: true, .. });
    let at = content.iter().position(own).unwrap_or(content.len());
    content.insert(at, Block::Text { text, meta: true });
    Message::User { content }
}

/// Keeps what a conversation left. What there is to say of it, as that it failed or that a credential was not kept, waits
/// in the memory for whoever can tell it.
pub(crate) async fn learn(
    memories: Arc<Memories>,
    journal: &Journal,
    folder: PathBuf,
    tools: KnownTools,
) {
    let session = journal.log().id().clone();
    let ((view, turns), (title, changed)) =
        (journal.conversation(), journal.title_and_changed_files());
    let work = tokio::task::spawn_blocking(move || {
        // Earlier ones may have been summarized.
        let prompts = view.messages().filter(|message| is_prompt(message)).count();
        let before = turns.saturating_sub(u32::try_from(prompts).unwrap_or(turns));
        let scene = LearningScene {
            session: &session,
            first_turn: before + 1,
            folder: &folder,
            title: &title,
            changed: &changed,
            tools: &tools,
        };
        let found = facts(view.messages(), scene);
        if let Err(error) = memories.remember(&found) {
            memories.failed(&error);
        }
    });
    let _ = work.await;
}

fn is_prompt(message: &Message) -> bool {
    let spoken = |block: &Block| matches!(block, Block::Text { meta: false, .. });
    matches!(message, Message::User { content } if content.iter().any(spoken))
}
