//! What a provider refused, and how a request does without it.

use std::collections::BTreeSet;

/// A part of requests that can be left out; an answer without it is better than none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// As a provider's entry names it.
    pub name: &'static str,
    /// As a notice calls it.
    pub label: &'static str,
}

/// What a request must do without: what this provider refused for this model before, and limits of this request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedFeatures {
    pub(crate) features: BTreeSet<String>,
    /// A lower output limit than the request's own.
    pub max_output: Option<u32>,
}

impl RefusedFeatures {
    pub fn contains(&self, feature: &str) -> bool {
        self.features.contains(feature)
    }

    pub fn insert(&mut self, feature: &str) {
        if !self.contains(feature) {
            self.features.insert(feature.to_owned());
        }
    }

    /// What either must do without.
    #[must_use]
    pub fn and(mut self, other: &RefusedFeatures) -> Self {
        self.features.extend(other.features.iter().cloned());
        self.max_output = self.max_output.into_iter().chain(other.max_output).min();
        self
    }
}

impl<S: Into<String>> FromIterator<S> for RefusedFeatures {
    fn from_iter<I: IntoIterator<Item = S>>(features: I) -> Self {
        RefusedFeatures {
            features: features.into_iter().map(Into::into).collect(),
            max_output: None,
        }
    }
}

/// What of a request a provider might have refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentFeatures {
    pub features: Vec<Feature>,
    pub max_output: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Never send it to this model of this provider again.
    Without(Feature),
    /// Leave it out of this request only, and say why.
    WithoutOnce(Feature, &'static str),
    /// Ask for at most so much output.
    MaxOutput(u32),
}
