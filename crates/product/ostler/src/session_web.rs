//! The web, as the tools of a session see it: pages within limits, a small model that reads them, and searches.

use crate::host::Host;
use crate::session_options::{SearchChoice, SearchEndpoint, SessionOptions, WebOptions};
use ostler_core::ids::ModelId;
use ostler_core::ledger::Purpose;
use ostler_core::message::Message;
use ostler_core::model::{Request, Thinking};
use ostler_core::ports::{BoxFuture, Web, WebAnswer, WebFindings, WebHit, WebPage, WebSearch};
use ostler_core::rendering::SharedList;
use ostler_core::text::fill;
use ostler_core::tool::ToolSpec;
use ostler_core::tool_facts::{ToolFacts, ToolKind};
use ostler_core::view::View;
use ostler_engine::{Agent, side_request};
use ostler_models::{Network, PageLimits};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

const PAGE: &str = include_str!("../../../../prompts/web-page.md").trim_ascii();
const SEARCH: &str = include_str!("../../../../prompts/web-search.md").trim_ascii();
/// What the provider calls its search.
const PROVIDER_TOOL: &str = "web_search";
/// Searches within one request, and how long it may take.
const MOST_SEARCHES: u32 = 8;
const SEARCHING: Duration = Duration::from_secs(90);
/// Results of an endpoint that are looked at.
const MOST_RESULTS: usize = 100;
/// Bytes that are read of a page.
const MOST_BYTES: usize = 5 << 20;
/// For one request.
const TIME: Duration = Duration::from_secs(30);
/// For a small model that reads a page.
const READING: Duration = Duration::from_secs(60);
/// Tokens of what it says.
const MOST_SAID: u32 = 4_000;
const RETRIES: u32 = 2;

pub(crate) struct SessionWeb {
    network: Network,
    options: WebOptions,
    /// Who pays; set when there is an agent.
    agent: OnceLock<Weak<Agent>>,
}

impl SessionWeb {
    pub(crate) fn new(host: &Host, options: &SessionOptions) -> Arc<Self> {
        let mut web = options.web.clone();
        let model = ostler_models::resolve_model(&options.model);
        if web.search == SearchChoice::Auto && host.model().searches_web(&model) {
            web.search = SearchChoice::Provider;
        }
        Arc::new(SessionWeb { network: host.network(), options: web, agent: OnceLock::new() })
    }

    pub(crate) fn serve(&self, agent: &Arc<Agent>) {
        let _ = self.agent.set(Arc::downgrade(agent));
    }

    fn agent(&self) -> Result<Arc<Agent>, String> {
        self.agent.get().and_then(Weak::upgrade).ok_or_else(|| "the session is over".to_owned())
    }
}

impl Web for SessionWeb {
    fn get(&self, url: String) -> BoxFuture<'static, Result<WebAnswer, String>> {
        let (network, private_hosts) = (self.network.clone(), self.options.private_hosts.clone());
        Box::pin(async move {
            let private_hosts = private_hosts.as_slice();
            let limits = PageLimits { private_hosts, bytes: MOST_BYTES, time: TIME };
            let answer = network.page(&url, &limits).await?;
            Ok(WebAnswer {
                status: answer.status,
                location: answer.location,
                content_type: answer.content_type,
                body: answer.body,
                is_cut: answer.is_cut,
            })
        })
    }

    fn is_private_host(&self, host: &str, port: u16) -> bool {
        ostler_models::is_private_host(&self.options.private_hosts, host, port)
    }

    fn read_page(&self, page: WebPage) -> BoxFuture<'static, Option<Result<String, String>>> {
        let Some(model) = self.options.small_model.clone() else {
            return Box::pin(std::future::ready(None));
        };
        let agent = self.agent();
        Box::pin(async move {
            let reading = async {
                let WebPage { url, text, prompt } = &page;
                let asked = fill(PAGE, &[("url", url), ("text", text), ("prompt", prompt)]);
                said_about(&agent?, &model, asked).await
            };
            let read = tokio::time::timeout(READING, reading).await;
            Some(read.unwrap_or_else(|_| Err(format!("no answer within {} s", READING.as_secs()))))
        })
    }

    fn can_search(&self) -> bool {
        matches!(self.options.search, SearchChoice::Provider | SearchChoice::Endpoint(_))
    }

    fn search(&self, search: WebSearch) -> BoxFuture<'static, Result<WebFindings, String>> {
        match &self.options.search {
            SearchChoice::Endpoint(endpoint) => {
                let (network, endpoint) = (self.network.clone(), endpoint.clone());
                Box::pin(async move { asked_endpoint(&network, &endpoint, &search).await })
            }
            SearchChoice::Provider => {
                let agent = self.agent();
                Box::pin(async move { asked_provider(&agent?, &search).await })
            }
            SearchChoice::Auto | SearchChoice::Nobody => {
                Box::pin(std::future::ready(Err("no search is configured".into())))
            }
        }
    }
}

