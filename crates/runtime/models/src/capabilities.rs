//! What a model at its provider can do, and how it is to be used.

pub use ostler_core::model::Effort;
use serde::Deserialize;

/// What a model with a fixed thinking budget may think when nobody said how much.
pub(crate) const USUAL_BUDGET: u32 = 16_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities {
    /// The model's name on the wire.
    pub model: String,
    pub max_output: u32,
    pub thinking: ThinkingStyle,
    pub effort_support: EffortSupport,
    /// Earlier thinking must be asked for to be kept.
    pub keep_thinking: bool,
    pub bytes_per_token: f64,
    /// Sent to the models that know it.
    pub effort: Option<Effort>,
    /// The fast mode was chosen, and the model has one.
    pub fast: bool,
    pub cache: CacheSetting,
    /// What the person asks for besides, where the protocol has a place for it.
    pub extras: RequestExtras,
}

/// Wishes of the person that are sent as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestExtras {
    /// Names of beta features.
    pub betas: Vec<String>,
    /// How thinking is shown, e.g. `summarized` or `omitted`.
    pub thinking_display: Option<String>,
    /// Tokens that the model may use for the whole task; it is told what is left.
    pub task_budget: Option<u64>,
}

/// How a model is told to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingStyle {
    Adaptive,
    Always,
    Budget,
    #[default]
    None,
    /// Nobody told us: what is asked for explicitly is sent, nothing else.
    #[serde(skip)]
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortSupport {
    Yes,
    Beta,
    #[default]
    No,
}

/// How long the provider is asked to keep what was sent, where the protocol lets us ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheSetting {
    Off,
    #[default]
    FiveMinutes,
    /// Kept longer, at twice the price of writing.
    OneHour,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efforts_have_one_name() {
        for name in ["low", "medium", "high", "xhigh", "max"] {
            assert_eq!(Effort::named(name).map(Effort::name), Some(name));
        }
        assert_eq!(Effort::named("huge"), None);
    }
}
