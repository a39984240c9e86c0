//! The walk through a script: lists, pipelines and simple commands, and the directory each of them runs in.

use super::folders::{Folders, Move};
use super::integer_variables::Numbers;
use super::listing::{self, Listing};
use super::words::Bindings;
use super::{compound, printed_scripts, redefinitions::Shadows, suspects};
use ostler_policy::script::*;
use ostler_policy::{Caution, Commands, Effect, Position, Step};

/// How deep constructs and texts may nest, all counted together.
const MAX_LEVEL: usize = 40;
/// How often a command may start another, or hold a text that does.
pub(super) const MAX_WRAPS: usize = 16;
const MAX_STEPS: usize = 20_000;

/// Where in the text a command stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WalkPosition {
    pub(super) inside: Option<usize>,
    pub(super) position: Position,
}

impl WalkPosition {
    pub(super) fn position(self, position: Position) -> Self {
        WalkPosition { position, ..self }
    }
}

pub(super) struct StepWalk {
    pub(super) steps: Vec<Step>,
    pub(super) pipes: Vec<Vec<Vec<usize>>>,
    doubts: Vec<String>,
    pub(super) shadows: Shadows,
    /// Where the shell may be at this point of the text.
    pub(super) folder: Folders,
    /// The same command is looked at again, in another directory.
    again: bool,
    pub(super) bindings: Bindings,
    pub(super) numbers: Numbers,
    /// Loop variables whose values were taken for known.
    pub(super) loops: Vec<String>,
    /// What the stage before this one in a pipeline prints, as far as it is known.
    pub(super) fed: Vec<String>,
    /// The same, where it is names of files below known directories.
    pub(super) listing: Option<Listing>,
    level: usize,
    pub(super) wraps: usize,
    /// How many of them are programs or shells: functions of this shell do not reach what they start.
    pub(super) past: usize,
    /// Bytes of nested texts read so far.
    pub(super) nested: usize,
}

impl StepWalk {
    pub(super) fn new(text: &str) -> Self {
        StepWalk {
            steps: Vec::new(),
            pipes: Vec::new(),
            doubts: Vec::new(),
            shadows: Shadows::default(),
            folder: Folders::default(),
            again: false,
            bindings: Bindings::of(text),
            numbers: Numbers::default(),
            loops: Vec::new(),
            fed: Vec::new(),
            listing: None,
            level: 0,
            wraps: 0,
            past: 0,
            nested: 0,
        }
    }

    pub(super) fn doubt(&mut self, why: impl Into<String>) {
        let why = why.into();
        if self.doubts.len() < 20 && !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }

    pub(super) fn finish(mut self, text: &str) -> Commands {
        self.shadows.apply(&mut self.steps);
        if self.loops.iter().any(|name| self.shadows.sets_again(name)) {
            self.doubt("a loop variable is set elsewhere, too");
        }
        let suspects =
            if self.doubts.is_empty() { Vec::new() } else { suspects::of(text, &self.steps) };
        Commands {
            text: text.to_owned(),
            steps: self.steps,
            pipes: self.pipes,
            doubts: self.doubts,
            suspects,
        }
    }

    pub(super) fn script(&mut self, script: &Script, at: WalkPosition) {
        let (held, numbers) = (self.bindings.count(), self.numbers.count());
        for item in &script.items {
            if item.background {
                let position = match at.position {
                    Position::Plain => Position::Background,
                    other => other,
                };
                let (held, numbers) = (self.bindings.count(), self.numbers.count());
                self.apart(|walk| walk.item(item, at.position(position)));
                self.bindings.forget(held);
                self.numbers.forget(numbers);
            } else {
                self.item(item, at);
            }
        }
        self.bindings.forget(held);
        self.numbers.forget(numbers);
    }

    /// Runs in a shell of its own: it changes directory for itself only.
    pub(super) fn apart(&mut self, work: impl FnOnce(&mut Self)) {
        let folder = self.folder.clone();
        work(self);
        self.folder = folder;
    }

    fn item(&mut self, item: &Item, at: WalkPosition) {
        let before = self.folder.clone();
        self.pipeline(&item.first, at);
        self.keep_constant(&item.first);
        let after_first = self.folder.clone();
        // Wherever it may be while this runs: a change of directory can fail, and what follows can be skipped.
        let mut all = before.or(&after_first);
        for (index, (join, pipeline)) in item.rest.iter().enumerate() {
            match join {
                Join::And => self.pipeline(pipeline, at),
                Join::Or => {
                    // A plain `cd` that failed has changed nothing.
                    let plain = index == 0 && is_single(&item.first);
                    let skipped = self.folder.clone();
                    self.folder = if plain { before.clone() } else { all.clone() };
                    self.pipeline(pipeline, at);
                    self.folder = skipped.or(&self.folder);
                }
            }
            all = all.or(&self.folder);
        }
        self.folder = match item.rest.as_slice() {
            [(Join::Or, last)] if is_single(&item.first) && leaves(last) => after_first,
            _ => all,
        };
    }

