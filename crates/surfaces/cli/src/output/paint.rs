//! Colours, only where a terminal shows them.

use std::io::IsTerminal;

#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output and standard error alike, unless the user asked for none.
    pub fn for_terminal() -> Self {
        Paint { on: wanted() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal() }
    }

    /// For what goes to standard output alone.
    pub fn for_output() -> Self {
        Paint { on: wanted() && std::io::stdout().is_terminal() }
    }

    #[cfg(test)]
    pub fn none() -> Self {
        Paint { on: false }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub fn tool(self, text: &str) -> String {
        self.wrap("36", text)
    }
}

fn wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && understands_escapes()
}

/// Whether the terminal moves its cursor and changes its modes when it is told to.
pub fn understands_escapes() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
