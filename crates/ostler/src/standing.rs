//! What the model is told besides the conversation, and told again after it was summed up: its surroundings and the
//! standing instructions.

use crate::options::Options;
use crate::surroundings::environment;
use crate::system::today;
use ostler_core::message::{Block, Message};
use ostler_core::permission::{Mode, Workspace};
use ostler_core::ports::{Attachment, Carried, Carrying, Place, Reminder};
use ostler_core::tool::Seen;
use ostler_core::view::View;
use ostler_instructions::{File, Nested, Places, load};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

const INSTRUCTIONS: &str = include_str!("../../../prompts/instructions.md").trim_ascii();

pub(crate) struct Standing {
    workspace: Workspace,
    mode: Mode,
    /// None: no instruction files are looked for.
    places: Option<Places>,
    nested: Mutex<Nested>,
    /// What was not read, for the start.
    pub(crate) notices: Vec<String>,
}

impl Standing {
    /// `view` is the conversation so far: what it says already is not said again.
    pub(crate) fn new(options: &Options, workspace: Workspace, view: &View) -> Self {
        let (mode, places) = (options.mode, options.instructions.clone());
        let loaded = places.as_ref().map(load).unwrap_or_default();
        let known = loaded.files.iter().map(|file| file.path.clone()).chain(said(view));
        let nested = Mutex::new(Nested::new(known));
        Standing { workspace, mode, places, nested, notices: loaded.notices }
    }

    /// All that holds now, general before particular. The surroundings change more often and stand last.
    fn texts(&self) -> Vec<(String, String)> {
        let files = self.places.as_ref().map(|places| load(places).files).unwrap_or_default();
        let environment = environment(&self.workspace, self.mode, &today());
        let mut texts: Vec<(String, String)> = files.iter().map(rendered).collect();
        texts.push(("environment".into(), environment));
        texts
    }

    /// The prompt with what is new since it was said last in front.
    pub(crate) fn before(&self, prompt: Message, view: &View) -> Message {
        let Message::User { content: said } = prompt else { return prompt };
        let told = |text: &str| {
            let first = text.lines().next();
            let blocks = view.messages().flat_map(|message| message.blocks());
            let about = blocks.filter_map(|block| match block {
                Block::Text { text, meta: true } if text.lines().next() == first => Some(text),
                _ => None,
            });
            about.last().is_some_and(|last| last == text)
        };
        let new = self.texts().into_iter().filter(|(_, text)| !told(text));
        let mut content: Vec<Block> =
            new.map(|(_, text)| Block::Text { text, meta: true }).collect();
        content.extend(said);
        Message::User { content }
    }
}

fn rendered(file: &File) -> (String, String) {
    let path = file.path.display().to_string();
    let text = INSTRUCTIONS
        .replace("{path}", &path)
        .replace("{from}", file.kind.words())
        .replace("{text}", file.text.trim());
    (path, text)
}

/// The files whose instructions stand in the conversation.
fn said(view: &View) -> impl Iterator<Item = PathBuf> {
    let blocks = view.messages().flat_map(|message| message.blocks());
    blocks.filter_map(|block| match block {
        Block::Text { text, meta: true } => {
            let rest = text.strip_prefix("<instructions path=\"")?;
            rest.split('"').next().map(PathBuf::from)
        }
        _ => None,
    })
}

impl Carried for Standing {
    fn carry(&self, _: &Carrying<'_>) -> Vec<Attachment> {
        let mut texts = self.texts();
        if let Some(places) = &self.places {
            let nested = self.nested.lock().unwrap_or_else(PoisonError::into_inner);
            let known: Vec<String> = texts.iter().map(|(name, _)| name.clone()).collect();
            let again = nested.again(places).files;
            let again = again.iter().map(rendered).filter(|(name, _)| !known.contains(name));
            let at = texts.len().saturating_sub(1);
            texts.splice(at..at, again);
        }
        let attach = |(name, text)| Attachment { name, text, place: Place::Before };
        texts.into_iter().map(attach).collect()
    }
}

impl Reminder for Standing {
    fn after_calls(&self, seen: &[Seen]) -> Vec<String> {
        let Some(places) = &self.places else { return Vec::new() };
        let paths: Vec<PathBuf> = seen.iter().map(|seen| seen.path.clone()).collect();
        if paths.is_empty() {
            return Vec::new();
        }
        let mut nested = self.nested.lock().unwrap_or_else(PoisonError::into_inner);
        nested.after(&paths, places).files.iter().map(|file| rendered(file).1).collect()
    }
}
