//! The older HTTP transport: messages come as events of one stream, and go as requests to the address that its first event
//! names.

use crate::channel_transport::Carrier;
use crate::error::ServerError;
use crate::http_client::{HttpClient, body, events};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::{Client, Url};
use rmcp::transport::streamable_http_client::SseError;
use serde_json::Value;
use sse_stream::Sse;
use tokio::sync::mpsc;

type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The stream, and where messages go.
pub(crate) async fn open(client: &HttpClient, url: &str) -> Result<(Events, Url), ServerError> {
    let base = Url::parse(url).map_err(|_| ServerError::Start("its url cannot be read".into()))?;
    let build = |client: &Client| client.get(base.clone()).header("accept", "text/event-stream");
    let response = client.send(&build).await;
    let response = response.map_err(|fault| match client.needs_auth() {
        Some(needed) => ServerError::NeedsAuth(needed),
        None => ServerError::Start(fault.to_string()),
    })?;
    if !response.status().is_success() {
        let status = response.status().as_u16();
        return Err(ServerError::Start(format!("it answers with status {status}")));
    }
    let mut events = events(response);
    while let Some(event) = events.next().await {
        let event = event
            .map_err(|error| ServerError::Protocol(ServerError::quoted(&error.to_string())))?;
        if event.event.as_deref() == Some("endpoint") {
            let address = base.join(event.data.unwrap_or_default().trim());
            let address = address.ok().filter(|address| address.origin() == base.origin());
            let wrong = || ServerError::Protocol("it names an address on another host".into());
            return Ok((events, address.ok_or_else(wrong)?));
        }
    }
    Err(ServerError::Protocol("its stream ended before it named an address".into()))
}

/// Carries messages until either side ends.
pub(crate) async fn carry(client: HttpClient, mut events: Events, to: Url, carrier: Carrier) {
    let Carrier { mut outgoing, incoming } = carrier;
    let reading = read(&mut events, incoming);
    let writing = async {
        while let Some(message) = outgoing.recv().await {
            if post(&client, &to, &message).await.is_none() {
                return;
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = writing => {}
    }
}

async fn read(events: &mut Events, incoming: mpsc::Sender<Value>) {
    while let Some(Ok(event)) = events.next().await {
        let message = event.data.and_then(|data| serde_json::from_str(&data).ok());
        if let Some(message) = message
            && incoming.send(message).await.is_err()
        {
            return;
        }
    }
}

/// None: the server does not take it.
async fn post(client: &HttpClient, to: &Url, message: &Value) -> Option<()> {
    let text = message.to_string();
    let build = |client: &Client| {
        client.post(to.clone()).header("content-type", "application/json").body(text.clone())
    };
    let response = client.send(&build).await.ok()?;
    let is_taken = response.status().is_success();
    let _ = body(response, 64 * 1024).await;
    is_taken.then_some(())
}
