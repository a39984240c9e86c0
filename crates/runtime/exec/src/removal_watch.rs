//! Notices that something may have been removed or moved away.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use tokio::io::unix::AsyncFd;

use crate::readable_descriptor::readable;

/// Watches directories for names that disappear from them, and for their own disappearance.
#[derive(Debug)]
pub struct RemovalWatch {
    events: AsyncFd<OwnedFd>,
}

impl RemovalWatch {
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the system cannot watch one of them.
    pub fn new<'a>(directories: impl IntoIterator<Item = &'a Path>) -> io::Result<Self> {
        let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let removals = WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        for directory in directories {
            add_watch(&events, directory, removals)?;
        }
        Ok(RemovalWatch { events: readable(events)? })
    }

    /// Comes back when something was removed since the last time; what, the caller has to find out.
    ///
    /// # Errors
    /// If the watch is lost.
    pub async fn removed(&self) -> io::Result<()> {
        let mut bytes = [0; 4096];
        let read = |fd: &OwnedFd| Ok(rustix::io::read(fd, &mut bytes)?);
        self.events.async_io(tokio::io::Interest::READABLE, read).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_removed_or_moved_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir_all(at("above/own")).unwrap();
        std::fs::write(at("above/own/file"), "").unwrap();
        let (above, own) = (at("above"), at("above/own"));
        let watch = RemovalWatch::new([above.as_path(), own.as_path()]).unwrap();
        std::fs::remove_file(own.join("file")).unwrap();
        watch.removed().await.unwrap();
        std::fs::rename(&own, at("above/other")).unwrap();
        watch.removed().await.unwrap();
        std::fs::rename(&above, at("elsewhere")).unwrap();
        watch.removed().await.unwrap();
        assert!(RemovalWatch::new([own.as_path()]).is_err());
    }
}
