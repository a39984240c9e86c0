//! A session and its team.

use super::{Team, mails};
use crate::session::Session;
use ostler_board::{MailQuery, MailStatus};
use std::sync::Arc;

impl Session {
    /// Mail of the team is read, and claims of tasks are renewed, from the first time that somebody drives the session.
    pub(crate) fn serve_team(&self) {
        if let Some(claims) = self.shared().parts.claims.get() {
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
                let mail = board.peek(&query)?;
                let unread = mail.iter().filter(|mail| mail.status == MailStatus::Unread).count();
                Ok(unread as u64)
            };
            addresses.iter().map(unread).collect::<Result<Vec<u64>, _>>()
        });
        let unread = unread.await?;
        let state = self.state();
        let lines = self.members.iter().zip(unread).map(|(member, unread)| {
            let name = &member.name;
            let known = state.members.get(name);
            let parked =
                known.and_then(|member| member.parked.as_ref()).map(|_| "parked".to_owned());
            let task = known.and_then(|member| member.task.as_ref());
            let task = task.map(|task| format!("working on \"{task}\""));
            let outgoing = known.and_then(|member| member.conduct.as_ref()?.outgoing());
            let waits =
                outgoing.map(|request| format!("waiting for an answer from {}", request.to));
            let doing = parked.or(task).or(waits).unwrap_or_else(|| "idle".to_owned());
            let unread =
                if unread == 0 { String::new() } else { format!(", {} unread", mails(unread)) };
            format!("- {name}: {doing}{unread} ({})", member.description)
        });
        Ok(lines.collect())
    }
}
