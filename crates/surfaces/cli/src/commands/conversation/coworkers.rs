//! Who works beside the model of this session, and on what: agents, jobs, teammates, the tasks of the board, and mail.

use super::Conversation;
use super::slash::split;
use crate::commands::{agents, jobs, mail, tasks};
use crate::output::visible_text::visible;
use anyhow::{Result, anyhow, bail};
use ostler::board::{BoardError, MailQuery, SharedBoard, Status, TaskQuery};
use ostler::{AgentInput, AgentPath, Input, Message, TeammateStatus};

/// Tasks or mails that are listed.
const LISTED: usize = 50;

impl Conversation<'_> {
    pub(super) fn agents(&self, rest: &str) -> Result<Vec<String>> {
        let (verb, rest) = split(rest);
        let (name, text) = split(rest);
        let names = name.split('/').filter(|name| !name.is_empty());
        let agent = names.fold(AgentPath::default(), |path, name| path.child(name));
        let (input, done) = match (verb, name, text) {
            ("", ..) => return Ok(agents::table(&self.session.agents())),
            ("stop", name, "") if !name.is_empty() => (AgentInput::Stop, "stopping"),
            ("message", name, text) if !name.is_empty() && !text.is_empty() => {
                (AgentInput::Message(Message::user(text)), "sending to")
            }
            _ => bail!("use /agents, /agents stop NAME, or /agents message NAME TEXT"),
        };
        self.session.send(Input::Agent { agent, input })?;
        Ok(vec![format!("{done} {}", visible(name))])
    }

    pub(super) fn jobs(&self, rest: &str) -> Result<Vec<String>> {
        match rest.split_once(char::is_whitespace) {
            None if rest.is_empty() => Ok(jobs::table(&self.session.jobs())),
            Some(("stop", id)) => {
                self.session.send(Input::StopJob(id.trim().into()))?;
                Ok(vec![format!("stopping {}", visible(id.trim()))])
            }
            Some(("show", id)) => {
                let mut found = self.session.jobs();
                found.retain(|job| job.record.id.as_str().starts_with(id.trim()));
                match found.as_slice() {
                    [job] => Ok(jobs::shown(job)),
                    [] => bail!("there is no job \"{}\"; /jobs lists them", visible(id.trim())),
                    _ => bail!(
                        "several jobs begin with \"{}\"; give more of the id",
                        visible(id.trim())
                    ),
                }
            }
            _ => bail!("use /jobs, /jobs show ID, or /jobs stop ID"),
        }
    }

    pub(super) fn team(&self, rest: &str) -> Result<Vec<String>> {
        let team = self.session.teammates();
        if team.is_empty() {
            bail!("this session has no team; docs/teams.md says how to define one");
        }
        match split(rest) {
            ("", _) => Ok(team.iter().map(teammate).collect()),
            ("stop", name) if !name.is_empty() => {
                let stopping = self.session.stop_teammate(name);
                Ok(vec![stopping.map_err(|why| anyhow!("{}", visible(&why)))?])
            }
            ("plan", name) if !name.is_empty() => self.plan(name),
            ("approve", rest) => match split(rest) {
                (name, sha256) if !sha256.is_empty() => {
                    let approved = self.session.approve_plan(name, sha256);
                    Ok(vec![approved.map_err(|why| anyhow!("{}", visible(&why)))?])
                }
                _ => bail!("use /team approve NAME SHA256; /team plan NAME shows it"),
            },
            _ => bail!("use /team, /team stop NAME, /team plan NAME, or /team approve NAME SHA256"),
        }
    }

    fn plan(&self, name: &str) -> Result<Vec<String>> {
        let Some(plan) = self.session.teammate_plan(name) else {
            bail!("{} has no plan that waits for approval", visible(name));
        };
        let approve = format!("/team approve {} {}", visible(name), plan.sha256);
        Ok(plan.text.lines().map(visible).chain([String::new(), approve]).collect())
    }

    pub(super) fn tasks(&self, rest: &str) -> Result<Vec<String>> {
        let named = |status: &Status| rest.is_empty() || status.name() == rest;
        let statuses: Vec<Status> = Status::ALL.into_iter().filter(named).collect();
        if statuses.is_empty() {
            let names = Status::ALL.map(Status::name).join(", ");
            bail!("unknown status \"{}\" (one of {names})", visible(rest));
        }
        let query = TaskQuery { statuses, limit: LISTED };
        Ok(tasks::table(&self.board(|board| board.list(&query))?))
    }

    pub(super) fn mail(&self, rest: &str) -> Result<Vec<String>> {
        let to = Some(rest).filter(|name| !name.is_empty());
        let to = to.map(|name| self.session.mail_address(name).unwrap_or_else(|| name.to_owned()));
        let query = MailQuery { to, limit: LISTED, ..MailQuery::default() };
        let found = self.board(|board| board.peek(&query))?;
        let none = found.is_empty().then(|| "No mail.".to_owned());
        Ok(found.iter().map(mail::line).chain(none).collect())
    }

    fn board<T>(
        &self,
        act: impl FnOnce(&mut dyn SharedBoard) -> Result<T, BoardError>,
    ) -> Result<T> {
        let found = self.session.with_board(act);
        Ok(found.ok_or_else(|| anyhow!("this session has no state directory"))??)
    }
}

fn teammate(status: &TeammateStatus) -> String {
    let why = status.why.as_ref().map(|why| format!(": {}", visible(why))).unwrap_or_default();
    format!("{}  {}{why}", visible(&status.name), visible(&status.words()))
}
