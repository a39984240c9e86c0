//! A model behind HTTP: one provider, its protocol, transport and retries as core's `Model` port.

use crate::attempt::Run;
use crate::capabilities::{CacheSetting, Capabilities, Effort, RequestExtras};
use crate::catalog::times;
use crate::deadline::Deadlines;
use crate::prices::PriceBook;
use crate::protocol::{self, Feature, Protocol, RefusedFeatures};
use crate::provider::{Provider, Variant};
use crate::retry::RetryPolicy;
use crate::settings::{Jitter, ModelSettings, ModelSetupError};
use crate::transport::Transport;
use futures_util::stream::unfold;
use ostler_core::ids::ModelId;
use ostler_core::model::Request;
use ostler_core::ports::{Model, ModelInfo, ModelStream};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone)]
pub struct HttpModel {
    shared: Arc<ModelShared>,
}

impl HttpModel {
    /// Checks the settings. Nothing is connected or read before the first request.
    pub fn new(settings: ModelSettings) -> Result<Self, ModelSetupError> {
        let protocol = protocol_of(&settings)?;
        let transport = Transport::new(&settings, protocol.as_ref())?;
        let shared = ModelShared {
            protocol,
            transport: Arc::new(transport),
            provider: settings.provider,
            deadlines: settings.deadlines,
            retry: settings.retry,
            cache: settings.cache,
            effort: settings.effort,
            extras: settings.extras,
            jitter: settings.jitter,
            prices: settings.prices,
            refused: Arc::default(),
        };
        Ok(HttpModel { shared: Arc::new(shared) })
    }
}

fn protocol_of(settings: &ModelSettings) -> Result<Arc<dyn Protocol>, ModelSetupError> {
    let provider = &settings.provider;
    let added = settings.protocols.iter().find(|added| added.name() == provider.protocol);
    let found = added.cloned().or_else(|| protocol::named(&provider.protocol));
    let protocol =
        found.ok_or_else(|| ModelSetupError::Protocol { name: provider.protocol.clone() })?;
    let known: Vec<&str> = protocol.features().iter().map(|feature| feature.name).collect();
    match provider.lacks.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(ModelSetupError::Feature { name: name.clone(), known: known.join(", ") }),
        None => Ok(protocol),
    }
}

impl HttpModel {
    /// The same model, told how hard to try. Both know what the provider refused, and share their connections.
    #[must_use]
    pub fn with_effort(&self, effort: Effort) -> Self {
        let shared = ModelShared { effort: Some(effort), ..(*self.shared).clone() };
        HttpModel { shared: Arc::new(shared) }
    }

    /// Its models can search the web on the provider's side.
    pub fn searches_web(&self) -> bool {
        self.shared.provider.web_search
    }
}

impl Model for HttpModel {
    fn stream(&self, request: Request) -> ModelStream {
        let run = Run::new(self.shared.clone(), request);
        Box::pin(unfold(run, |mut run| async move { run.next().await.map(|item| (item, run)) }))
    }

    fn info(&self, model: &ModelId) -> ModelInfo {
        let ModelShared { provider, prices, .. } = &*self.shared;
        let whole = provider.wire_name(model);
        let Variant { family, name, fast } = provider.variant(whole);
        let info = family.info();
        let own = prices.price(model.as_str()).or_else(|| prices.price(whole));
        // A person's price of the fast mode itself needs no factor.
        let fast = fast.filter(|_| own.is_none() || own == prices.price(name));
        let price = own.or(info.price);
        ModelInfo { price: price.map(|price| times(price, fast.unwrap_or(1.0))), ..info }
    }

    fn estimate(&self, request: &Request) -> u64 {
        self.shared.protocol.weigh(request, &self.shared.capabilities(&request.model))
    }
}

/// What all requests to one provider have in common.
#[derive(Clone)]
pub(crate) struct ModelShared {
    pub protocol: Arc<dyn Protocol>,
    pub transport: Arc<Transport>,
    provider: Provider,
    pub deadlines: Deadlines,
    pub retry: RetryPolicy,
    cache: CacheSetting,
    effort: Option<Effort>,
    extras: RequestExtras,
    pub jitter: Jitter,
    prices: PriceBook,
    /// What the provider did not know, by model; it is not sent again.
    refused: Arc<Mutex<HashMap<ModelId, RefusedFeatures>>>,
}

impl ModelShared {
    pub fn capabilities(&self, model: &ModelId) -> Capabilities {
        let Variant { family, name, fast } = self.provider.variant(self.provider.wire_name(model));
        let fast = fast.is_some();
        let extras = self.extras.clone();
        let (cache, effort) = (self.cache, self.effort);
        Capabilities { cache, effort, fast, extras, ..family.capabilities(name) }
    }

    pub fn refused(&self, model: &ModelId) -> RefusedFeatures {
        let known = lock(&self.refused).get(model).cloned();
        known.unwrap_or_else(|| self.provider.lacks.iter().cloned().collect())
    }

    pub fn refuse(&self, model: &ModelId, feature: Feature) {
        let lacks = || self.provider.lacks.iter().cloned().collect();
        lock(&self.refused).entry(model.clone()).or_insert_with(lacks).insert(feature.name);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
