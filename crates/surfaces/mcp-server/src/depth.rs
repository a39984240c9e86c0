//! How many Ostlers serve each other: one that serves an agent whose server is an Ostler, and so on.

use rmcp::model::RequestMetaObject;

/// How a server learns how deep it is: set for everything that an agent of a server starts.
pub const DEPTH_VARIABLE: &str = "OSTLER_MCP_DEPTH";
/// The same in the `_meta` of a request, for servers that nobody starts.
const DEPTH_KEY: &str = "ostler/depth";
/// Agents that may be below each other in this way.
pub const MOST_DEPTH: u32 = 3;

/// 0 for a server that no agent of another server uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth(u32);

impl Depth {
    /// As the variable says. What cannot be read is as deep as can be: nothing below it is started.
    pub fn of_variable(value: Option<&str>) -> Self {
        match value {
            None | Some("") => Depth(0),
            Some(text) => Depth(text.parse().unwrap_or(MOST_DEPTH)),
        }
    }

    /// The deeper of what the server knows and what the request says.
    pub(crate) fn of_request(self, meta: &RequestMetaObject) -> Self {
        let said = match meta.get(DEPTH_KEY) {
            None => 0,
            Some(value) => value
                .as_u64()
                .map_or(MOST_DEPTH, |depth| u32::try_from(depth).unwrap_or(MOST_DEPTH)),
        };
        Depth(self.0.max(said))
    }

    /// An agent can be started here.
    pub fn has_room(self) -> bool {
        self.0 < MOST_DEPTH
    }

    /// What the processes of an agent that is started here are told.
    pub(crate) fn below(self) -> String {
        self.0.saturating_add(1).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn meta(value: Value) -> RequestMetaObject {
        let mut meta = RequestMetaObject::default();
        meta.insert(DEPTH_KEY.to_owned(), value);
        meta
    }

    #[test]
    fn the_deeper_one_counts_and_nonsense_is_as_deep_as_can_be() {
        for (variable, said, room) in [
            (None, None, true),
            (Some("2"), None, true),
            (Some("3"), None, false),
            (Some("1"), Some(json!(3)), false),
            (Some("3"), Some(json!(0)), false),
            (Some("1"), Some(json!(2)), true),
            (Some("x"), None, false),
            (None, Some(json!("2")), false),
            (None, Some(json!(-1)), false),
        ] {
            let request = said.clone().map_or_else(RequestMetaObject::default, meta);
            let depth = Depth::of_variable(variable).of_request(&request);
            assert_eq!(depth.has_room(), room, "{variable:?} {said:?}");
        }
        assert_eq!(Depth::of_variable(Some("2")).below(), "3");
    }
}
