//! What the model gets besides the conversation: its environment and the instruction files. Both are repeated after a
//! compaction. What it already has is read from the conversation itself, so nothing has to be reset at a boundary.

use crate::calendar::Calendar;
use crate::host::Host;
use crate::known_instructions::{KnownInstructions, no_room, rendered, withdrawal};
use crate::read_judge::ReadJudge;
use crate::session_options::SessionOptions;
use crate::surroundings::environment;
use crate::system::SystemClock;
use ostler_core::event::Notice;
use ostler_core::message::{Block, Message};
use ostler_core::permission::{Live, Mode, Policy, Workspace};
use ostler_core::ports::{Attachment, Carried, Carrying, Place, Reminder};
use ostler_core::time::Clock;
use ostler_core::tool::Seen;
use ostler_core::view::View;
use ostler_engine::Agent;
use ostler_instructions::{
    File, InstructionKind, InstructionRequest, LoadedInstructions, Shelf, most_bytes,
};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Notices of a session; then one says that there are more.
const NOTICES: usize = 50;
/// Files in a conversation from which on one that has no room is not even named.
const NAMED: usize = 200;

pub(crate) struct InstructionsState {
    workspace: Live<Workspace>,
    /// The directories that the model knows of; none: to be looked up in the conversation.
    known_roots: Mutex<Option<Vec<PathBuf>>>,
    calendar: Calendar,
    /// Until there is an agent, whose mode can change.
    start_mode: Mode,
    /// None: no instruction files are looked for.
    shelf: Option<Mutex<Shelf>>,
    agent: OnceLock<Weak<Agent>>,
    notices: Mutex<Notices>,
}

/// What was not read, each once.
#[derive(Default)]
struct Notices {
    told: HashSet<String>,
    waiting: Vec<Notice>,
}

