//! The built program against the scripted model: one file per behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crash;
mod headless;
mod interrupt;
mod prefix;
mod sessions;
mod support;
