//! One undo, as it is written down beside the snapshots.

use ostler_core::ids::CallId;
use serde_json::{Value, json};

/// Names of files that are written down.
const FILES: usize = 200;

#[derive(Clone, Debug, Default)]
pub(super) struct Note {
    /// Later ones have higher numbers; 0 if an earlier version wrote it.
    pub id: u64,
    pub session: String,
    pub calls: Vec<CallId>,
    /// The snapshots around it.
    pub before: u64,
    pub after: u64,
    /// It was undone itself.
    pub redo: bool,
    /// The conversation was taken back, too, to before the prompt of this turn.
    pub rewound: Option<u32>,
    /// What the model reads about it.
    pub names: Vec<String>,
    pub files: Vec<String>,
}

impl Note {
    pub(super) fn to_text(&self) -> String {
        self.to_json().to_string()
    }

    pub(super) fn to_json(&self) -> Value {
        let calls: Vec<&str> = self.calls.iter().map(CallId::as_str).collect();
        let files: Vec<&String> = self.files.iter().take(FILES).collect();
        json!({
            "id": self.id, "session": self.session, "calls": calls, "before": self.before,
            "after": self.after, "redo": self.redo, "rewound": self.rewound, "names": self.names,
            "files": files,
        })
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        Note::from_json(&serde_json::from_str(text).ok()?)
    }

    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let calls = value.get("calls")?.as_array()?.iter();
        let texts = |key: &str| {
            let list = value.get(key).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let rewound = value.get("rewound").and_then(Value::as_u64);
        Some(Note {
            id: value.get("id").and_then(Value::as_u64).unwrap_or(0),
            session: value.get("session")?.as_str()?.to_owned(),
            calls: calls.filter_map(|call| call.as_str().map(CallId::from)).collect(),
            before: value.get("before")?.as_u64()?,
            after: value.get("after")?.as_u64()?,
            redo: value.get("redo")?.as_bool()?,
            rewound: rewound.and_then(|turn| u32::try_from(turn).ok()),
            names: texts("names"),
            files: texts("files"),
        })
    }
}

/// Undoes in effect, from the notes of one session, oldest first.
pub(super) fn standing<'a>(notes: impl Iterator<Item = &'a Note>) -> Vec<&'a Note> {
    let mut standing: Vec<&Note> = Vec::new();
    for note in notes {
        match note.redo {
            true => drop(standing.pop()),
            false => standing.push(note),
        }
    }
    standing
}
