//! Logins for whoever sends requests to MCP servers. Nobody is asked anything here: a missing login is an error that
//! says which command to use.

use crate::challenge::Challenge;
use crate::discovery::endpoint;
use crate::error::OAuthError;
use crate::oauth::OAuth;
use crate::registration::ClientSettings;
use crate::scopes::Scopes;
use crate::secret_text::SecretText;
use ostler_core::ports::{Authorizer, BoxFuture, HttpServer, LoginSettings, NeedsAuth};
use url::Url;

const BEARER: &str = "Bearer ";

impl From<&LoginSettings> for ClientSettings {
    fn from(settings: &LoginSettings) -> ClientSettings {
        ClientSettings {
            client_id: settings.client_id.clone(),
            client_secret: settings.client_secret.clone().map(SecretText::new),
            issuer: settings.issuer.clone(),
            callback_port: settings.callback_port,
            metadata_document: settings.client_metadata_url.clone(),
            scopes: settings.scopes.as_deref().and_then(Scopes::parse),
        }
    }
}

impl Authorizer for OAuth {
    fn header(&self, server: &HttpServer) -> BoxFuture<'_, Result<Option<String>, NeedsAuth>> {
        let server = server.clone();
        Box::pin(async move {
            // Nobody can have logged in to a server that tokens are not sent to.
            let Ok(url) = endpoint("a server", &server.url) else { return Ok(None) };
            let settings = ClientSettings::from(&server.login);
            let token = self.access(&url, &settings).await;
            let token = token.map_err(|error| needs_auth(&server, &error))?;
            Ok(token.map(|token| format!("{BEARER}{}", token.expose())))
        })
    }

    fn challenged(
        &self,
        server: &HttpServer,
        sent: Option<&str>,
        www_authenticate: &str,
    ) -> BoxFuture<'_, Result<Option<String>, NeedsAuth>> {
        let (server, challenge) = (server.clone(), Challenge::parse(www_authenticate));
        let sent = sent.and_then(|header| header.strip_prefix(BEARER)).map(SecretText::new);
        Box::pin(async move {
            let url = login_url(&server)?;
            let settings = ClientSettings::from(&server.login);
            let token = self.replacement(&url, &settings, sent.as_ref(), &challenge).await;
            let token = token.map_err(|error| needs_auth(&server, &error))?;
            Ok(Some(format!("{BEARER}{}", token.expose())))
        })
    }
}

fn login_url(server: &HttpServer) -> Result<Url, NeedsAuth> {
    endpoint("a server to log in to", &server.url).map_err(|error| needs_auth(server, &error))
}

/// With what to do about it.
fn needs_auth(server: &HttpServer, error: &OAuthError) -> NeedsAuth {
    let name = &server.name;
    let why = match error {
        OAuthError::NeedsAuth(_) => format!("{error}; run: ostler mcp login {name}"),
        other => other.to_string(),
    };
    NeedsAuth { server: name.clone(), why }
}
