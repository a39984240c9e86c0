//! A session and its team.

use super::addresses::LEAD;
use super::{Team, mails};
use crate::session::Session;
use ostler_board::{BoardError, MailQuery, SharedBoard};
use ostler_core::teammate::{PlanView, TeammateStatus};
use std::sync::Arc;

impl Session {
    /// Mail of the team is read, and claims of tasks are renewed, from the first time that somebody drives the session.
    pub(crate) fn serve_team(&self) {
        if let Some(claims) = self.shared().parts.claims() {
            claims.serve();
        }
        if let Some(team) = self.team() {
            team.serve();
        }
    }

    /// A teammate has a task, or its report is not in the inbox yet.
    pub fn has_busy_teammates(&self) -> bool {
        self.team().is_some_and(|team| team.is_busy())
    }

    /// What each teammate is doing.
    pub fn teammates(&self) -> Vec<TeammateStatus> {
        let Some(team) = self.team() else { return Vec::new() };
        let state = team.state();
        let status = |name: &String| match state.members.get(name) {
            Some(member) => member.status(name),
            None => TeammateStatus::idle(name),
        };
        team.members.iter().map(|member| status(&member.name)).collect()
    }

    /// Shuts a teammate down. It may finish its turn within the deadline of the team; this does not wait for it.
    ///
    /// # Errors
    /// In words, if there is nothing to stop.
    pub fn stop_teammate(&self, name: &str) -> Result<String, String> {
        self.team().ok_or_else(|| "this session has no team".to_owned())?.stop(name)
    }

    /// The plan that a teammate waits to carry out.
    pub fn teammate_plan(&self, name: &str) -> Option<PlanView> {
        self.team()?.open_plan(name)
    }

    /// Approves the plan of a teammate that has this sha256, or begins with at least 8 digits of it.
    ///
    /// # Errors
    /// In words, if there is no such plan.
    pub fn approve_plan(&self, name: &str, sha256: &str) -> Result<String, String> {
        let team = self.team().ok_or_else(|| "this session has no team".to_owned())?;
        team.approve_now(name, sha256)
    }

    /// Where the mail of a member of the team goes, `lead` included. None: nobody in the team is called so.
    pub fn mail_address(&self, name: &str) -> Option<String> {
        let team = self.team()?;
        let is_member = team.members.iter().any(|member| member.name == name);
        (is_member || name == LEAD).then(|| team.address(name))
    }

    /// From here on the teammates of a resumed session go on with what they had to do, as they do when somebody drives
    /// the session. A session without a conversation has left nothing; and where the last turn is unfinished, a report must
    /// not begin another one, so they wait for the person, too. Needs a runtime.
    pub fn resume_team(&self) {
        if self.overview().is_some() && !self.can_resume_turn() {
            self.serve_team();
        }
    }

    /// Uses the board of the session, which is that of its project unless its options say otherwise. It blocks.
    ///
    /// # Errors
    /// If the board cannot be used, or refuses it. None: the session has no state directory.
    pub fn with_board<T>(
        &self,
        act: impl FnOnce(&mut dyn SharedBoard) -> Result<T, BoardError>,
    ) -> Option<Result<T, BoardError>> {
        Some(self.shared().parts.board.get()?.desk.with_board(act))
    }

    pub(crate) fn has_team(&self) -> bool {
        self.team().is_some()
    }

    fn team(&self) -> Option<&Arc<Team>> {
        self.shared().parts.team.get()
    }
}

impl Team {
    /// One for each teammate: what it is doing, and what it has not read.
    pub(super) async fn lines(&self) -> Result<Vec<String>, String> {
        let addresses: Vec<String> = self.members.iter().map(|it| self.address(&it.name)).collect();
        let unread = self.desk.with(move |board| {
            let unread = |to: &String| {
                let query = MailQuery { to: Some(to.clone()), ..MailQuery::default() };
                Ok(board.peek(&query)?.len() as u64)
            };
            addresses.iter().map(unread).collect::<Result<Vec<u64>, _>>()
        });
        let unread = unread.await?;
        let state = self.state();
        let lines = self.members.iter().zip(unread).map(|(member, unread)| {
            let name = &member.name;
            let known = state.members.get(name);
            let in_hand = known.map_or(0, |member| member.in_hand()) as u64;
            let doing = known.map_or_else(|| "idle".to_owned(), |it| it.status(name).words());
            let unread = match unread.saturating_sub(in_hand) {
                0 => String::new(),
                unread => format!(", {} unread", mails(unread)),
            };
            format!("- {name}: {doing}{unread} ({})", member.description)
        });
        Ok(lines.collect())
    }
}
