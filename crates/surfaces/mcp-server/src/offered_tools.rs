//! Which tools a client is offered, and how they are described to it.

use ostler::{SessionOptions, ToolKind, ToolSpec};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, JsonObject, ListToolsResult, PaginatedRequestParams, Tool, ToolAnnotations,
};
use serde_json::Value;

/// Tools in one answer.
const PAGE: usize = 50;
/// How long a client may keep the list. It stays the same while the server runs.
const FRESH_MS: u64 = 5 * 60 * 1000;

/// Without a choice: the tools that only read files, and those that a rule of the command line allows.
pub fn offered_tools(options: &SessionOptions) -> Vec<String> {
    if let Some(named) = &options.tools {
        return named.clone();
    }
    let known = ostler::known_tools();
    let mut names: Vec<String> = known.of_kind(ToolKind::Reads).map(str::to_owned).collect();
    let allowed = options.allow.iter().map(|rule| rule.split('(').next().unwrap_or_default());
    for name in allowed.map(|name| known.first_name(name.trim()).to_owned()) {
        if known.knows(&name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// As a client sees it. What it says about itself is a hint; the gate decides by what a call touches.
pub(crate) fn described(spec: &ToolSpec) -> Tool {
    let only_reads = spec.facts.kind == ToolKind::Reads;
    let outside = matches!(spec.facts.kind, ToolKind::Fetches | ToolKind::Runs);
    let annotations = ToolAnnotations::new().read_only(only_reads).open_world(outside);
    let schema = match &spec.input_schema {
        Value::Object(schema) => schema.clone(),
        _ => JsonObject::new(),
    };
    Tool::new(spec.name.clone(), spec.description.clone(), schema).with_annotations(annotations)
}

/// In the order of their names, a page at a time.
pub(crate) fn page(
    tools: &[Tool],
    request: Option<PaginatedRequestParams>,
) -> Result<ListToolsResult, ErrorData> {
    let from = match request.and_then(|request| request.cursor) {
        None => 0,
        Some(cursor) => {
            let known = cursor.parse::<usize>().ok().filter(|from| *from < tools.len());
            known.ok_or_else(|| ErrorData::invalid_params("unknown cursor", None))?
        }
    };
    let end = tools.len().min(from + PAGE);
    let shown = tools.get(from..end).unwrap_or_default().to_vec();
    let mut result = ListToolsResult::with_all_items(shown)
        .with_ttl_ms(FRESH_MS)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = (end < tools.len()).then(|| end.to_string());
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(count: usize) -> Vec<Tool> {
        let tool = |at| Tool::new(format!("tool{at:03}"), "", JsonObject::new());
        (0..count).map(tool).collect()
    }

    fn cursor(text: &str) -> Option<PaginatedRequestParams> {
        let params = serde_json::json!({ "cursor": text });
        Some(serde_json::from_value(params).unwrap())
    }

    #[test]
    fn pages_cover_the_list_once_and_in_order() {
        let all = tools(120);
        let (mut seen, mut request) = (Vec::new(), None);
        for _ in 0..3 {
            let listed = page(&all, request.take()).unwrap();
            seen.extend(listed.tools);
            request = listed.next_cursor.as_deref().and_then(cursor);
        }
        assert_eq!(seen, all);
        assert!(request.is_none());
    }

    #[test]
    fn a_cursor_that_was_not_given_out_is_refused() {
        for text in ["", "x", "-1", "120", "99999999999999999999"] {
            assert!(page(&tools(120), cursor(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn only_tools_that_read_are_offered_until_more_are_named() {
        let known = ostler::known_tools();
        let options = SessionOptions::new("/");
        let offered = offered_tools(&options);
        assert!(!offered.is_empty());
        assert!(offered.iter().all(|name| known.kind(name) == ToolKind::Reads), "{offered:?}");
        let runs = known.of_kind(ToolKind::Runs).next().unwrap().to_owned();
        let allow = vec![format!("{runs}(git status:*)"), "Nonsense".into()];
        let more = offered_tools(&SessionOptions { allow, ..options.clone() });
        assert_eq!(more.len(), offered.len() + 1);
        assert!(more.contains(&runs));
        let none = SessionOptions { tools: Some(Vec::new()), ..options };
        assert!(offered_tools(&none).is_empty());
    }
}
