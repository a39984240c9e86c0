//! Renderings of what is sent again and again: made once for each wire protocol, then shared.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Names a rendering. The context is whatever else its bytes depend on, as a number that the protocol chooses; it must
/// have few values, because each of them is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderKey {
    pub protocol: &'static str,
    pub context: u64,
}

impl RenderKey {
    pub const fn of(protocol: &'static str) -> Self {
        RenderKey { protocol, context: 0 }
    }
}

/// One slot for each key, in the order in which they were first asked for. Reading takes no lock; two threads that ask
/// for the same rendering at once get one made by one of them.
#[derive(Debug, Default)]
pub struct Renderings(OnceLock<Box<RenderingSlot>>);

#[derive(Debug)]
struct RenderingSlot {
    key: RenderKey,
    rendered: Arc<dyn Any + Send + Sync>,
    next: Renderings,
}

impl Renderings {
    pub fn get<T: Any + Send + Sync>(&self, key: RenderKey, render: impl Fn() -> T) -> Arc<T> {
        let mut renderings = self;
        loop {
            let slot = renderings.0.get_or_init(|| {
                let rendered = Arc::new(render());
                Box::new(RenderingSlot { key, rendered, next: Renderings::default() })
            });
            if slot.key == key
                && let Ok(rendered) = slot.rendered.clone().downcast::<T>()
            {
                return rendered;
            }
            renderings = &slot.next;
        }
    }
}

/// A list that stays the same through a session, together with its renderings. Cloning copies a pointer.
pub struct SharedList<T>(Arc<ListedRendering<T>>);

struct ListedRendering<T> {
    items: Box<[T]>,
    renderings: Renderings,
}

impl<T> SharedList<T> {
    /// Whether both are clones of one list; equal lists that were made apart are not.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn rendered<R: Any + Send + Sync>(
        &self,
        key: RenderKey,
        render: impl Fn(&[T]) -> R,
    ) -> Arc<R> {
        self.0.renderings.get(key, || render(&self.0.items))
    }
}

impl<T> Deref for SharedList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0.items
    }
}

impl<T> AsRef<[T]> for SharedList<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> Clone for SharedList<T> {
    fn clone(&self) -> Self {
        SharedList(self.0.clone())
    }
}

impl<T> Default for SharedList<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for SharedList<T> {
    fn from(items: Vec<T>) -> Self {
        let renderings = Renderings::default();
        SharedList(Arc::new(ListedRendering { items: items.into(), renderings }))
    }
}

impl<T, const N: usize> From<[T; N]> for SharedList<T> {
    fn from(items: [T; N]) -> Self {
        Vec::from(items).into()
    }
}

impl<T> FromIterator<T> for SharedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        items.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_protocol_and_context_has_a_slot() {
        let list: SharedList<&str> = vec!["a", "b"].into();
        let renders = AtomicUsize::new(0);
        let get = |protocol, context, mark: &str| {
            let rendered = list.clone().rendered(RenderKey { protocol, context }, |items| {
                renders.fetch_add(1, Ordering::Relaxed);
                items.join(mark)
            });
            (*rendered).clone()
        };
        for _ in 0..3 {
            assert_eq!(get("one", 0, "+"), "a+b");
            assert_eq!(get("two", 0, "-"), "a-b");
            assert_eq!(get("two", 1, "*"), "a*b");
        }
        assert_eq!(renders.into_inner(), 3);
    }

    #[test]
    fn threads_that_ask_at_once_share_one_rendering() {
        let renderings = Renderings::default();
        let (renders, start) = (AtomicUsize::new(0), Barrier::new(8));
        std::thread::scope(|scope| {
            for nth in 0..8 {
                let (renderings, renders, start) = (&renderings, &renders, &start);
                scope.spawn(move || {
                    start.wait();
                    let protocol = if nth % 2 == 0 { "even" } else { "odd" };
                    let rendered = renderings.get(RenderKey::of(protocol), || {
                        renders.fetch_add(1, Ordering::Relaxed);
                        protocol.to_owned()
                    });
                    assert_eq!(*rendered, protocol);
                });
            }
        });
        assert_eq!(renders.into_inner(), 2);
    }
}
