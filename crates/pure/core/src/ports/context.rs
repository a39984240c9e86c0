//! Ports that add to what the model sees, besides the conversation itself.

use super::BoxFuture;
use crate::context::Trigger;
use crate::event::Notice;
use crate::tool::Seen;
use crate::view::View;

/// Repeats what every conversation needs, after it was summarized: instructions, the plan, running jobs,
/// loaded skills, files in use. Asked again each time, so that it says what holds now.
pub trait Carried: Send + Sync {
    fn carry(&self, at: &Carrying<'_>) -> Vec<Attachment>;
}

/// What is known when a conversation is summarized.
#[derive(Clone, Copy, Debug)]
pub struct Carrying<'a> {
    /// Files the model has seen, newest last.
    pub seen: &'a [Seen],
    /// All attachments behind the summary together may have so many bytes; what is too much is left out.
    pub bytes: usize,
}

/// A text for the model. Its first tag says whose it is, e.g. `<plan>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// What the receipt calls it.
    pub name: String,
    pub text: String,
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the summary, whatever its size: what always holds.
    Before,
    /// Behind it, as far as there is room.
    After,
}

/// May forbid a summary.
pub trait BeforeCompact: Send + Sync {
    fn ask(&self, trigger: Trigger, words: Option<String>) -> BoxFuture<'_, Permit>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Continue; further wishes for the summary may be added.
    Go(Option<String>),
    /// Not now, and why.
    Block(String),
}

/// Has something to add to the conversation after the calls of an answer, e.g. that a file has changed. What it says
/// is appended and then stays as it is.
pub trait Reminder: Send + Sync {
    /// `seen` is what the calls showed, `view` the conversation before their results. May touch the disk.
    fn after_calls(&self, seen: &[Seen], view: &View) -> Vec<String>;

    /// What the person should know of that, each once.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}
