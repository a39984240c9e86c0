//! Frames of agents that the session started: what they were asked, what they do and, where that is wanted, what they
//! write.

use super::live_session::LiveSession;
use super::sdk_frames::SdkFrames;
use crate::frames;
use ostler::{Block, CallId, Envelope, Event};
use serde_json::Value;

impl SdkFrames {
    /// Of an agent what it does, and what it writes where that is wanted.
    pub(super) fn below(&mut self, envelope: &Envelope, live: &dyn LiveSession) -> Vec<Value> {
        let Some(parent) = &envelope.parent else { return Vec::new() };
        let mut all = self.agent_begun(parent, envelope, live);
        all.extend(self.of_agent(parent, envelope, live));
        all
    }

    /// The first that is heard of the agent of a call. Of agents below agents only what they do is told.
    fn agent_begun(
        &mut self,
        call: &CallId,
        envelope: &Envelope,
        live: &dyn LiveSession,
    ) -> Vec<Value> {
        if self.paths.contains_key(call) {
            return Vec::new();
        }
        self.paths.insert(call.clone(), envelope.agent.clone());
        let Some(input) = self.inputs.get(call).filter(|_| envelope.agent.names().len() == 1)
        else {
            return Vec::new();
        };
        let agent = live.agent_session(&envelope.agent).unwrap_or_else(|| call.to_string());
        let jobs = live.jobs();
        let job = jobs.iter().find(|job| job.record.call == *call && job.end.is_none());
        let job = job.map(|job| job.record.id.to_string());
        let frame = self.tasks.agent_started(call, input, (&agent, job), envelope.at.0);
        self.systems(frame)
    }

    fn of_agent(
        &mut self,
        parent: &CallId,
        envelope: &Envelope,
        live: &dyn LiveSession,
    ) -> Vec<Value> {
        match &envelope.event {
            Event::TurnStarted { .. } => {
                let task = self.agents.task(envelope).map(str::to_owned);
                task.map(|task| self.task_prompt(&task, envelope)).into_iter().collect()
            }
            Event::BlockFinished { block } => {
                let is_call = matches!(block, Block::ToolUse { .. });
                let answer = self.agents.answer(envelope);
                let frame = self.assistant(&frames::block(block), answer, Some(parent));
                let is_heard =
                    self.options.forward_subagent_text || self.tasks.is_in_background(parent);
                match is_call || is_heard {
                    true => vec![frame],
                    false => {
                        self.unsaid.push(frame);
                        Vec::new()
                    }
                }
            }
            Event::AnswerSealed { usage, .. } => {
                self.tasks.agent_spent(parent, usage);
                self.turn.had_agents = true;
                Vec::new()
            }
            Event::CallFinished { id, name, outcome, result, detail, .. } => {
                let call = (live.tool(name).kind, &self.inputs.remove(id).unwrap_or_default());
                let detail = detail.as_ref();
                let mut all = vec![self.tool_result(*outcome, result, detail, call, envelope)];
                let progress = self.tasks.agent_called(parent, name, envelope.at.0);
                all.extend(self.systems(progress));
                all
            }
            _ => Vec::new(),
        }
    }
}
