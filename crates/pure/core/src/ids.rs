//! Names of things. Each is a string of its own type, so that one cannot be passed for another. Copies share it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                $name(Arc::from(Into::<String>::into(text)))
            }
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name(Arc::from(text))
            }
        }
    };
}

id!(
    /// One durable conversation.
    SessionId
);
id!(
    /// One tool call; the model names it, and Ostler makes the name unique.
    CallId
);
id!(
    /// The model as the provider names it.
    ModelId
);
id!(
    /// Content by its hash.
    BlobRef
);
id!(
    /// Something that was sent to a session: a prompt, a steer, a notice.
    InboundId
);
id!(
    /// A job in the background.
    JobId
);
id!(
    /// A question to the person.
    QuestionId
);

/// Where new names come from. Production draws random ones, tests count.
pub trait IdSource: Send + Sync {
    /// A fresh name in UUID form, sortable by time where the source can do that.
    fn uuid(&self) -> String;
}

/// Counts: the same run gives the same names.
#[derive(Debug, Default)]
pub struct CountingIds(std::sync::atomic::AtomicU64);

impl IdSource for CountingIds {
    fn uuid(&self) -> String {
        let n = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        format!("00000000-0000-7000-8000-{n:012x}")
    }
}
