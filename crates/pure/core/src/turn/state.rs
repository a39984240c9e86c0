//! The state of a turn. The whole state is replaced at each step, never patched from outside.

use super::reason::{Continue, Terminal};
use crate::context::last_prompt;
use crate::view::View;

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub view: View,
    pub phase: Phase,
    /// From 1; one more per tool follow-up.
    pub iteration: u32,
    pub recovery: Recovery,
    /// Why the loop continued.
    pub last: Option<Continue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Prepare,
    Sample,
    Collapse,
    Compact,
    SettleTools { cancelled: bool, cut: bool },
    StopHooks,
    Done(Terminal),
}

/// What was tried since the last answer with complete calls; each field bounds one way round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Recovery {
    pub collapsed: bool,
    pub compacted: bool,
    pub escalated: bool,
    pub resumes: u8,
    pub stop_blocks: u8,
    pub nudges: u8,
    pub fell_back: bool,
    pub cut_calls: u8,
    pub stream_retries: u8,
    pub pauses: u8,
    pub empty_retries: u8,
    pub images_dropped: bool,
    pub thinking_dropped: bool,
}

impl State {
    pub fn start(view: View) -> Self {
        State {
            view,
            phase: Phase::Prepare,
            iteration: 1,
            recovery: Recovery::default(),
            last: None,
        }
    }

    /// A turn that continues where its log ends: the calls of the last answer are settled first.
    pub fn resume(view: View) -> Self {
        let calls_open = !view.open_calls().is_empty();
        let since = last_prompt(&view).unwrap_or(0);
        let with_calls = view.messages().skip(since).filter(|one| one.calls().next().is_some());
        let answered = with_calls.count() - usize::from(calls_open);
        let phase = match calls_open {
            true => Phase::SettleTools { cancelled: false, cut: false },
            false => Phase::Prepare,
        };
        let iteration = u32::try_from(answered).unwrap_or(u32::MAX).saturating_add(1);
        State { phase, iteration, ..State::start(view) }
    }
}
