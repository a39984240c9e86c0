//! Text → a direction in space. Two ways: a small model on this machine, or a provider's endpoint.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod http;
pub(crate) mod linear_layer;
mod math;
mod minilm;
pub(crate) mod model_file;
mod wordpiece;

pub use http::{EndpointSettings, HttpEmbedder, PostJson};
pub use minilm::MiniLm;

/// Texts that are sent at once, at most.
pub const BATCH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    #[error("the embedding model {path} cannot be used: {why}. Run `ostler memory setup` again")]
    Model { path: String, why: String },
    #[error("the embedding endpoint {url} failed: {why}")]
    Endpoint { url: String, why: String },
}

/// Turns texts into vectors of length 1. May wait for a file or the network: not for a runtime's threads.
pub trait Embedder: Send + Sync {
    /// Vectors of different names are never compared.
    fn name(&self) -> &str;

    /// One vector per text, all of the same number of dimensions.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Length 1, or all zeros where there is no direction.
pub(crate) fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length.is_finite() && length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    } else {
        vector.fill(0.0);
    }
}
