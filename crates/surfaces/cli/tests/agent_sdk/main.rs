//! Programs that use the Claude Agent SDKs, and programs that speak the protocol themselves, against the built program.
//!
//! The SDKs come from a directory that `scripts/test` fills with pinned versions: `OSTLER_TEST_AGENT_SDK` names it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod pipe_program;
mod pipes;
mod real_sdks;
