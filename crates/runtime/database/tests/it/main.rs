//! The file as other processes, the umask and a full disk see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod child;
mod files;
mod full_disk;
mod sharing;
