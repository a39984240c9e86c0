//! What every test here needs: a model that is quick to retry, a request, and events as lines.

use futures_util::StreamExt;
use ostler_core::ids::ModelId;
use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Message};
use ostler_core::model::{ModelError, ModelEvent, Request, Thinking};
use ostler_core::ports::Model;
use ostler_core::tool::ToolSpec;
use ostler_core::view::View;
use ostler_model_server::{ModelServer, Script};
use ostler_models::{
    CredentialKind, Credentials, Deadlines, HttpModel, ModelSettings, Provider, RetryPolicy, Secret,
};
use serde_json::json;
use std::time::Duration;

pub const SECRET: &str = "sk-test-very-secret";
/// Long enough for a loaded machine; reached only when something hangs.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub fn settings(url: &str) -> ModelSettings {
    let credentials = Credentials {
        kind: CredentialKind::ApiKey,
        label: "THE_KEY".into(),
        secret: Secret::new(SECRET),
    };
    let provider = Provider::default().at(url);
    let retry = RetryPolicy { base: Duration::from_millis(1), ..RetryPolicy::default() };
    ModelSettings { retry, ..ModelSettings::new(provider, credentials) }
}

pub fn model(url: &str) -> HttpModel {
    HttpModel::new(settings(url)).unwrap()
}

pub fn hasty(url: &str, deadlines: Deadlines) -> HttpModel {
    HttpModel::new(ModelSettings { deadlines, ..settings(url) }).unwrap()
}

pub fn serve(script: Script) -> ModelServer {
    ModelServer::start(script).unwrap()
}

pub fn request(view: &View) -> Request {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "A tool.".into(),
        input_schema: json!({"type": "object"}),
        ..ToolSpec::default()
    };
    Request {
        model: ModelId::new("scripted"),
        system: vec!["Be brief.".to_owned()].into(),
        tools: vec![tool("Read"), tool("Bash")].into(),
        view: view.clone(),
        max_output: 32_000,
        thinking: Thinking::Auto,
        retries: 0,
        retries_before_fallback: None,
        raw_events: false,
        source: ostler_core::ledger::Purpose::Answer,
        agent: Default::default(),
    }
}

pub fn go() -> Request {
    request(&View::from_messages([Message::user("go")]))
}

#[derive(Debug, Default)]
pub struct Heard {
    pub lines: Vec<String>,
    pub blocks: Vec<Block>,
    pub usage: Usage,
    pub error: Option<ModelError>,
}

impl Heard {
    pub fn text(&self) -> String {
        self.lines.iter().filter_map(|line| line.strip_prefix("text ")).collect()
    }

    pub fn error(&self) -> &ModelError {
        self.error.as_ref().unwrap_or_else(|| panic!("no error: {:#?}", self.lines))
    }

    pub fn starting_with(&self, word: &str) -> Vec<&str> {
        self.lines.iter().map(String::as_str).filter(|line| line.starts_with(word)).collect()
    }
}

/// Reads to the end. Nothing may follow an end or an error.
pub async fn hear(model: &HttpModel, request: Request) -> Heard {
    let read = async {
        let mut heard = Heard::default();
        let mut stream = model.stream(request);
        let mut over = false;
        while let Some(item) = stream.next().await {
            assert!(!over, "{item:?} after the end");
            match item {
                Ok(event) => {
                    over = matches!(event, ModelEvent::Ended { .. });
                    note(&mut heard, event);
                }
                Err(error) => {
                    over = true;
                    assert!(!error.message.contains(SECRET), "{error}");
                    assert!(!error.message.contains('\n') && error.message.len() < 500, "{error}");
                    heard.error = Some(error);
                }
            }
        }
        assert!(over, "the stream ended without an end: {:#?}", heard.lines);
        heard
    };
    tokio::time::timeout(PATIENCE, read).await.expect("an end in time")
}

fn note(heard: &mut Heard, event: ModelEvent) {
    let line = match event {
        ModelEvent::Retrying(retry) => {
            let status = retry.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
            format!(
                "retrying {}/{} {} {} {}",
                retry.attempt,
                retry.of,
                status,
                retry.kind.name(),
                retry.wait.as_millis()
            )
        }
        ModelEvent::Started { usage, .. } => {
            heard.usage = usage;
            "started".into()
        }
        ModelEvent::Text(text) => format!("text {text}"),
        ModelEvent::Thinking(text) => format!("thinking {text}"),
        ModelEvent::Block(block) => {
            let kind = match &block {
                Block::Text { .. } => "text",
                Block::ToolUse { .. } => "call",
                _ => "other",
            };
            heard.blocks.push(block);
            format!("block {kind}")
        }
        ModelEvent::Cut { name, raw, .. } => format!("cut {name} {raw}"),
        ModelEvent::Ended { stop, usage } => {
            heard.usage = usage;
            format!("ended {stop:?}")
        }
        ModelEvent::Raw(_) => "raw".into(),
        ModelEvent::Note(text) => format!("note {text}"),
    };
    heard.lines.push(line);
}

pub fn quick() -> Deadlines {
    let short = Duration::from_millis(300);
    Deadlines {
        connect: short,
        first_event: short,
        silence: short,
        answer: Duration::from_secs(20),
    }
}
