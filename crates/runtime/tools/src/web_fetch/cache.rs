//! Pages that were fetched a short while ago.

use super::page::PageText;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const AGE: Duration = Duration::from_secs(15 * 60);
const MOST_PAGES: usize = 32;
/// Bytes of all of them.
const MOST_BYTES: usize = 8 << 20;

#[derive(Default)]
pub struct PageCache(Mutex<VecDeque<CachedPage>>);

struct CachedPage {
    url: String,
    at: Instant,
    page: Arc<PageText>,
}

impl PageCache {
    pub fn get(&self, url: &str) -> Option<Arc<PageText>> {
        let mut pages = self.pages();
        pages.retain(|cached| cached.at.elapsed() < AGE);
        pages.iter().find(|cached| cached.url == url).map(|cached| cached.page.clone())
    }

    pub fn put(&self, url: &str, page: Arc<PageText>) {
        let mut pages = self.pages();
        pages.retain(|cached| cached.url != url);
        pages.push_back(CachedPage { url: url.to_owned(), at: Instant::now(), page });
        let size = |pages: &VecDeque<CachedPage>| -> usize {
            pages.iter().map(|cached| cached.page.text.len()).sum()
        };
        while pages.len() > MOST_PAGES || size(&pages) > MOST_BYTES {
            pages.pop_front();
        }
    }

    fn pages(&self) -> MutexGuard<'_, VecDeque<CachedPage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Arc<PageText> {
        Arc::new(PageText { title: None, text: text.into() })
    }

    #[tokio::test(start_paused = true)]
    async fn it_forgets_what_is_old_and_what_is_too_much() {
        let cache = PageCache::default();
        cache.put("a", page("1"));
        tokio::time::advance(AGE / 2).await;
        cache.put("b", page("2"));
        assert_eq!(cache.get("a"), Some(page("1")));
        tokio::time::advance(AGE / 2).await;
        assert_eq!((cache.get("a"), cache.get("b")), (None, Some(page("2"))));
        for n in 0..2 * MOST_PAGES {
            cache.put(&format!("{n}"), page("x"));
        }
        assert_eq!(cache.pages().len(), MOST_PAGES);
        cache.put("large", page(&"x".repeat(MOST_BYTES - 10)));
        assert_eq!(cache.pages().len(), 11);
        cache.put("larger", page(&"x".repeat(MOST_BYTES + 1)));
        assert_eq!(cache.pages().len(), 0, "what is too large is not kept");
    }
}
