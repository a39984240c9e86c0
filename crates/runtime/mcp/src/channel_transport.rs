//! Messages between the protocol and whoever carries them, by two bounded channels. One type for every transport keeps the
//! protocol's code in the program once.

use crate::greeting::Probe;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Messages that wait in either direction.
const DEPTH: usize = 64;

pub(crate) struct ChannelTransport {
    outgoing: Option<mpsc::Sender<Value>>,
    incoming: mpsc::Receiver<Value>,
    probe: Option<Probe>,
    /// The request that waits for an answer to the probe, and until when.
    probing: Option<(Value, Instant)>,
    /// The request whose answer nobody waits for any more.
    given_up: Option<Value>,
}

/// The other side of the channels.
pub(crate) struct Carrier {
    /// What the client says.
    pub(crate) outgoing: mpsc::Receiver<Value>,
    /// What the server says.
    pub(crate) incoming: mpsc::Sender<Value>,
}

/// With a probe, its limit counts from the moment the request is sent.
pub(crate) fn channels(probe: Option<&Probe>) -> (ChannelTransport, Carrier) {
    let (to_server, outgoing) = mpsc::channel(DEPTH);
    let (incoming, from_server) = mpsc::channel(DEPTH);
    let transport = ChannelTransport {
        outgoing: Some(to_server),
        incoming: from_server,
        probe: probe.cloned(),
        probing: None,
        given_up: None,
    };
    (transport, Carrier { outgoing, incoming })
}

impl ChannelTransport {
    /// The next message; a probe that nobody answers in time is answered here, like an older server would.
    async fn next(&mut self) -> Option<Value> {
        let Some((id, until)) = self.probing.clone() else { return self.incoming.recv().await };
        match timeout_at(until, self.incoming.recv()).await {
            Ok(message) => {
                if message.as_ref().is_some_and(|message| is_answer(message, &id)) {
                    self.probing = None;
                }
                message
            }
            Err(_) => {
                self.probing = None;
                self.given_up = Some(id.clone());
                if let Some(probe) = &self.probe {
                    probe.was_silent();
                }
                let error = json!({"code": -32601, "message": "the server did not answer"});
                Some(json!({"jsonrpc": "2.0", "id": id, "error": error}))
            }
        }
    }
}

fn is_answer(message: &Value, id: &Value) -> bool {
    message.get("method").is_none() && message.get("id") == Some(id)
}

#[derive(Debug, thiserror::Error)]
#[error("the connection is closed")]
pub(crate) struct ChannelClosed;

impl Transport<RoleClient> for ChannelTransport {
    type Error = ChannelClosed;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), ChannelClosed>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        let message = serde_json::to_value(item).map_err(|_| ChannelClosed);
        let limit = self.probe.as_ref().and_then(|probe| probe.limit);
        if let (Ok(message), Some(limit)) = (&message, limit)
            && message.get("method").and_then(Value::as_str) == Some("server/discover")
            && let Some(id) = message.get("id")
        {
            self.probing = Some((id.clone(), Instant::now() + limit));
        }
        async move {
            let message = message?;
            let outgoing = outgoing.ok_or(ChannelClosed)?;
            outgoing.send(message).await.map_err(|_| ChannelClosed)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let before = self.given_up.clone();
            let message = self.next().await?;
            if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0")
                || before.is_some_and(|id| is_answer(&message, &id))
            {
                continue;
            }
            // What the protocol does not know is nobody's answer.
            if let Ok(message) = serde_json::from_value(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), ChannelClosed> {
        self.outgoing = None;
        self.incoming.close();
        Ok(())
    }
}
