//! Memory: notes that outlive the session.

use crate::blocking_task::blocking;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use crate::{SessionParts, ToolSetup};
use ostler_core::ids::SessionId;
use ostler_core::memory::{FactKind, Memory as Note, MemoryError, MemoryFact, Origin, Scope};
use ostler_core::permission::{Access, PathScope};
use ostler_core::ports::{MemoryStore, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
const SHOWN: usize = 10;

pub struct MemoryTool {
    pub store: Arc<dyn MemoryStore>,
    pub session: SessionId,
}

#[derive(Clone, Deserialize, JsonSchema)]
pub struct MemoryInput {
    /// What to do
    #[schemars(extend("enum" = ["add", "search", "forget"]))]
    action: String,
    /// With add: the note, a sentence or two
    text: Option<String>,
    /// With add: what kind of note it is; fact if not given
    #[schemars(extend("enum" = ["fact", "decision", "preference", "how-to"]))]
    kind: Option<String>,
    /// With add: whether it applies to this project (the default) or to all of the user's projects
    #[schemars(extend("enum" = ["project", "user"]))]
    scope: Option<String>,
    /// With search: words or a question
    query: Option<String>,
    /// With forget: the id of the note, e.g. p12
    id: Option<String>,
}

enum MemoryAction {
    Add { text: String, kind: FactKind, scope: Scope },
    Search { query: String },
    Forget { id: String },
}

impl MemoryInput {
    fn action(&self) -> Result<MemoryAction, ToolOutput> {
        let needed = |value: &Option<String>, name: &str| {
            let given = value.as_deref().map(str::trim).filter(|text| !text.is_empty());
            given.map(str::to_owned).ok_or_else(|| {
                ToolOutput::misuse(format!(
                    "The action {} needs the property `{name}`.",
                    self.action
                ))
            })
        };
        match self.action.as_str() {
            "add" => Ok(MemoryAction::Add {
                text: needed(&self.text, "text")?,
                kind: self.kind.as_deref().and_then(FactKind::named).unwrap_or(FactKind::Fact),
                scope: if self.scope.as_deref() == Some("user") {
                    Scope::User
                } else {
                    Scope::Project
                },
            }),
            "search" => Ok(MemoryAction::Search { query: needed(&self.query, "query")? }),
            "forget" => Ok(MemoryAction::Forget { id: needed(&self.id, "id")? }),
            other => Err(ToolOutput::misuse(format!(
                "There is no action {other}; use add, search or forget."
            ))),
        }
    }
}

impl MemoryTool {
    fn writing(&self, scope: Scope) -> Access {
        Access::writing(PathScope::File(self.store.path(scope).to_owned()))
    }
}

impl BuiltIn for MemoryTool {
    const NAME: &'static str = "Memory";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/memory.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Remembers,
        subject: Subject::Inputs(&["text", "query", "id"]),
        sample: &[("action", "add")],
        ..ToolFacts::UNDECLARED
    };
    type Input = MemoryInput;

    /// Searching is harmless; a note of this project waits for the answer to be sealed. One for all projects would speak
    /// where nobody knows of this session, and forgetting changes what is the user's: both ask, as files of ours do.
    fn access(&self, input: &MemoryInput) -> Result<Access, ToolOutput> {
        Ok(match input.action()? {
            MemoryAction::Search { .. } => Access::nothing(),
            MemoryAction::Add { scope: Scope::Project, .. } => Access::noting(),
            MemoryAction::Add { scope: Scope::User, .. } => self.writing(Scope::User),
            MemoryAction::Forget { id } if id.starts_with('u') => self.writing(Scope::User),
            MemoryAction::Forget { .. } => self.writing(Scope::Project),
        })
    }

    /// Where the notes are is not known on paper, and only what stays in the project is harmless.
    fn access_on_paper(input: &Value, _: &Paper<'_>) -> Result<Access, String> {
        let input: MemoryInput =
            serde_json::from_value(input.clone()).map_err(|why| why.to_string())?;
        match input.action() {
            Ok(MemoryAction::Search { .. }) => Ok(Access::nothing()),
            Ok(MemoryAction::Add { scope: Scope::Project, .. }) => Ok(Access::noting()),
            Ok(_) => Ok(Access::unknown()),
            Err(_) => Err("an input that the action needs is missing".into()),
        }
    }

    async fn run(&self, input: MemoryInput, cx: ToolContext) -> ToolOutput {
        let (store, session) = (Arc::clone(&self.store), self.session.clone());
        blocking(LIMIT, move |stop| {
            if let Err(output) = stop.check() {
                return output;
            }
            match input.action() {
                Ok(action) => done(store.as_ref(), action, session, &cx),
                Err(misuse) => misuse,
            }
        })
        .await
    }
}

impl Shipped for MemoryTool {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let SessionParts { memory, log, .. } = &setup.session;
        let (store, session) = (memory.clone()?, log.as_ref()?.id().clone());
        Some(erase(MemoryTool { store, session }))
    }
}

fn done(
    store: &dyn MemoryStore,
    action: MemoryAction,
    session: SessionId,
    cx: &ToolContext,
) -> ToolOutput {
    let outcome = match action {
        MemoryAction::Add { text, kind, scope } => {
            let source = Some(cx.call.as_str().to_owned());
            let origin = Origin { session: Some(session), turn: None, source };
            let fact = MemoryFact { text, kind, scope, origin, key: None };
            store.add(&fact).map(|kept| said(kept.to_string(), kept.id()))
        }
        MemoryAction::Search { query } => {
            store.search(&query, SHOWN).map(|found| listed(&found.memories, found.note))
        }
        MemoryAction::Forget { id } => {
            store.forget(&id).map(|()| said(format!("Forgotten: {id}."), &id))
        }
    };
    outcome.unwrap_or_else(|error| match error {
        MemoryError::Refused(why) => ToolOutput::misuse(why),
        other => ToolOutput::error(format!("{other}.")),
    })
}

