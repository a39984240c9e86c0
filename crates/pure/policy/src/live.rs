//! A value that several parts of a session share and that can be replaced while the session runs.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A handle. Copies of it mean the same value.
#[derive(Debug, Default)]
pub struct Live<T>(Arc<RwLock<Arc<T>>>);

impl<T> Live<T> {
    pub fn now(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }

    /// Replaces the value by what is made of it. Nobody else can replace it in between.
    pub fn update(&self, change: impl FnOnce(&T) -> T) {
        let mut value = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *value = Arc::new(change(&value));
    }
}

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Live(self.0.clone())
    }
}

impl<T> From<Arc<T>> for Live<T> {
    fn from(value: Arc<T>) -> Self {
        Live(Arc::new(RwLock::new(value)))
    }
}

impl<T> From<T> for Live<T> {
    fn from(value: T) -> Self {
        Live::from(Arc::new(value))
    }
}

/// What is made of such a value, and made again only when it was replaced.
#[derive(Debug)]
pub struct Derived<S, T> {
    from: Live<S>,
    made: Mutex<Option<(Arc<S>, Arc<T>)>>,
}

impl<S, T> Derived<S, T> {
    pub fn new(from: Live<S>) -> Self {
        Derived { from, made: Mutex::new(None) }
    }

    pub fn get(&self, make: impl FnOnce(&S) -> T) -> Arc<T> {
        let now = self.from.now();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((from, made)) if Arc::ptr_eq(from, &now) => made.clone(),
            _ => {
                let new = Arc::new(make(&now));
                *made = Some((now, new.clone()));
                new
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_derived_is_made_anew_when_the_value_was_replaced() {
        let live = Live::from(1);
        let derived = Derived::new(live.clone());
        let first = derived.get(|value| value + 10);
        assert_eq!(*first, 11);
        assert!(Arc::ptr_eq(&first, &derived.get(|_| unreachable!())));
        live.set(2);
        assert_eq!(*derived.get(|value| value + 10), 12);
    }
}
