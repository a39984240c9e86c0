//! Stamp: appends a line to a document. A tool of the calling program, in this one file.

use ostler::{
    Access, BoxFuture, FileInput, PathScope, Subject, Tool, ToolContext, ToolFacts, ToolKind,
    ToolOutput, ToolSpec,
};
use serde_json::{Value, json};
use std::path::PathBuf;

pub struct Stamp {
    folder: PathBuf,
    spec: ToolSpec,
}

impl Stamp {
    pub fn new(folder: PathBuf) -> Self {
        Stamp::named("Stamp", folder)
    }

    pub fn named(name: &str, folder: PathBuf) -> Self {
        let spec = ToolSpec {
            name: name.into(),
            description: include_str!("stamp.md").trim().into(),
            input_schema: json!({
                "type": "object",
                "properties": {"document": {"type": "string"}, "ink": {"type": "string"}},
                "required": ["document"],
            }),
            facts: ToolFacts {
                kind: ToolKind::Edits,
                subject: Subject::Inputs(&["document"]),
                files: const { &[FileInput::write("document")] },
                ..ToolFacts::UNDECLARED
            },
        };
        Stamp { folder, spec }
    }
}

impl Tool for Stamp {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, input: &Value) -> Result<Access, ToolOutput> {
        let document = input["document"].as_str();
        let document = document.ok_or_else(|| ToolOutput::misuse("`document` is missing"))?;
        Ok(Access::writing(PathScope::File(self.folder.join(document))))
    }

    fn run(&self, input: Value, _: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let path = self.folder.join(input["document"].as_str().unwrap_or_default());
        Box::pin(async move {
            match std::fs::write(&path, "stamped") {
                Ok(()) => ToolOutput::text("stamped"),
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }
}
