//! One type for both ways to a server, so that the protocol's code is in the program once.

use crate::channel_transport::ChannelTransport;
use crate::http_client::HttpClient;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{StreamableHttpClientTransport, Transport};

pub(crate) enum Link {
    Channel(ChannelTransport),
    Http(Box<StreamableHttpClientTransport<HttpClient>>),
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LinkError(String);

fn erased(error: impl std::error::Error) -> LinkError {
    let mut text = error.to_string();
    let mut inner = error.source();
    while let Some(source) = inner {
        text = source.to_string();
        inner = source.source();
    }
    LinkError(text)
}

impl Transport<RoleClient> for Link {
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let sending: BoxFuture<'static, Result<(), LinkError>> = match self {
            Link::Channel(channel) => channel.send(item).map(|sent| sent.map_err(erased)).boxed(),
            Link::Http(http) => http.send(item).map(|sent| sent.map_err(erased)).boxed(),
        };
        sending
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self {
            Link::Channel(channel) => channel.receive().await,
            Link::Http(http) => http.receive().await,
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        match self {
            Link::Channel(channel) => channel.close().await.map_err(erased),
            Link::Http(http) => http.close().await.map_err(erased),
        }
    }
}
