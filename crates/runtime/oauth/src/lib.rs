//! OAuth for MCP servers over HTTP: finds out where to log in, logs in with a browser, and keeps the tokens.
//!
//! The rules are pure and know neither network nor disk: challenges, metadata, scopes, registration, the
//! authorization request and its answer, token answers. Around them are a listener on 127.0.0.1, a store, and
//! [`OAuth`], which puts them together.
//!
//! Invariants
//! - **A token goes to one server.** A login is bound to its server's address, its resource and its issuer, and a
//!   client to the issuer that knows it.
//! - **Nothing is used before it is checked**: metadata by its issuer and resource, endpoints by their scheme and
//!   address, an answer by its `state` and `iss`. Without PKCE there is no login.
//! - **A public server leads nowhere private**: every address is checked after it was resolved.
//! - **A refresh token is spent once**, however many processes share it: whoever holds the lock reads the file again
//!   before asking for new tokens, and a refresh that was sent is stored even if nobody waits for it.
//! - **Only `invalid_grant` and `invalid_client` delete anything.** A server that fails has decided nothing.
//! - **No debug output, error or event contains a secret.**
//! - **Everything is bounded**: documents, tokens, scopes, requests, connections, and each wait.
//!
//! Deliberately absent: opening a browser and asking a person (the caller does that), the environment, tokens that are
//! not bearer tokens, grants without a person.

mod authorization;
mod authorizer;
mod challenge;
mod discovery;
mod error;
mod login;
mod metadata;
mod metadata_fetch;
mod oauth;
mod redirect_listener;
mod registration;
mod scopes;
mod secret_text;
mod store;
mod token;

pub use challenge::Challenge;
pub use error::{CallbackError, NeedsAuth, NeedsAuthReason, OAuthError};
pub use login::PendingLogin;
pub use metadata::ClientAuth;
pub use oauth::{OAuth, RandomText};
pub use redirect_listener::PATIENCE;
pub use registration::{Client, ClientOrigin, ClientSettings};
pub use scopes::Scopes;
pub use secret_text::SecretText;
pub use store::{LoginRecord, LoginStore};
pub use token::Tokens;
pub use url::Url;
