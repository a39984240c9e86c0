//! The fixture behind the HTTP server, on a free port, until it is dropped.

use crate::fixture::Fixture;
use ostler_mcp_server::{HttpOptions, serve_http};
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

pub struct Served {
    pub address: SocketAddr,
    _stop: DropGuard,
}

impl Served {
    pub async fn start(options: HttpOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(serve_http(listener, Fixture::new(), options, stop.clone()));
        Served { address, _stop: stop.drop_guard() }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}
