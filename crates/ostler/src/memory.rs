//! The memory beside the engine: brought along with a prompt, filled when a session ends.

use crate::system::SystemClock;
use ostler_core::event::Level;
use ostler_core::ids::SessionId;
use ostler_core::message::{Block, Message};
use ostler_core::view::View;
use ostler_engine::Journal;
use ostler_memory::embed::{EndpointSettings, HttpEmbedder, PostJson};
use ostler_memory::setup::{self, SetupError};
use ostler_memory::{BUDGET, Meaning, Memories, Scene, Shown, facts, render};
use ostler_models::{Network, Secret};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A prompt does not wait longer than this for its memories.
const PATIENCE: Duration = Duration::from_secs(3);
/// Nor an endpoint for its vectors.
const ENDPOINT: Duration = Duration::from_secs(2);

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
        crate::engine::block_on(posted).map_err(|error| error.to_string())?
    });
    HttpEmbedder::new(EndpointSettings { url, model }, post)
}

/// The prompt with the memories that matter for it, in one block before the person's words, and what the reader
/// should know.
pub(crate) async fn with_memories(
    memories: Arc<Memories>,
    prompt: Message,
    view: View,
    session: SessionId,
) -> (Message, Vec<(Level, String)>) {
    let text = prompt.text();
    let work = tokio::task::spawn_blocking(move || {
        let shown = Shown::of(view.messages()).with_all_of(&session);
        let found = memories.recall(&text, BUDGET, &shown);
        let opening = view.messages().next().is_none();
        // A damaged memory is worse than a missing model.
        let damage = memories.notices().into_iter().map(|text| (Level::Warning, text));
        let note = found.note.filter(|_| opening).map(|text| (Level::Info, text));
        let notices: Vec<(Level, String)> = damage.chain(note).collect();
        (render(&found.memories), notices)
    });
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(Ok((block, notices))) => (with_block(prompt, block), notices),
        // A prompt without its memories is better than none.
        Ok(Err(_)) => (prompt, Vec::new()),
        Err(_) => {
            let text = "The memory took too long; this prompt goes without it.".to_owned();
            (prompt, vec![(Level::Info, text)])
        }
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

/// Keeps what a conversation left; says why if it cannot. What else there is to say of the memory waits in it for whoever
/// can tell it.
pub(crate) async fn learn(
    memories: Arc<Memories>,
    journal: &Journal,
    folder: PathBuf,
) -> Option<String> {
    let session = journal.log().id().clone();
    let ((view, turns), (title, changed)) = (journal.conversation(), journal.begun());
    let work = tokio::task::spawn_blocking(move || {
        // Earlier ones may have been summed up.
        let prompts = view.messages().filter(|message| is_prompt(message)).count();
        let before = turns.saturating_sub(u32::try_from(prompts).unwrap_or(turns));
        let scene = Scene {
            session: &session,
            first_turn: before + 1,
            folder: &folder,
            title: &title,
            changed: &changed,
        };
        let found = facts(view.messages(), scene);
        if found.is_empty() {
            return None;
        }
        memories.remember(&found).err().map(|error| error.to_string())
    });
    work.await.unwrap_or_default()
}

fn is_prompt(message: &Message) -> bool {
    let spoken = |block: &Block| matches!(block, Block::Text { meta: false, .. });
    matches!(message, Message::User { content } if content.iter().any(spoken))
}
