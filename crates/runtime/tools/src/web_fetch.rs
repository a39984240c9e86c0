//! WebFetch: does not exist yet. Rules about it are understood already, so calls of it can be judged.

use crate::url;
use ostler_core::permission::Access;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use serde_json::Value;

pub(crate) const NAME: &str = "WebFetch";
pub(crate) const FACTS: ToolFacts = ToolFacts {
    kind: ToolKind::Fetches,
    subject: Subject::Inputs(&["url"]),
    ..ToolFacts::UNDECLARED
};

pub(crate) fn access_on_paper(input: &Value) -> Result<Access, String> {
    let given = input.as_object().ok_or("its input is not an object")?;
    if let Some(other) = given.keys().find(|name| !matches!(name.as_str(), "url" | "prompt")) {
        return Err(format!("there is no property `{other}`"));
    }
    let url = given.get("url").and_then(Value::as_str).ok_or("the property `url` is missing")?;
    let host = url::host(url)
        .ok_or("the address is not a plain http or https one, so its host is not known")?;
    Ok(Access { hosts: vec![host], ..Access::nothing() })
}
