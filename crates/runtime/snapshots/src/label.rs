//! Why a snapshot was taken and, where a command or an undo was the reason, of which session.
//!
//! It is kept in the text of a record, one line each, so that stores of all versions read each other.

/// Characters of a command that are kept.
const LONGEST: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    pub reason: String,
    pub session: Option<String>,
    /// On one line, shortened.
    pub command: Option<String>,
}

impl Label {
    pub(crate) fn new(reason: &str, session: Option<&str>, command: Option<&str>) -> Self {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = |text: &str| Some(one_line(text)).filter(|text| !text.is_empty());
        Label {
            reason: one_line(reason),
            session: session.and_then(named),
            command: command.and_then(named).map(shortened),
        }
    }

    pub(crate) fn encode(&self) -> String {
        match (&self.session, &self.command) {
            (None, None) => self.reason.clone(),
            (session, command) => {
                let text = |side: &Option<String>| side.clone().unwrap_or_default();
                format!("{}\n{}\n{}", self.reason, text(session), text(command))
            }
        }
    }

    pub(crate) fn decode(text: &str) -> Self {
        let mut lines = text.splitn(3, '\n');
        let reason = lines.next().unwrap_or_default().to_owned();
        let mut side = || lines.next().filter(|line| !line.is_empty()).map(str::to_owned);
        Label { reason, session: side(), command: side() }
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_they_were_written() {
        let long = "x".repeat(500);
        for (reason, session, command, shown) in [
            ("after a command", Some("s-1"), Some("make\n  all"), Some("make all")),
            ("after a command", None, Some("make"), Some("make")),
            ("before an undo", Some("s-1"), None, None),
            ("to compare", None, None, None),
            ("odd\nreason", Some(""), Some(" \n"), None),
        ] {
            let label = Label::new(reason, session, command);
            assert_eq!(label.command.as_deref(), shown);
            assert_eq!(Label::decode(&label.encode()), label);
        }
        let label = Label::new("r", None, Some(&long));
        assert_eq!(label.command.unwrap_or_default().chars().count(), LONGEST + 1);
        // As earlier versions wrote them.
        assert_eq!(Label::decode("after a command").reason, "after a command");
    }
}
