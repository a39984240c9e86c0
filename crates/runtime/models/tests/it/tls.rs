//! Certificates: unknown ones are refused for good, given ones are accepted.

use crate::support::{go, hear, settings};
use ostler_models::{CaFile, HttpModel, ModelSettings};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROOT: &[u8] = include_bytes!("tls/root.pem");
const ANSWER: &[u8] = b"HTTP/1.1 418 Teapot\r\ncontent-length: 5\r\nconnection: close\r\n\r\nshort";

/// Answers each TLS connection once. Counts how many got as far as a request.
fn start() -> (SocketAddr, Arc<AtomicUsize>) {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let seen = requests.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2).flatten() {
            let Ok(connection) = rustls::ServerConnection::new(config.clone()) else { return };
            let mut tls = rustls::StreamOwned::new(connection, stream);
            let mut head = [0; 4096];
            if tls.read(&mut head).is_ok_and(|n| n > 0) {
                seen.fetch_add(1, Ordering::SeqCst);
                let _ = tls.write_all(ANSWER);
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
        }
    });
    (addr, requests)
}

#[tokio::test]
async fn an_unknown_certificate_is_refused_and_not_tried_again() {
    let (addr, requests) = start();
    let model = HttpModel::new(settings(&format!("https://localhost:{}", addr.port()))).unwrap();
    let mut asked = go();
    asked.retries = 3;
    let heard = hear(&model, asked).await;
    let message = &heard.error().message;
    assert!(
        message.starts_with(&format!(
            "the certificate of localhost:{} was not accepted: ",
            addr.port()
        )),
        "{message}"
    );
    assert!(heard.lines.is_empty(), "it will not get better: {:?}", heard.lines);
    assert_eq!(requests.load(Ordering::SeqCst), 0, "no request was sent over it");
}

#[tokio::test]
async fn a_certificate_of_our_own_root_is_accepted() {
    let (addr, requests) = start();
    let ca_file = Some(CaFile { label: "root.pem".into(), pem: ROOT.to_vec() });
    let base = format!("https://localhost:{}", addr.port());
    let heard =
        hear(&HttpModel::new(ModelSettings { ca_file, ..settings(&base) }).unwrap(), go()).await;
    assert!(heard.error().message.ends_with("answered 418: short"), "{}", heard.error());
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}
