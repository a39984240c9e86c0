//! Hooks that run: commands and webhooks behind the port of `ostler-core`, and observers of the event stream.
//!
//! Invariants
//! - **A blocking hook without a verdict denies**, and says why: crash, timeout, missing program, output that is not
//!   understood, an unexpected exit code, no verdict from a webhook. The exceptions are in `fault`.
//! - **Without listeners there is no cost**: no JSON is built, no process started.
//! - **Events for a webhook are on disk before `fire` returns** and are sent in order, each until the receiver has accepted it.
//! - **Observers read events**; the loop knows nothing of them.
//! - Events go out encrypted or stay on this machine; no redirect is followed; no secret is written or shown.
//!
//! Deliberately absent: reading configuration or the environment, deciding what a verdict leads to (that is the engine's).

mod clock_and_ids;
mod command;
mod delivery;
mod fault;
mod observers;
mod payload;
mod queue;
mod registry;
mod signature;
mod trial;
mod webhook_request;

pub use clock_and_ids::ClockAndIds;
pub use command::Prepare;
pub use delivery::{Delivered, Delivery, deliver_all, replay};
pub use observers::{EventLog, Observer, ToolStats, event_logs};
pub use payload::{About, AboutAgent};
pub use queue::{QueueError, WebhookQueue};
pub use registry::{HookProgress, HookRunEnd, HookSetup, HookWatch, Registry};
pub use signature::{hmac_sha256, signature};
pub use trial::{HookTrial, try_hook};
pub use webhook_request::Sender;