    fn pipeline(&mut self, pipeline: &Pipeline, at: WalkPosition) {
        if pipeline.stages.is_empty() {
            self.doubt("a pipeline has no command");
        }
        if let [stage] = pipeline.stages.as_slice() {
            let before = self.folder.clone();
            self.stage(stage, at);
            if pipeline.negated {
                self.folder = before.or(&self.folder);
            }
            return;
        }
        let mut stages = Vec::new();
        let outer = (std::mem::take(&mut self.fed), self.listing.take());
        for stage in &pipeline.stages {
            let start = self.steps.len();
            self.apart(|walk| walk.stage(stage, at));
            self.fed = printed_scripts::handed_on(stage, std::mem::take(&mut self.fed));
            self.listing = listing::of(stage, self.listing.take());
            stages.push((start..self.steps.len()).collect());
        }
        (self.fed, self.listing) = outer;
        self.pipes.push(stages);
    }

    pub(super) fn stage(&mut self, stage: &PipelineStage, at: WalkPosition) {
        if matches!(stage, PipelineStage::Compound { .. }) {
            // Which of its commands reads what it is given is not known.
            self.listing = None;
        }
        if self.level >= MAX_LEVEL {
            return self.doubt("it is nested too deep");
        }
        if self.steps.len() > MAX_STEPS {
            return self.doubt("it has too many commands");
        }
        self.level += 1;
        match stage {
            PipelineStage::Simple(command) => self.simple(command, at),
            PipelineStage::Compound { body, redirects } => {
                compound::walk(self, body, at);
                self.compound_redirects(redirects, at);
            }
        }
        self.level -= 1;
    }

    /// The redirections of a compound command: a step without words.
    pub(super) fn compound_redirects(&mut self, redirects: &[Redirect], at: WalkPosition) {
        if !redirects.is_empty() {
            self.in_each_folder(|walk| {
                let index = walk.push(Vec::new(), at);
                walk.redirects(index, redirects);
            });
        }
    }

    pub(super) fn push(&mut self, words: Vec<Word>, at: WalkPosition) -> usize {
        self.steps.push(Step {
            words,
            inside: at.inside,
            position: at.position,
            folder: self.folder.only().cloned(),
            ..Step::default()
        });
        self.steps.len() - 1
    }

    /// A command that may run in several directories is a step in each.
    pub(super) fn in_each_folder(&mut self, mut work: impl FnMut(&mut Self)) {
        let (before, again) = (self.folder.clone(), self.again);
        let mut after: Option<Folders> = None;
        for folder in before.each() {
            self.folder = folder;
            self.again = again || after.is_some();
            work(self);
            after = Some(after.map_or_else(|| self.folder.clone(), |all| all.or(&self.folder)));
        }
        self.again = again;
        self.folder = after.unwrap_or(Folders::UNKNOWN);
    }

    /// A variable is set, in one way or another. Looking twice at one assignment does not make two.
    pub(super) fn note_set(&mut self, name: &str) {
        if !self.again {
            self.shadows.sets(name);
        }
    }

    fn simple(&mut self, command: &Command, at: WalkPosition) {
        self.in_each_folder(|walk| walk.simple_here(command, at));
    }

    fn simple_here(&mut self, command: &Command, at: WalkPosition) {
        let folded = super::constants::folded(&command.words);
        match self.spelled(&folded).filter(|_| command.assignments.is_empty()) {
            None => self.spelling(command, &folded, true, at),
            Some(spelled) => {
                for (place, words) in spelled.iter().enumerate() {
                    self.spelling(command, words, place == 0, at);
                }
            }
        }
    }

    /// The command with the words in one of their spellings.
    fn spelling(&mut self, command: &Command, words: &[Word], first: bool, at: WalkPosition) {
        let index = self.push(words.to_vec(), at);
        if first {
            self.descend(&command.words, index);
            self.assignments(index, &command.assignments, words.first());
        }
        if !words.is_empty() {
            self.run(index, words, &command.redirects);
            self.judge_variables(index);
        }
        self.redirects(index, &command.redirects);
    }

    pub(super) fn change(&mut self, index: usize, change: impl FnOnce(&mut Step)) {
        if let Some(step) = self.steps.get_mut(index) {
            change(step);
        }
    }

    /// The step may do anything, and a rule on its program does not vouch for it.
    pub(super) fn unknown(&mut self, index: usize, why: impl Into<String>, word: Option<usize>) {
        let why = why.into();
        self.change(index, |step| {
            step.transparent = false;
            step.cautions.push(Caution::new(why.clone(), word));
            if !matches!(step.effect, Effect::Ruin(_) | Effect::Unknown(_)) {
                step.effect = Effect::Unknown(why);
            }
        });
    }

    pub(super) fn moved(&mut self, to: &Move) {
        self.folder = self.folder.moved(to);
    }
}

/// One simple command.
fn is_single(pipeline: &Pipeline) -> bool {
    !pipeline.negated && matches!(pipeline.stages.as_slice(), [PipelineStage::Simple(_)])
}

/// `exit` or `return`.
fn leaves(pipeline: &Pipeline) -> bool {
    match pipeline.stages.as_slice() {
        [PipelineStage::Simple(command)] => {
            let name = command.words.first().and_then(Word::literal);
            matches!(name, Some("exit" | "return")) && command.words.len() <= 2
        }
        _ => false,
    }
}
