//! A model behind HTTP: provider, protocol, transport and retries as core's `Model` port.

use crate::attempt::Run;
use crate::catalog;
use crate::deadline::Deadlines;
use crate::prices::PriceBook;
use crate::protocol::anthropic_messages::body::{self, Prefix};
use crate::protocol::anthropic_messages::cache::CacheSetting;
use crate::protocol::anthropic_messages::options::{Effort, Feature};
use crate::protocol::anthropic_messages::render::{self, Weight};
use crate::retry::RetryPolicy;
use crate::settings::{Jitter, Settings, SetupError};
use crate::transport::Transport;
use bytes::Bytes;
use futures_util::stream::unfold;
use ostler_core::ids::ModelId;
use ostler_core::model::Request;
use ostler_core::ports::{Model, ModelInfo, ModelStream};
use ostler_core::tool::ToolSpec;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone)]
pub struct HttpModel {
    shared: Arc<Shared>,
}

impl HttpModel {
    /// Checks the settings. Nothing is connected or read before the first request.
    pub fn new(settings: Settings) -> Result<Self, SetupError> {
        let transport = Transport::new(&settings)?;
        let shared = Shared {
            transport,
            deadlines: settings.deadlines,
            retry: settings.retry,
            cache: settings.cache,
            effort: settings.effort,
            jitter: settings.jitter,
            prices: settings.prices,
            tools: Kept::default(),
            system: Kept::default(),
            refused: Mutex::default(),
        };
        Ok(HttpModel { shared: Arc::new(shared) })
    }
}

impl Model for HttpModel {
    fn stream(&self, request: Request) -> ModelStream {
        let run = Run::new(self.shared.clone(), request);
        Box::pin(unfold(run, |mut run| async move { run.next().await.map(|item| (item, run)) }))
    }

    fn info(&self, model: &ModelId) -> ModelInfo {
        let info = catalog::family(model).info();
        ModelInfo { price: self.shared.prices.price(model).or(info.price), ..info }
    }

    fn estimate(&self, request: &Request) -> u64 {
        let prefix = self.shared.prefix(request);
        let mut weight =
            Weight { bytes: (prefix.tools.len() + prefix.system.len()) as u64, images: 0 };
        for item in request.view.items() {
            weight.add(body::rendered(item).weight);
        }
        weight.tokens(catalog::family(&request.model).bytes_per_token)
    }
}

/// What all requests of one model object have in common.
pub(crate) struct Shared {
    pub transport: Transport,
    pub deadlines: Deadlines,
    pub retry: RetryPolicy,
    pub cache: CacheSetting,
    pub effort: Option<Effort>,
    pub jitter: Jitter,
    prices: PriceBook,
    tools: Kept<ToolSpec>,
    system: Kept<String>,
    /// What a model's provider did not know; it is not sent again.
    refused: Mutex<HashMap<ModelId, BTreeSet<Feature>>>,
}

impl Shared {
    pub fn prefix(&self, request: &Request) -> Prefix {
        Prefix {
            tools: self.tools.get(&request.tools, render::tools),
            system: self.system.get(&request.system, render::system),
        }
    }

    pub fn refused(&self, model: &ModelId) -> BTreeSet<Feature> {
        lock(&self.refused).get(model).cloned().unwrap_or_default()
    }

    pub fn refuse(&self, model: &ModelId, feature: Feature) {
        lock(&self.refused).entry(model.clone()).or_default().insert(feature);
    }
}

/// Renderings of lists that stay the same through a session, found by the list's identity.
struct Kept<T>(Mutex<Vec<(Arc<[T]>, Bytes)>>);

/// Lists in use at once: a session, its helpers.
const MOST_KEPT: usize = 8;

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept(Mutex::default())
    }
}

impl<T> Kept<T> {
    fn get(&self, list: &Arc<[T]>, render: impl Fn(&[T]) -> Bytes) -> Bytes {
        let mut kept = lock(&self.0);
        if let Some((_, bytes)) = kept.iter().find(|(known, _)| Arc::ptr_eq(known, list)) {
            return bytes.clone();
        }
        let bytes = render(list);
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push((list.clone(), bytes.clone()));
        bytes
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_rendered_once_and_few_are_kept() {
        let kept = Kept::<u8>::default();
        let renders = std::cell::Cell::new(0);
        let get = |list: &Arc<[u8]>| {
            kept.get(list, |list| {
                renders.set(renders.get() + 1);
                Bytes::copy_from_slice(list)
            })
        };
        let one: Arc<[u8]> = Arc::from([1, 2]);
        assert_eq!(get(&one).as_ptr(), get(&one.clone()).as_ptr());
        let equal: Arc<[u8]> = Arc::from([1, 2]);
        assert_eq!(get(&equal), get(&one));
        assert_eq!(renders.get(), 2, "identity counts, not content");
        for n in 0..50u8 {
            get(&Arc::from([n]));
        }
        assert_eq!(lock(&kept.0).len(), MOST_KEPT);
    }
}
