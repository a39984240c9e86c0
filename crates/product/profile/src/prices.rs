//! The person's own price list.

use crate::ProfileError;
use ostler::PriceBook;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::Path;

/// Empty if there is no such file.
pub fn read(home: &Path) -> Result<PriceBook, ProfileError> {
    let file = home.join("prices.toml");
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
            return Ok(PriceBook::default());
        }
        Err(error) => {
            return Err(ProfileError::Config(format!(
                "{} cannot be read: {error}",
                file.display()
            )));
        }
    };
    PriceBook::parse(&text)
        .map_err(|(line, what)| ProfileError::Config(format!("{}:{line}: {what}", file.display())))
}
