//! A secret that no debug output shows and no error text repeats.

use std::fmt;

/// Shorter values are not looked for in texts: they would hit ordinary words.
const SHORTEST_SEARCHED: usize = 8;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Blanks around it are dropped: keys are often read from files with a line end.
    pub fn new(value: impl AsRef<str>) -> Self {
        Secret(value.as_ref().trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text without the secret, should the other side have repeated it.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        match self.0.len() {
            n if n < SHORTEST_SEARCHED => text.to_owned(),
            _ => text.replace(&self.0, "[secret]"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
