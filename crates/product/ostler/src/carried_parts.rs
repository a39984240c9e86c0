//! What is repeated after a summary: the plan, the agents, the running jobs, the skills there are, and those in use.

use crate::jobs::JobTable;
use crate::subagents::Roster;
use ostler_core::ids::CallId;
use ostler_core::job::{JobRecord, JobView};
use ostler_core::message::{Block, ResultPart};
use ostler_core::ports::{Attachment, Carried, Carrying, Jobs, Place, Recorder};
use ostler_core::tool_facts::{KnownTools, ToolKind};
use ostler_core::view::View;
use ostler_engine::Journal;
use ostler_skills::Skills;
use std::collections::HashSet;
use std::sync::Arc;

const JOBS: &str = include_str!("../../../../prompts/compaction/jobs.md").trim_ascii();
const PLAN: &str = include_str!("../../../../prompts/compaction/plan.md").trim_ascii();

const AGENTS: &str = include_str!("../../../../prompts/compaction/agents.md").trim_ascii();

/// Skills in use that are repeated, and bytes of each.
const SKILLS: usize = 3;
const SKILL_BYTES: usize = 12_000;

pub(crate) struct CarriedParts {
    pub(crate) journal: Journal,
    pub(crate) skills: Arc<Skills>,
    /// The model's context window; none if the model cannot use skills.
    pub(crate) window: Option<u64>,
    pub(crate) tools: KnownTools,
    pub(crate) agents: Arc<Roster>,
    pub(crate) jobs: Option<Arc<JobTable>>,
}

impl Carried for CarriedParts {
    fn carry(&self, at: &Carrying<'_>) -> Vec<Attachment> {
        let mut all = Vec::new();
        if let Some(text) = self.window.and_then(|window| self.skills.told(Some(window))) {
            all.push(Attachment { name: "skills".into(), text, place: Place::Before });
        }
        let plan = self.journal.plan();
        if plan.is_open() {
            let text = PLAN.replace("{plan}", &plan.lines());
            all.push(Attachment { name: "plan".into(), text, place: Place::Before });
        }
        if let Some(lines) = self.agents.lines(&self.journal) {
            let text = AGENTS.replace("{agents}", &lines);
            all.push(Attachment { name: "agents".into(), text, place: Place::Before });
        }
        let jobs = self.jobs.iter().flat_map(|jobs| jobs.list());
        let running: Vec<String> = jobs.filter(|job| job.end.is_none()).map(job_line).collect();
        if !running.is_empty() {
            let text = JOBS.replace("{jobs}", &running.join("\n"));
            all.push(Attachment { name: "jobs".into(), text, place: Place::Before });
        }
        let most = SKILL_BYTES.min(at.bytes / 2);
        let in_use = in_use(&self.journal.conversation().0, &self.tools);
        let fitting = in_use.into_iter().filter(|(_, text)| text.len() <= most);
        all.extend(fitting.map(|(name, text)| Attachment {
            name: format!("skill {name}"),
            text,
            place: Place::After,
        }));
        all
    }
}

/// With where its output is.
fn job_line(job: JobView) -> String {
    let JobRecord { id, kind, label, output, .. } = job.record;
    let output = output.map(|path| format!(" (output: {})", path.display()));
    format!("- {id}: {} \"{label}\"{}", kind.name(), output.unwrap_or_default())
}

/// The skills that were used last, by name and text, newest first.
fn in_use(view: &View, tools: &KnownTools) -> Vec<(String, String)> {
    let calls = view.messages().flat_map(|message| message.blocks());
    let calls: HashSet<&CallId> = calls
        .filter_map(|block| match block {
            Block::ToolUse { id, name, .. } => {
                (tools.kind(name) == ToolKind::Instructs).then_some(id)
            }
            _ => None,
        })
        .collect();
    let mut found: Vec<(String, String)> = Vec::new();
    for item in view.items().iter().rev() {
        let blocks = item.message().blocks().iter().rev();
        for text in blocks.flat_map(|block| trusted_texts(block, &calls)) {
            let Some(name) = Skills::used_in(text) else { continue };
            if found.len() < SKILLS && !found.iter().any(|(other, _)| other == name) {
                found.push((name.to_owned(), text.to_owned()));
            }
        }
    }
    found
}

/// Texts of the harness and results of the Skill tool. A file that only looks like a skill does not count.
fn trusted_texts<'a>(block: &'a Block, calls: &HashSet<&CallId>) -> Vec<&'a str> {
    match block {
        Block::Text { text, meta: true } => vec![text.as_str()],
        Block::ToolResult { id, content, is_error: false } if calls.contains(id) => {
            let text = |part: &'a ResultPart| match part {
                ResultPart::Text { text } => Some(text.as_str()),
                ResultPart::Image(_) => None,
            };
            content.iter().filter_map(text).collect()
        }
        _ => Vec::new(),
    }
}
