//! What the handles of one board share inside a process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// One value per file, for as long as somebody uses it.
pub struct Registry<T>(Mutex<Option<HashMap<PathBuf, Weak<T>>>>);

impl<T> Registry<T> {
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Registry(Mutex::new(None))
    }

    pub fn get_or_make(&self, file: &Path, make: impl FnOnce() -> T) -> Arc<T> {
        let mut all = lock(&self.0);
        let all = all.get_or_insert_default();
        if let Some(value) = all.get(file).and_then(Weak::upgrade) {
            return value;
        }
        all.retain(|_, value| value.strong_count() > 0);
        let value = Arc::new(make());
        all.insert(file.to_owned(), Arc::downgrade(&value));
        value
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