fn said(text: String, id: &str) -> ToolOutput {
    ToolOutput { detail: Some(json!({"id": id})), ..ToolOutput::text(text) }
}

fn listed(notes: &[Note], remark: Option<String>) -> ToolOutput {
    let line = |note: &Note| format!("[{}] {}: {}", note.id, note.kind, note.text);
    let mut lines: Vec<String> = notes.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("No note matches.".into());
    }
    lines.extend(remark.map(|remark| format!("({remark})")));
    ToolOutput { detail: Some(json!({"memories": notes})), ..ToolOutput::text(lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::memory::{KeptMemory, Recalled};
    use ostler_core::permission::{Mode, Policy, Verdict, Workspace, decide};
    use serde_json::Value;
    use std::path::Path;

    struct Nothing;

    impl MemoryStore for Nothing {
        fn add(&self, _: &MemoryFact) -> Result<KeptMemory, MemoryError> {
            Ok(KeptMemory::New("p1".into()))
        }
        fn search(&self, _: &str, _: usize) -> Result<Recalled, MemoryError> {
            Ok(Recalled::default())
        }
        fn forget(&self, id: &str) -> Result<(), MemoryError> {
            Err(MemoryError::NotFound(id.into()))
        }
        fn path(&self, scope: Scope) -> &Path {
            Path::new(match scope {
                Scope::Project => "/home/u/.ostler/memory/p.db",
                Scope::User => "/home/u/.ostler/memory/user.db",
            })
        }
    }

    fn access(input: Value) -> Result<Access, ToolOutput> {
        erase(MemoryTool { store: Arc::new(Nothing), session: "s".into() }).access(&input)
    }

    /// Looking is free, a note waits for the seal, forgetting asks whatever is allowed; plan mode allows no changes.
    #[test]
    fn what_each_action_needs() {
        let workspace = Workspace {
            cwd: "/ws".into(),
            roots: vec!["/ws".into()],
            ours: vec!["/home/u/.ostler".into()],
            ..Workspace::default()
        };
        let verdict = |input: &Value, mode: Mode| {
            let access = access(input.clone()).unwrap();
            let verdict = decide("Memory", &access, &Policy::default(), mode, &workspace).verdict;
            (access.is_harmless(), verdict)
        };
        let search = json!({"action": "search", "query": "q"});
        let add = json!({"action": "add", "text": "t", "kind": "how-to", "scope": "project"});
        let everywhere =
            json!({"action": "add", "text": "t", "kind": "preference", "scope": "user"});
        let forget = json!({"action": "forget", "id": "p1"});
        for (input, mode, expected) in [
            (&search, Mode::Default, (true, Verdict::Allow)),
            (&search, Mode::Plan, (true, Verdict::Allow)),
            (&add, Mode::Default, (false, Verdict::Allow)),
            (&add, Mode::DontAsk, (false, Verdict::Allow)),
            (&add, Mode::Plan, (false, Verdict::Deny)),
            (&everywhere, Mode::Default, (false, Verdict::Ask)),
            (&everywhere, Mode::AcceptEdits, (false, Verdict::Ask)),
            (&everywhere, Mode::BypassPermissions, (false, Verdict::Ask)),
            (&everywhere, Mode::DontAsk, (false, Verdict::Deny)),
            (&everywhere, Mode::Plan, (false, Verdict::Deny)),
            (&forget, Mode::Default, (false, Verdict::Ask)),
            (&forget, Mode::AcceptEdits, (false, Verdict::Ask)),
            (&forget, Mode::BypassPermissions, (false, Verdict::Ask)),
        ] {
            assert_eq!(verdict(input, mode), expected, "{input} {mode:?}");
        }
    }

    /// The question names the file that is written.
    #[test]
    fn the_file_of_the_scope_is_named() {
        for (input, file) in [
            (json!({"action": "add", "text": "t", "scope": "user"}), "user.db"),
            (json!({"action": "forget", "id": "u3"}), "user.db"),
            (json!({"action": "forget", "id": " u3"}), "user.db"),
            (json!({"action": "forget", "id": "p3"}), "p.db"),
        ] {
            let path = Path::new("/home/u/.ostler/memory").join(file);
            let expected = Access::writing(PathScope::File(path));
            assert_eq!(access(input.clone()).unwrap(), expected, "{input}");
        }
    }

    #[test]
    fn a_wrong_call_is_told_what_is_missing() {
        for (input, expected) in [
            (json!({"action": "add"}), "needs the property `text`"),
            (json!({"action": "search", "query": "  "}), "needs the property `query`"),
            (json!({"action": "forget"}), "needs the property `id`"),
            (json!({"action": "burn"}), "must be one of"),
            (json!({"action": "add", "text": "t", "kind": "rumour"}), "must be one of"),
        ] {
            let output = access(input.clone()).unwrap_err();
            assert!(format!("{output:?}").contains(expected), "{input}: {output:?}");
        }
    }

    #[test]
    fn the_list_of_tools_stays_small() {
        let tool = erase(MemoryTool { store: Arc::new(Nothing), session: "s".into() });
        let size = serde_json::to_string(tool.spec()).unwrap().len();
        assert!(size <= 1_800, "{size} bytes");
        assert!(tool.spec().description.contains("Use it"));
    }
}
