//! One type for both ways to a server, so that the protocol's code is in the program once.

use crate::channel_transport::ChannelTransport;
use crate::handler::Handler;
use crate::http_client::HttpClient;
use crate::peer_requests::PeerRequests;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::model::{JsonRpcMessage, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{StreamableHttpClientTransport, Transport};

pub(crate) struct Link {
    way: Way,
    handler: Handler,
    requests: PeerRequests,
}

pub(crate) enum Way {
    Channel(ChannelTransport),
    Http(Box<StreamableHttpClientTransport<HttpClient>>),
}

impl Link {
    pub(crate) fn new(way: Way, handler: Handler) -> Self {
        Link { way, handler, requests: PeerRequests::default() }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LinkError(String);

fn erased(error: impl std::error::Error) -> LinkError {
    let mut text = error.to_string();
    let mut inner = error.source();
    while let Some(source) = inner {
        text = match source.is::<serde_json::Error>() {
            true => "its answer is not a message of the protocol".to_owned(),
            false => source.to_string(),
        };
        inner = source.source();
    }
    // What the protocol's code puts in front of our own words.
    LinkError(text.strip_prefix("Client error: ").map(str::to_owned).unwrap_or(text))
}

impl Transport<RoleClient> for Link {
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let (requests, answered) = (self.requests.clone(), self.requests.answered_by(&item));
        let sending: BoxFuture<'static, Result<(), LinkError>> = match &mut self.way {
            Way::Channel(channel) => channel.send(item).map(|sent| sent.map_err(erased)).boxed(),
            Way::Http(http) => http.send(item).map(|sent| sent.map_err(erased)).boxed(),
        };
        async move {
            let sent = sending.await;
            if let Some(id) = answered {
                requests.end(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = match &mut self.way {
                Way::Channel(channel) => channel.receive().await,
                Way::Http(http) => http.receive().await,
            }?;
            // At once, and not beside what comes next: after the answer nobody wants to know how far the call is.
            if let JsonRpcMessage::Notification(it) = &message
                && let ServerNotification::ProgressNotification(progress) = &it.notification
            {
                self.handler.progressed(&progress.params);
                continue;
            }
            if self.requests.admits(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        match &mut self.way {
            Way::Channel(channel) => channel.close().await.map_err(erased),
            Way::Http(http) => http.close().await.map_err(erased),
        }
    }
}
