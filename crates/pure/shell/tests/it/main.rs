//! What the crate promises, tried from outside: against bash itself, against git, against the corpus, and against
//! hostile text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bash;
#[path = "../shared/feed.rs"]
mod feed;
mod git;
mod hostile;
mod properties;
mod samples;
mod steps;
