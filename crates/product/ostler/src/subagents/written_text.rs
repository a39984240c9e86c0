//! What an agent wrote so far: its last text for notices, and all of it in a file once it is a job.

use ostler_core::event::{Envelope, Event};
use ostler_core::job::PREVIEW;
use ostler_core::message::Block;
use ostler_core::text::tail;
use ostler_tools::JobOutput;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(super) struct WrittenText {
    texts: Mutex<Texts>,
}

#[derive(Default)]
struct Texts {
    /// Of an answer that may still be discarded.
    unsealed: String,
    /// The newest complete one.
    last: String,
    file: Option<JobOutput>,
}

impl WrittenText {
    /// Only what the agent says itself, not those below it.
    pub(super) fn see(&self, envelope: &Envelope) {
        if !envelope.agent.is_root() {
            return;
        }
        let mut texts = self.texts();
        match &envelope.event {
            Event::BlockFinished { block: Block::Text { text, .. } } => {
                texts.unsealed.push_str(text);
            }
            Event::AnswerDropped => texts.unsealed.clear(),
            Event::AnswerSealed { .. } => {
                let text = std::mem::take(&mut texts.unsealed);
                texts.add(text.trim());
            }
            Event::Finished(finished) => texts.add(finished.text.trim()),
            _ => {}
        }
    }

    /// From here on everything is in this file, too, beginning with the last text.
    pub(super) fn write_to(&self, path: &Path) -> io::Result<()> {
        let mut texts = self.texts();
        let mut file = JobOutput::create(path)?;
        if !texts.last.is_empty() {
            file.push(format!("{}\n", texts.last).as_bytes());
        }
        texts.file = Some(file);
        Ok(())
    }

    /// Enough of the last text for a notice.
    pub(super) fn last(&self) -> String {
        // One character more says that something is left out.
        tail(&self.texts().last, PREVIEW + 1).to_owned()
    }

    pub(super) fn new_output(&self) -> String {
        self.texts().file.as_mut().map(JobOutput::new_output).unwrap_or_default()
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Texts {
    fn add(&mut self, text: &str) {
        // The end of the turn repeats the last answer.
        if text.is_empty() || text == self.last {
            return;
        }
        if let Some(file) = &mut self.file {
            file.push(format!("{text}\n").as_bytes());
        }
        text.clone_into(&mut self.last);
    }
}
