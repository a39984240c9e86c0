//! Several providers as one model: the name before the first slash says who is asked.

use crate::capabilities::Effort;
use crate::http_model::HttpModel;
use ostler_core::ids::ModelId;
use ostler_core::model::Request;
use ostler_core::ports::{Model, ModelInfo, ModelStream};
use std::collections::BTreeMap;

/// A model's name is `provider/model` for a person's own providers and a bare name for the default one. The whole name
/// is what answers are signed with, so that thinking never reaches another provider than the one that wrote it.
#[derive(Clone)]
pub struct Providers {
    default: HttpModel,
    own: BTreeMap<String, HttpModel>,
}

impl Providers {
    pub fn new(default: HttpModel) -> Self {
        Providers { default, own: BTreeMap::new() }
    }

    #[must_use]
    pub fn with(mut self, name: impl Into<String>, model: HttpModel) -> Self {
        self.own.insert(name.into(), model);
        self
    }

    /// The same models, told how hard to try.
    #[must_use]
    pub fn with_effort(&self, effort: Effort) -> Self {
        let own = self.own.iter().map(|(name, model)| (name.clone(), model.with_effort(effort)));
        Providers { default: self.default.with_effort(effort), own: own.collect() }
    }

    /// The provider of this model searches the web for it.
    pub fn searches_web(&self, model: &ModelId) -> bool {
        self.of(model).searches_web()
    }

    fn of(&self, model: &ModelId) -> &HttpModel {
        let own = model.as_str().split_once('/').and_then(|(name, _)| self.own.get(name));
        own.unwrap_or(&self.default)
    }
}

impl Model for Providers {
    fn stream(&self, request: Request) -> ModelStream {
        self.of(&request.model).stream(request)
    }

    fn info(&self, model: &ModelId) -> ModelInfo {
        self.of(model).info(model)
    }

    fn estimate(&self, request: &Request) -> u64 {
        self.of(&request.model).estimate(request)
    }
}
