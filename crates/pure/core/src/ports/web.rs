//! What tools need of the web. Whoever implements it decides which addresses can be reached, and how.

use super::BoxFuture;

pub trait Web: Send + Sync {
    /// One request; a redirect is not followed. Bounded in size and time.
    ///
    /// # Errors
    /// In words, why there is no answer.
    fn get(&self, url: String) -> BoxFuture<'static, Result<WebAnswer, String>>;

    /// A person named this host as one that may be on a private network, where there are no certificates.
    fn is_private_host(&self, host: &str, port: u16) -> bool;

    /// What a small model says about a page; none where there is no such model.
    fn read_page(&self, page: WebPage) -> BoxFuture<'static, Option<Result<String, String>>>;

    /// Whether [`Web::search`] can find anything.
    fn can_search(&self) -> bool;

    /// # Errors
    /// In words, why nothing was searched.
    fn search(&self, search: WebSearch) -> BoxFuture<'static, Result<WebFindings, String>>;
}

/// Whatever a server said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebAnswer {
    pub status: u16,
    /// Where a redirect leads.
    pub location: Option<String>,
    pub content_type: String,
    pub body: Vec<u8>,
    /// There is more than was read.
    pub is_cut: bool,
}

/// A page as text, and what is to be found out about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebPage {
    pub url: String,
    pub text: String,
    pub prompt: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebSearch {
    pub query: String,
    /// Only pages of these; empty: of all.
    pub allowed_domains: Vec<String>,
    pub blocked_domains: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebFindings {
    pub hits: Vec<WebHit>,
    /// What the provider's model said about them.
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebHit {
    pub title: String,
    pub url: String,
    pub snippet: String,
}