impl InstructionsState {
    pub(crate) fn new(
        host: &Host,
        options: &SessionOptions,
        policy: &Policy,
        workspace: &Live<Workspace>,
    ) -> Arc<Self> {
        let calendar = host.options().calendar.clone();
        let shelf = options.instructions.clone().map(|places| {
            let judge = ReadJudge::new(policy, workspace.clone(), &places.project);
            let judge =
                Arc::new(move |request: &InstructionRequest<'_>| judge.instructions(request));
            Mutex::new(Shelf::new(places).judged_by(judge))
        });
        Arc::new(InstructionsState {
            workspace: workspace.clone(),
            known_roots: Mutex::default(),
            calendar,
            start_mode: options.mode,
            shelf,
            agent: OnceLock::new(),
            notices: Mutex::default(),
        })
    }

    /// There is an agent, and with it a window. Gives what was not read, for the start.
    pub(crate) fn serve(&self, agent: &Arc<Agent>) -> Vec<Notice> {
        let _ = self.agent.set(Arc::downgrade(agent));
        if let Some(mut shelf) = self.shelf() {
            self.loaded(shelf.standing(self.most_bytes(&View::default())));
        }
        self.notices()
    }

    fn shelf(&self) -> Option<MutexGuard<'_, Shelf>> {
        Some(self.shelf.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn mode(&self) -> Mode {
        let agent = self.agent.get().and_then(Weak::upgrade);
        agent.map_or(self.start_mode, |agent| agent.gate.mode())
    }

    /// All files together, in the window there is.
    fn most_bytes(&self, view: &View) -> usize {
        let agent = self.agent.get().and_then(Weak::upgrade);
        let window = agent.map(|agent| agent.pressure(view, &agent.choice().primary).window);
        most_bytes(window.unwrap_or(u64::MAX))
    }

    fn loaded(&self, mut loaded: LoadedInstructions) -> LoadedInstructions {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        for text in loaded.notices.drain(..) {
            if notices.told.len() <= NOTICES && notices.told.insert(text.clone()) {
                let last = notices.told.len() > NOTICES;
                notices.waiting.push(match last {
                    true => Notice::MoreInstructions,
                    false => Notice::Instructions { text },
                });
            }
        }
        drop(notices);
        loaded
    }

    fn surroundings(&self) -> String {
        environment(&self.workspace.now(), self.mode(), &self.calendar.day(SystemClock.now()))
    }

    /// The prompt with what is new since it was said last in front, and `changed`, what happened to files meanwhile,
    /// before the person's words. Gives also what the person should know.
    pub(crate) fn before(
        &self,
        prompt: Message,
        view: &View,
        changed: Vec<String>,
    ) -> (Message, Vec<Notice>) {
        let Message::User { content: mut words } = prompt else { return (prompt, Vec::new()) };
        let meta = |text| Block::Text { text, meta: true };
        let own = |block: &Block| !matches!(block, Block::Text { meta: true, .. });
        let at = words.iter().position(own).unwrap_or(words.len());
        words.splice(at..at, changed.into_iter().map(meta));
        let mut content: Vec<Block> = self.news(view).into_iter().map(meta).collect();
        content.extend(self.new_surroundings(view).map(meta));
        content.extend(words);
        (Message::User { content }, self.notices())
    }

    /// The description of the environment, if it is not what was said last.
    fn new_surroundings(&self, view: &View) -> Option<String> {
        let roots = self.workspace.now().roots.clone();
        *self.known_roots.lock().unwrap_or_else(PoisonError::into_inner) = Some(roots);
        let surroundings = self.surroundings();
        (last_of_its_kind(view, &surroundings) != Some(&surroundings)).then_some(surroundings)
    }

    /// The same if a directory was added.
    fn added_roots(&self, view: &View) -> Option<String> {
        let known = self.known_roots.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_known = known.is_some_and(|known| known == self.workspace.now().roots);
        if is_known { None } else { self.new_surroundings(view) }
    }

    /// Instructions that are not what was said last, general before particular.
    fn news(&self, view: &View) -> Vec<String> {
        let Some(mut shelf) = self.shelf() else { return Vec::new() };
        let (said, most) = (KnownInstructions::of(view), self.most_bytes(view));
        let standing = self.loaded(shelf.standing(most));
        let (nested, withdrawn) = others(&said, &standing);
        let known = standing.files.iter().map(|file| file.path.clone());
        // What is there already needs no room.
        let again = self.loaded(shelf.again(nested, known, (usize::MAX, most)));
        let mut left = most.saturating_sub(said.bytes);
        let mut news = Vec::new();
        for file in standing.files.iter().chain(&again.files) {
            let (text, last) = (rendered(file), said.last(&file.path));
            if last == Some(text.as_str()) {
                continue;
            }
            match left.checked_sub(text.len()) {
                Some(rest) => {
                    left = rest;
                    news.push(text);
                }
                None => {
                    let text = no_room(&file.omitted());
                    news.extend((last != Some(text.as_str())).then_some(text));
                }
            }
        }
        news.extend(
            withdrawn.iter().chain(&again.gone).map(|(path, kind)| withdrawal(path, *kind)),
        );
        news
    }

    /// All instructions, for the conversation that a compaction starts.
    fn all(&self, view: &View) -> Vec<(PathBuf, String)> {
        let Some(mut shelf) = self.shelf() else { return Vec::new() };
        let (said, most) = (KnownInstructions::of(view), self.most_bytes(view));
        let standing = self.loaded(shelf.standing(most));
        let named = |file: &File| (file.path.clone(), rendered(file));
        let mut all: Vec<(PathBuf, String)> = standing.files.iter().map(named).collect();
        let left = most.saturating_sub(all.iter().map(|(_, text)| text.len()).sum());
        let (nested, _) = others(&said, &standing);
        let known = standing.files.iter().map(|file| file.path.clone());
        let again = self.loaded(shelf.again(nested, known, (left, most)));
        all.extend(again.files.iter().map(named));
        all.extend(again.left_out.iter().map(|file| (file.path.clone(), no_room(file))));
        all
    }
}

type Files = Vec<(PathBuf, InstructionKind)>;

/// What was said and is not among what always holds: that of nested files and rules, and what no longer applies.
fn others(said: &KnownInstructions<'_>, standing: &LoadedInstructions) -> (Files, Files) {
    let held: HashSet<&Path> = standing.files.iter().map(|file| file.path.as_path()).collect();
    let left_out: HashSet<&Path> =
        standing.left_out.iter().map(|file| file.path.as_path()).collect();
    let others =
        said.holding().filter(|(path, _)| !held.contains(path) && !left_out.contains(path));
    others.map(|(path, kind)| (path.to_owned(), kind)).partition(|(_, kind)| {
        matches!(kind, InstructionKind::Nested | InstructionKind::Rule | InstructionKind::Local)
    })
}

/// The newest note of the harness that begins with the same line.
fn last_of_its_kind<'a>(view: &'a View, text: &str) -> Option<&'a String> {
    let first = text.lines().next();
    let blocks = view.messages().flat_map(|message| message.blocks());
    let about = blocks.filter_map(|block| match block {
        Block::Text { text, meta: true } if text.lines().next() == first => Some(text),
        _ => None,
    });
    about.last()
}

impl Carried for InstructionsState {
    fn carry(&self, _: &Carrying<'_>) -> Vec<Attachment> {
        let agent = self.agent.get().and_then(Weak::upgrade);
        let view = agent.map(|agent| agent.journal.conversation().0).unwrap_or_default();
        let files = self.all(&view).into_iter();
        let named = |(path, text): (PathBuf, String)| (path.display().to_string(), text);
        // The environment changes more often and comes last.
        let surroundings = self.surroundings();
        let texts = files.map(named).chain([("environment".to_owned(), surroundings)]);
        texts.map(|(name, text)| Attachment { name, text, place: Place::Before }).collect()
    }
}

impl Reminder for InstructionsState {
    fn after_calls(&self, seen: &[Seen], view: &View) -> Vec<String> {
        let surroundings = self.added_roots(view);
        let paths: Vec<PathBuf> = seen.iter().map(|seen| seen.path.clone()).collect();
        let Some(mut shelf) = self.shelf().filter(|_| !paths.is_empty()) else {
            return surroundings.into_iter().collect();
        };
        let (said, most) = (KnownInstructions::of(view), self.most_bytes(view));
        let known: Vec<PathBuf> = said.holding().map(|(path, _)| path.to_owned()).collect();
        let left = most.saturating_sub(said.bytes);
        let found = self.loaded(shelf.nearby(&paths, known, (left, most)));
        let files = found.files.iter().map(rendered);
        let mut texts: Vec<String> = surroundings.into_iter().chain(files).collect();
        let room = NAMED.saturating_sub(said.len() + texts.len());
        texts.extend(found.left_out.iter().take(room).map(no_room));
        texts
    }

    fn notices(&self) -> Vec<Notice> {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut notices.waiting)
    }
}
