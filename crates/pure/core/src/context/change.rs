//! What stages change in a view, and how. The same function serves the driver and the fold.

use crate::ids::CallId;
use crate::message::Message;
use crate::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageName {
    Budget,
    Snip,
    Micro,
    Collapse,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ViewChange {
    Elide(Elision),
    Collapse(Story),
}

/// This text replaces the result of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elision {
    pub call: CallId,
    pub words: String,
}

/// This text replaces this many messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    pub first: usize,
    pub count: usize,
    pub words: String,
}

/// Tokens of the next request, as estimated before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    pub before: u64,
    pub after: u64,
}

/// Applies the changes of one stage. Stories are counted in the view as it was before all of them.
pub fn apply_all(view: &mut View, changes: &[ViewChange]) {
    let elisions: HashMap<&CallId, &str> = changes
        .iter()
        .filter_map(|change| match change {
            ViewChange::Elide(elision) => Some((&elision.call, elision.words.as_str())),
            ViewChange::Collapse(_) => None,
        })
        .collect();
    if !elisions.is_empty() {
        view.replace_results(|call| elisions.get(call).copied());
    }
    let mut stories: Vec<&Story> = changes
        .iter()
        .filter_map(|change| match change {
            ViewChange::Collapse(story) => Some(story),
            ViewChange::Elide(_) => None,
        })
        .collect();
    stories.sort_by_key(|story| std::cmp::Reverse(story.first));
    for story in stories {
        view.replace_messages(story.first, story.count, Message::meta(story.words.as_str()));
    }
}

pub fn apply(view: &mut View, change: &ViewChange) {
    apply_all(view, std::slice::from_ref(change));
}
