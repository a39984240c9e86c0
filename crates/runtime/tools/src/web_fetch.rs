//! WebFetch: a page of the web as Markdown, or what a small model says about it.

mod cache;
mod html;
mod link;
mod markdown;
mod page;

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use crate::url;
use cache::PageCache;
use ostler_core::permission::Access;
use ostler_core::ports::{Tool, ToolContext, Web, WebAnswer, WebPage};
use ostler_core::text::{enclosed_with, head};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use page::{PageText, page_text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Redirects that are followed.
const MOST_REDIRECTS: usize = 5;
/// Characters of a page that the model reads.
const MOST_SHOWN: usize = 50_000;
/// Characters of a page that a small model reads.
const MOST_READ: usize = 200_000;
/// Bytes of a page after conversion.
const MOST_TEXT: usize = 2 << 20;
/// Characters of what a server says along with an error.
const MOST_ERROR: usize = 500;
const PLAIN: &str = "http://";
const TAG: &str = "web-page";

pub struct WebFetch {
    web: Arc<dyn Web>,
    cache: PageCache,
}

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// A complete http or https address
    url: String,
    /// What you want to know from the page
    prompt: Option<String>,
}

/// What an address leads to.
enum Arrival {
    Page {
        url: String,
        page: Arc<PageText>,
        is_cut: bool,
    },
    /// Another host, which is another call.
    Elsewhere(String),
}

impl BuiltIn for WebFetch {
    const NAME: &'static str = "WebFetch";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/web-fetch.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Fetches,
        subject: Subject::Inputs(&["url"]),
        ..ToolFacts::UNDECLARED
    };
    type Input = Input;

    fn access(&self, input: &Input) -> Result<Access, ToolOutput> {
        access(&input.url).map_err(ToolOutput::misuse)
    }

    fn access_on_paper(input: &Value, _: &Paper<'_>) -> Result<Access, String> {
        access(input.get("url").and_then(Value::as_str).unwrap_or_default())
    }

    async fn run(&self, input: Input, _: ToolContext) -> ToolOutput {
        let arrival = match self.arrive(&input.url).await {
            Ok(arrival) => arrival,
            Err(why) => return ToolOutput::error(format!("{} was not fetched: {why}.", input.url)),
        };
        match arrival {
            Arrival::Elsewhere(to) => ToolOutput {
                detail: Some(json!({"url": input.url, "redirect": to})),
                ..ToolOutput::text(format!(
                    "{} redirects to another host, which was not contacted: {to}\nFetch that address if you want its content.",
                    input.url
                ))
            },
            Arrival::Page { url, page, is_cut } => self.shown(input, url, &page, is_cut).await,
        }
    }
}

impl Shipped for WebFetch {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let web = setup.session.web.clone()?;
        Some(erase(WebFetch { web, cache: PageCache::default() }))
    }
}

fn access(url: &str) -> Result<Access, String> {
    let host = url::host(url)
        .ok_or("the address is not a plain http or https one, so its host is not known")?;
    Ok(Access { hosts: vec![host], ..Access::nothing() })
}

impl WebFetch {
    /// Follows redirects within the host. Every step is checked like the first.
    async fn arrive(&self, url: &str) -> Result<Arrival, String> {
        let host = url::host(url).ok_or("its host is not known")?;
        let first = self.secured(url, &host);
        if let Some(page) = self.cache.get(&first) {
            return Ok(Arrival::Page { url: first, page, is_cut: false });
        }
        let mut at = first.clone();
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.web.get(at.clone()).await?;
            let Some(to) = answer.location.clone() else {
                return self.arrived(first, at, answer);
            };
            // Without a host it is no address for us; with another one it is another call.
            match url::host(&to) {
                Some(next) if next == host => at = self.secured(&to, &host),
                _ => return Ok(Arrival::Elsewhere(to)),
            }
        }
        Err(format!("it redirects more than {MOST_REDIRECTS} times"))
    }

    fn arrived(&self, first: String, at: String, answer: WebAnswer) -> Result<Arrival, String> {
        let WebAnswer { status, content_type, body, is_cut, .. } = answer;
        let text = page_text(&content_type, &body, &at, MOST_TEXT);
        if !(200..300).contains(&status) {
            let said = text.map(|page| page.text).unwrap_or_default();
            let words: Vec<&str> = said.split_whitespace().collect();
            let words = words.join(" ");
            let (said, _) = head(&words, MOST_ERROR);
            let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
            return Err(format!("the server answered with status {status}{said}"));
        }
        let page = Arc::new(text?);
        if !is_cut {
            self.cache.put(&first, page.clone());
        }
        Ok(Arrival::Page { url: at, page, is_cut })
    }

    /// Plain http becomes https, except where a person named a private host, or the port is a special one.
    fn secured(&self, url: &str, host: &str) -> String {
        let is_plain =
            url.get(..PLAIN.len()).is_some_and(|start| start.eq_ignore_ascii_case(PLAIN));
        let rest = url.get(PLAIN.len()..).unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let authority = authority.to_ascii_lowercase();
        let port = authority.strip_prefix(host).and_then(|port| port.strip_prefix(':'));
        let port: u16 = port.and_then(|port| port.parse().ok()).unwrap_or(80);
        match is_plain && port == 80 && !self.web.is_private_host(host, port) {
            true => format!("https://{host}{path}"),
            false => url.to_owned(),
        }
    }

    async fn shown(&self, input: Input, url: String, page: &PageText, is_cut: bool) -> ToolOutput {
        let text = enclosed_with(&page.text, &[TAG]);
        if let Some(prompt) = input.prompt.filter(|prompt| !prompt.trim().is_empty()) {
            let (read, _) = head(&text, MOST_READ);
            let question = WebPage { url: url.clone(), text: read.to_owned(), prompt };
            match self.web.read_page(question).await {
                Some(Ok(said)) => {
                    let detail = json!({"url": url, "title": page.title, "extracted": true});
                    return ToolOutput { detail: Some(detail), ..ToolOutput::text(said) };
                }
                Some(Err(why)) => {
                    let note = format!("\n(The small model did not answer the prompt: {why}.)");
                    return whole(&url, page, &text, is_cut, &note);
                }
                None => {}
            }
        }
        whole(&url, page, &text, is_cut, "")
    }
}

fn whole(url: &str, page: &PageText, text: &str, is_cut: bool, note: &str) -> ToolOutput {
    let (shown, is_all) = head(text, MOST_SHOWN);
    let shown = if shown.trim().is_empty() { "(the page has no text)" } else { shown };
    let more = match (is_all, is_cut) {
        (false, _) => format!("\n(Cut after {MOST_SHOWN} characters.)"),
        (true, true) => "\n(Cut: the page is larger than what is fetched.)".to_owned(),
        (true, false) => String::new(),
    };
    let title = page.title.as_ref().map(|title| enclosed_with(title, &[TAG]));
    let title = title.map(|title| format!("Title: {title}\n\n")).unwrap_or_default();
    let detail = json!({"url": url, "title": page.title, "characters": text.chars().count()});
    ToolOutput {
        detail: Some(detail),
        ..ToolOutput::text(format!("<{TAG} url=\"{url}\">\n{title}{shown}\n</{TAG}>{more}{note}"))
    }
}
