//! The session log and blobs on files.