/// One request beside the conversation, paid for by the session.
async fn said_about(agent: &Arc<Agent>, model: &str, asked: String) -> Result<String, String> {
    let model = ostler_models::resolve_model(model);
    let said = side_answer(agent, model, asked, SharedList::default()).await?;
    match said.trim() {
        "" => Err("it said nothing".into()),
        said => Ok(said.to_owned()),
    }
}

async fn side_answer(
    agent: &Arc<Agent>,
    model: ModelId,
    asked: String,
    tools: SharedList<ToolSpec>,
) -> Result<String, String> {
    let request = Request {
        model,
        system: SharedList::default(),
        tools,
        view: View::from_messages([Message::user(asked)]),
        max_output: MOST_SAID,
        thinking: Thinking::Disabled,
        retries: RETRIES,
        retries_before_fallback: None,
        raw_events: false,
        source: Purpose::Web,
        agent: agent.meter.path.clone(),
    };
    let answer = side_request(agent, request, None).await.map_err(|error| error.to_string())?;
    Ok(answer.message.map(|message| message.text()).unwrap_or_default())
}

/// The provider searches within one request of its own. What it found comes back as text, so it is kept, shown and
/// summarized like every other result.
async fn asked_provider(agent: &Arc<Agent>, search: &WebSearch) -> Result<WebFindings, String> {
    let mut options = json!({ "max_uses": MOST_SEARCHES });
    let filters = [
        ("allowed_domains", &search.allowed_domains),
        ("blocked_domains", &search.blocked_domains),
    ];
    for (name, domains) in filters.into_iter().filter(|(_, domains)| !domains.is_empty()) {
        options[name] = json!(domains);
    }
    let tool = ToolSpec {
        name: PROVIDER_TOOL.to_owned(),
        input_schema: options,
        facts: ToolFacts { kind: ToolKind::Provided, ..ToolFacts::UNDECLARED },
        ..ToolSpec::default()
    };
    let asked = fill(SEARCH, &[("query", &search.query)]);
    let model = agent.choice().primary;
    let searching = side_answer(agent, model, asked, [tool].into_iter().collect());
    let text = tokio::time::timeout(SEARCHING, searching).await;
    let text = text.map_err(|_| format!("no answer within {} s", SEARCHING.as_secs()))??;
    Ok(WebFindings { hits: Vec::new(), text })
}

async fn asked_endpoint(
    network: &Network,
    endpoint: &SearchEndpoint,
    search: &WebSearch,
) -> Result<WebFindings, String> {
    let WebSearch { query, allowed_domains, blocked_domains } = search;
    let body = json!({
        "query": query,
        "allowed_domains": allowed_domains,
        "blocked_domains": blocked_domains,
    });
    let answer = network.post_json(&endpoint.url, endpoint.key.as_ref(), &body, TIME).await?;
    let results = answer.get("results").and_then(Value::as_array);
    let results = results.ok_or("the answer of the endpoint has no list \"results\"")?;
    let text = |hit: &Value, name: &str| {
        hit.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let hit = |hit: &Value| WebHit {
        title: text(hit, "title"),
        url: text(hit, "url"),
        snippet: text(hit, "snippet"),
    };
    Ok(WebFindings {
        hits: results.iter().take(MOST_RESULTS).map(hit).collect(),
        text: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use tokio::time::Instant;

    fn web() -> SessionWeb {
        let options =
            WebOptions { private_hosts: vec!["127.0.0.1".into()], ..WebOptions::default() };
        SessionWeb { network: Network::default(), options, agent: OnceLock::new() }
    }

    /// The limit is for the whole page: a server that has begun to answer does not get more time.
    #[tokio::test(start_paused = true)]
    async fn a_page_has_thirty_seconds() {
        for begun in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/", listener.local_addr().unwrap());
            std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(begun.as_bytes());
                // Until the client hangs up, which is when its runtime ends at the latest.
                let _ = stream.read_to_end(&mut Vec::new());
            });
            let start = Instant::now();
            let answer = web().get(url).await;
            assert_eq!(answer.err().as_deref(), Some("no answer within 30 s"), "{begun:?}");
            assert_eq!(start.elapsed().as_secs(), TIME.as_secs(), "on the paused clock");
        }
    }
}
