//! Flags, settings and environment, turned into the options of a session.
//!
//! A surface converts its command line or its protocol into [`Flags`], loads a [`Profile`] and asks it for
//! `ostler::Options`. What a person should know or decide on the way is returned as data: [`Profile::news`],
//! [`Profile::untrusted`], [`Access::Missing`]. Nothing here writes to a terminal or asks a question.

mod boards;
mod browser;
mod environment;
mod error;
mod flags;
mod hooks;
mod numbers;
mod options;
mod places;
mod prices;
mod profile;
mod providers;
mod sandbox;
mod server_file;
mod servers;

pub use browser::Browser;
pub use environment::Environment;
pub use error::ProfileError;
pub use flags::{Flags, split_list};
pub use places::find as find_places;
pub use profile::Profile;
pub use providers::Access;
pub use server_file::ServerFile;
pub use servers::ProfileServers;
