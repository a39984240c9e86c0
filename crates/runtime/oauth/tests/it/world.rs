//! An MCP server with its authorization server, both on one port of this machine. Refresh tokens rotate; one that is
//! used twice revokes everything, as OAuth 2.1 wants it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ostler_core::time::{Clock, Timestamp};
use ostler_models::Network;
use ostler_oauth::{LoginStore, OAuth};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use url::{Url, form_urlencoded};

pub const START: u64 = 1_000_000_000_000;
pub const HOUR: u64 = 3_600_000;

#[derive(Debug)]
pub struct TestClock(AtomicU64);

impl TestClock {
    pub fn at(now: u64) -> Arc<TestClock> {
        Arc::new(TestClock(AtomicU64::new(now)))
    }

    pub fn advance(&self, by: u64) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub fn oauth(home: &Path, clock: Arc<TestClock>) -> OAuth {
    OAuth::new(Network::default(), LoginStore::new(home.join("oauth")), clock, random)
}

fn random() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

pub type Form = HashMap<String, String>;

/// What the servers do, and what they saw.
#[derive(Default)]
pub struct State {
    pub base: String,
    /// Replaces the values of these keys in the documents; null removes them.
    pub resource_change: Value,
    pub server_change: Value,
    pub registration_change: Value,
    /// Where there is no document.
    pub missing: Vec<&'static str>,
    /// In the challenge of the MCP server, after `Bearer `.
    pub challenge: String,
    /// Instead of tokens.
    pub token_failure: Option<(u16, &'static str)>,
    /// Parameters of the redirect; none removes one.
    pub answer_change: Vec<(&'static str, Option<&'static str>)>,
    pub registrations: Vec<Value>,
    pub authorizations: Vec<Form>,
    pub token_requests: Vec<(Form, Option<String>)>,
    pub paths: Vec<String>,
    pub refreshes: usize,
    pub reuses: usize,
    issued: u64,
    challenge_of_code: String,
    access: Option<String>,
    refresh: Option<String>,
}

#[derive(Clone)]
pub struct World {
    pub state: Arc<Mutex<State>>,
    /// A permit for each answer of the token endpoint.
    pub answers: Arc<Semaphore>,
}

impl World {
    pub async fn start() -> World {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://127.0.0.1:{}", socket.local_addr().unwrap().port());
        let challenge =
            format!("resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
        let state = State { base, challenge, ..State::default() };
        let answers = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        let world = World { state: Arc::new(Mutex::new(state)), answers };
        let serving = world.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        world
    }

    pub fn base(&self) -> String {
        self.state.lock().unwrap().base.clone()
    }

    pub fn server(&self) -> Url {
        Url::parse(&format!("{}/mcp", self.base())).unwrap()
    }

    pub fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }

    pub fn get<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.lock().unwrap())
    }

