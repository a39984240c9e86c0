//! Models over the network: wire protocols as pure state machines, providers as data, transport and retries.
//!
//! Invariants
//! - **The prefix is stable by construction.** A message, the tools and the system prompt are rendered to bytes once;
//!   a request is a list of shared slices. Without its cache marks each request extends the one before it.
//! - **A stream that breaks off is an error**, never a short success: only the end that the protocol defines ends an answer.
//! - **Before an answer begins, failures are repeated here; after it has begun, never.** Who reads the stream knows
//!   by its first event.
//! - **Credentials go to one host**: no redirect is followed, no proxy is taken that was not given, no certificate
//!   error is passed over, and no text, debug output or error holds a secret.
//! - **Everything is bounded**: an event, an answer, the number of its blocks, each wait, all waits, all repeats.
//!
//! Deliberately absent: reading the environment, files or the clock (settings are values, time is only measured);
//! HTTP/2 and compression (a stream of small events gains nothing); asking without streaming.

pub mod address_check;
mod attempt;
mod capabilities;
mod catalog;
mod deadline;
mod exchange;
mod failure;
mod fetch;
mod html;
mod http_model;
mod plain_text;
mod prices;
pub mod protocol;
mod provider;
mod providers;
mod proxy;
mod retry;
mod secret;
mod settings;
pub mod sse;
mod transport;
mod web;

pub use capabilities::{
    CacheSetting, Capabilities, Effort, EffortSupport, RequestExtras, ThinkingStyle,
};
pub use catalog::{Family, resolve_model};
pub use deadline::Deadlines;
pub use exchange::{Exchange, ExchangeAnswer, ExchangeBody, ExchangeError};
pub use fetch::Network;
pub use http_model::HttpModel;
pub use prices::PriceBook;
pub use provider::{CredentialKind, Credentials, Provider};
pub use providers::Providers;
pub use proxy::ProxySettings;
pub use retry::{FailedTries, GiveUp, RetryDecision, RetryPolicy};
pub use secret::Secret;
pub use settings::{CaFile, Jitter, ModelSettings, ModelSetupError};
pub use web::{PageAnswer, PageLimits, is_private_host};
