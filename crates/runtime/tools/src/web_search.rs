//! WebSearch: pages about a question, from the provider or from an endpoint that a person configured.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::Access;
use ostler_core::ports::{Tool, ToolContext, Web, WebFindings, WebHit, WebSearch as Search};
use ostler_core::text::{enclosed_with, head};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

const MOST_HITS: usize = 20;
/// Characters of what is shown of one.
const MOST_SNIPPET: usize = 500;
/// Characters of a question.
const LONGEST: usize = 1_000;
const MOST_DOMAINS: usize = 50;
/// What the call contacts, in the words of a question to the person.
const SERVICE: &str = "the web search service";
const TAG: &str = "search-results";

pub struct WebSearch {
    web: Arc<dyn Web>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What to search for
    query: String,
    /// Only pages of these domains
    allowed_domains: Option<Vec<String>>,
    /// No pages of these domains
    blocked_domains: Option<Vec<String>>,
}

impl BuiltIn for WebSearch {
    const NAME: &'static str = "WebSearch";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/web-search.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Searches,
        subject: Subject::Inputs(&["query"]),
        ..ToolFacts::UNDECLARED
    };
    type Input = Input;

    fn access(&self, input: &Input) -> Result<Access, ToolOutput> {
        access(input).map_err(ToolOutput::misuse)
    }

    fn access_on_paper(input: &Value, _: &Paper<'_>) -> Result<Access, String> {
        access(&serde_json::from_value(input.clone()).map_err(|why| why.to_string())?)
    }

    async fn run(&self, input: Input, _: ToolContext) -> ToolOutput {
        let search = Search {
            query: input.query,
            allowed_domains: input.allowed_domains.unwrap_or_default(),
            blocked_domains: input.blocked_domains.unwrap_or_default(),
        };
        match self.web.search(search.clone()).await {
            Ok(found) => shown(&search, found),
            Err(why) => ToolOutput::error(format!("Nothing was searched: {why}.")),
        }
    }
}

impl Shipped for WebSearch {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let web = setup.session.web.clone().filter(|web| web.can_search())?;
        Some(erase(WebSearch { web }))
    }
}

fn access(input: &Input) -> Result<Access, String> {
    let Input { query, allowed_domains, blocked_domains } = input;
    if query.trim().is_empty() || query.chars().count() > LONGEST {
        return Err(format!("The query must have 1 to {LONGEST} characters."));
    }
    if allowed_domains.is_some() && blocked_domains.is_some() {
        return Err("Give allowed_domains or blocked_domains, not both.".into());
    }
    let mut domains = allowed_domains.iter().chain(blocked_domains).flatten();
    let is_domain = |domain: &String| crate::url::host(&format!("https://{domain}")).is_some();
    if let Some(wrong) = domains.find(|domain| !is_domain(domain)) {
        return Err(format!("{wrong:?} is not a domain such as example.org."));
    }
    if allowed_domains.iter().chain(blocked_domains).any(|all| all.len() > MOST_DOMAINS) {
        return Err(format!("At most {MOST_DOMAINS} domains."));
    }
    Ok(Access { hosts: vec![SERVICE.to_owned()], ..Access::nothing() })
}

/// Whoever searches may overlook the filters; they hold all the same.
fn fits(search: &Search, hit: &WebHit) -> bool {
    let Some(host) = crate::url::host(&hit.url) else { return false };
    let of = |domain: &String| {
        let domain = domain.to_ascii_lowercase();
        host == domain || host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'))
    };
    let allowed = search.allowed_domains.is_empty() || search.allowed_domains.iter().any(of);
    allowed && !search.blocked_domains.iter().any(of)
}

fn shown(search: &Search, found: WebFindings) -> ToolOutput {
    let WebFindings { hits, text } = found;
    let hits: Vec<WebHit> =
        hits.into_iter().filter(|hit| fits(search, hit)).take(MOST_HITS).collect();
    let mut out = String::new();
    let clean = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        enclosed_with(head(&words.join(" "), MOST_SNIPPET).0, &[TAG])
    };
    for WebHit { title, url, snippet } in &hits {
        let _ = writeln!(out, "- {}: {url}", clean(title));
        if !snippet.trim().is_empty() {
            let _ = writeln!(out, "  {}", clean(snippet));
        }
    }
    let text = enclosed_with(text.trim(), &[TAG]);
    if hits.is_empty() && text.is_empty() {
        return ToolOutput::text("The search found nothing.");
    }
    let out = [out.as_str(), text.as_str()].join("\n");
    let listed: Vec<Value> =
        hits.iter().map(|hit| json!({"title": hit.title, "url": hit.url})).collect();
    ToolOutput {
        detail: Some(json!({"query": search.query, "results": listed})),
        ..ToolOutput::text(format!("<{TAG}>\n{}\n</{TAG}>", out.trim()))
    }
}
