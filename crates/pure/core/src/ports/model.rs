//! A model: provider, protocol, transport and retries behind one call.

use crate::ids::ModelId;
use crate::ledger::Price;
use crate::model::{ModelError, ModelEvent, Request};
use futures_core::Stream;
use std::pin::Pin;

pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

pub trait Model: Send + Sync {
    /// Sends the request when the stream is first polled. Tries that fail before the first event are repeated
    /// here and reported as `Retrying`; after the first event a failure is the stream's last item.
    fn stream(&self, request: Request) -> ModelStream;

    /// What is known of a model's limits and prices.
    fn info(&self, model: &ModelId) -> ModelInfo;

    /// The size of the request's prompt in tokens, roughly: enough to reserve money by.
    fn estimate(&self, request: &Request) -> u64;
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    pub window: u64,
    pub max_output: u32,
    /// Tokens for thinking that are asked for besides the answer's when nobody chose; 0 where thinking is part of it.
    pub thinking_budget: u32,
    /// None: its price is unknown.
    pub price: Option<Price>,
}