    pub fn accepts(&self, token: &str) -> bool {
        self.get(|state| state.access.as_deref() == Some(token))
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some((head, body)) = read_message(&mut stream).await else { return };
        let mut words = head.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let authorization = header(&head, "authorization");
        self.set(|state| state.paths.push(path.to_owned()));
        if path == "/token" {
            self.answers.acquire().await.unwrap().forget();
        }
        let answer = self.state.lock().unwrap().answer(method, path, query, &body, authorization);
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}

impl State {
    fn answer(
        &mut self,
        method: &str,
        path: &str,
        query: &str,
        body: &str,
        authorization: Option<String>,
    ) -> String {
        if self.missing.contains(&path) {
            return reply(404, "", "not here");
        }
        let base = self.base.clone();
        match (method, path) {
            (
                "GET",
                "/.well-known/oauth-protected-resource/mcp"
                | "/.well-known/oauth-protected-resource",
            ) => {
                let document =
                    json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]});
                reply(200, "", &changed(document, &self.resource_change).to_string())
            }
            (
                "GET",
                "/.well-known/oauth-authorization-server" | "/.well-known/openid-configuration",
            ) => {
                let document = json!({
                    "issuer": base,
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"),
                    "registration_endpoint": format!("{base}/register"),
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                });
                reply(200, "", &changed(document, &self.server_change).to_string())
            }
            ("POST", "/register") => {
                self.registrations.push(serde_json::from_str(body).unwrap());
                let id = format!("client-{}", self.registrations.len());
                reply(
                    201,
                    "",
                    &changed(json!({ "client_id": id }), &self.registration_change).to_string(),
                )
            }
            ("GET", "/authorize") => self.authorize(form(query)),
            ("POST", "/token") => self.token(form(body), authorization),
            ("POST", "/mcp") => {
                let token =
                    authorization.as_deref().and_then(|header| header.strip_prefix("Bearer "));
                match token.is_some() && token == self.access.as_deref() {
                    true => reply(200, "", "{}"),
                    false => reply(
                        401,
                        &format!("www-authenticate: Bearer {}\r\n", self.challenge),
                        "{}",
                    ),
                }
            }
            _ => reply(404, "", "not here"),
        }
    }

    fn authorize(&mut self, asked: Form) -> String {
        let mut answer = Url::parse(&asked["redirect_uri"]).unwrap();
        let (state, issuer) = (asked["state"].clone(), self.base.clone());
        let mut parameters =
            vec![("code", "the-code".to_owned()), ("state", state), ("iss", issuer)];
        for (name, value) in &self.answer_change {
            parameters.retain(|(known, _)| known != name);
            parameters.extend(value.map(|value| (*name, value.to_owned())));
        }
        answer.query_pairs_mut().extend_pairs(parameters);
        self.challenge_of_code = asked["code_challenge"].clone();
        self.authorizations.push(asked);
        reply(302, &format!("location: {answer}\r\n"), "")
    }

    fn token(&mut self, asked: Form, authorization: Option<String>) -> String {
        self.token_requests.push((asked.clone(), authorization));
        if let Some((status, body)) = self.token_failure {
            return reply(status, "", body);
        }
        let is_good = match asked["grant_type"].as_str() {
            "authorization_code" => {
                let hash =
                    URL_SAFE_NO_PAD.encode(Sha256::digest(asked["code_verifier"].as_bytes()));
                asked["code"] == "the-code" && hash == self.challenge_of_code
            }
            "refresh_token" => {
                self.refreshes += 1;
                self.refresh.as_ref() == asked.get("refresh_token")
            }
            _ => false,
        };
        if !is_good {
            self.reuses += 1;
            (self.access, self.refresh) = (None, None);
            return reply(400, "", r#"{"error":"invalid_grant"}"#);
        }
        self.issued += 1;
        let (access, refresh) =
            (format!("access-{}", self.issued), format!("refresh-{}", self.issued));
        let answer = json!({
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": HOUR / 1000,
            "refresh_token": refresh,
        });
        (self.access, self.refresh) = (Some(access), Some(refresh));
        reply(200, "", &answer.to_string())
    }
}

fn changed(mut document: Value, change: &Value) -> Value {
    for (key, value) in change.as_object().into_iter().flatten() {
        let fields = document.as_object_mut().unwrap();
        match value {
            Value::Null => fields.remove(key),
            value => fields.insert(key.clone(), value.clone()),
        };
    }
    document
}

fn form(text: &str) -> Form {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn reply(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

async fn read_message(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = header(head, "content-length").map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
    }
}

/// What a browser does with a person who agrees: opens the address and goes where it is sent.
pub async fn browse(url: &Url) -> String {
    let answer = get(url).await;
    let place = Url::parse(&header(&answer, "location").unwrap()).unwrap();
    get(&place).await
}

/// Where a browser would be sent.
pub async fn redirect(url: &Url) -> String {
    header(&get(url).await, "location").unwrap()
}

async fn get(url: &Url) -> String {
    let port = url.port().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let target = &url[url::Position::BeforePath..];
    let request =
        format!("GET {target} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}
