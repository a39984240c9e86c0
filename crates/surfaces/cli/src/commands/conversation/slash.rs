//! What begins with a slash and is not a skill.

use super::Conversation;
use crate::args::{Args, Command};
use crate::commands::{self, cost, local, rewind, sessions, skills, undo};
use crate::output::printer;
use crate::output::visible_text::visible;
use crate::terminal;
use anyhow::{Result, bail};
use clap::Parser;
use ostler::{
    Driver, ForkPoint, InboundSource, Input, InputReceipt, Message, Mode, Prompt, SessionChoice,
};
use std::path::PathBuf;

const HELP: &str = "\
/clear            start a new session
/sessions         list the sessions of this directory
/resume [ID]      resume a session (without ID: the newest other one)
/fork             continue in a copy of this session
/continue         resume an unfinished turn: an open question, or a call that a
                  hook deferred
/undo [N]         undo the last change, or the last N; --list shows what could
                  be undone, --redo reverts the last undo
/rewind [TURN]    list the turns, or restore files and conversation to their
                  state before one
/model [NAME]     show or change the model
/mode [MODE]      show or change what runs without asking
/add-dir [PATH]   list the directories the agent works in, or add one
/agents           list the agents
/agents stop NAME, /agents message NAME TEXT
                  stop an agent, or send it a message
/jobs             list the background jobs
/jobs show ID, /jobs stop ID
                  show the end of a job's output, or stop the job
/team             list the teammates and what they are doing
/team stop NAME   shut a teammate down; it may finish its turn
/team plan NAME, /team approve NAME SHA256
                  show the plan of a teammate, or approve exactly this plan
/tasks [STATUS]   list the tasks of the project's board
/mail [NAME]      list mail that is not settled
/background       move the running command or agent to the background (while the
                  agent works)
/permissions      list the rules in effect
/memory [WORDS]   list or search memories
/skills           list the skills
/NAME [ARGS]      use a skill
/cost             show what this session cost, and the state of the budgets
/compact [WORDS]  summarize the conversation to free space; WORDS: what the
                  summary should focus on
/context          show what fills the context window
/quit             exit (also Ctrl+D)
Ctrl+C            stop the running turn, or clear the line; finished work is
                  kept. Press it twice to exit
While the agent works, a line you type reaches the model at its next step.
/queue TEXT is sent when the turn ends; /queue alone starts what was queued when
a turn was stopped or the session ended.
Answer a question with y (once), s (this session), p (this project) or n, or
type why not.
Outside a session, `ostler permissions` lists the rules, explains why Ostler
asks about a call, and revokes approvals.";

const NOTHING_QUEUED: &str = "Nothing is queued.";
const UNDO_USAGE: &str = "/undo, /undo N, /undo --list or /undo --redo; --dry-run only lists, --keep PATH leaves a path as it is";
const REWIND_USAGE: &str = "/rewind or /rewind TURN; --files or --conversation restores only one of them, --dry-run only lists";

/// Everything that can be entered after a slash.
pub fn words(skills: &[std::sync::Arc<ostler::Skill>]) -> Vec<String> {
    let first = |line: &'static str| line.split(' ').next().filter(|word| word.starts_with('/'));
    let ours = HELP.lines().filter_map(first).filter(|word| *word != "/NAME").map(str::to_owned);
    let skills = skills.iter().filter(|skill| skill.for_user);
    ours.chain(skills.map(|skill| format!("/{}", skill.name))).collect()
}

/// What a command leads to.
pub enum Effect {
    /// These lines are the answer.
    Lines(Vec<String>),
    /// A turn, to be driven and shown.
    Turn(Driver),
    /// Another session took the place of this one.
    Switched,
    Leave,
}

impl From<&str> for Effect {
    fn from(line: &str) -> Self {
        Effect::Lines(vec![line.to_owned()])
    }
}

impl Conversation<'_> {
    pub async fn command(&mut self, line: &str) -> Result<Effect> {
        let (command, rest) = split(line);
        Ok(match command {
            "" => Effect::Lines(Vec::new()),
            "/quit" | "/exit" => Effect::Leave,
            "/clear" | "/new" => self.switch(SessionChoice::New, "clear").await?,
            "/resume" => self.resume(rest).await?,
            "/fork" => {
                let copy = self.session.fork(ForkPoint::End)?;
                self.replace(copy, "resume").await
            }
            "/undo" | "/rewind" => {
                self.take_back(command, rest).await?;
                Effect::Lines(Vec::new())
            }
            "/compact" => Effect::Turn(self.session.compact(focus(rest))?),
            "/queue" if rest.is_empty() && !self.session.has_queued() => NOTHING_QUEUED.into(),
            "/queue" if rest.is_empty() => Effect::Turn(self.session.run_queued()?),
            "/queue" => Effect::Turn(self.session.ask(Prompt::typed(rest))?),
            "/continue" if self.session.can_resume_turn() => {
                Effect::Turn(self.session.resume_turn()?)
            }
            "/continue" => "The last turn is finished; there is nothing to continue.".into(),
            _ => match self.at_once(command, rest).await? {
                Some(lines) => Effect::Lines(lines),
                None => Effect::Turn(self.session.ask(Prompt::typed(line))?),
            },
        })
    }

    /// A line that was entered while a turn runs.
    pub fn beside(&mut self, line: &str) -> Result<Vec<String>> {
        let (command, rest) = split(line);
        let receipt = match command {
            "" => return Ok(Vec::new()),
            "/queue" if rest.is_empty() => return self.release_queue(),
            "/queue" => self.session.send(Input::Prompt(Prompt::typed(rest)))?,
            "/compact" => self.session.send(Input::Compact { focus: focus(rest) })?,
            "/background" => {
                self.session.send(Input::Background { call: None })?;
                return Ok(Vec::new());
            }
            _ if command.starts_with('/') => {
                let lines = self.looked_up(command, rest)?;
                return Ok(lines.unwrap_or_else(|| vec![waits_for_turn(line)]));
            }
            _ => self.session.send(Input::Steer(Message::user(line)))?,
        };
        let waits = matches!(receipt, InputReceipt::Queued(_)) && command.starts_with('/');
        Ok(waits.then(|| "(queued until the turn ends)".to_owned()).into_iter().collect())
    }

    /// `/queue` alone: what was held back starts when the turn ends, as it would start at once without one.
    fn release_queue(&self) -> Result<Vec<String>> {
        if !self.session.has_queued() {
            return Ok(vec![NOTHING_QUEUED.to_owned()]);
        }
        self.session.send(Input::RunQueued)?;
        let queued = self.session.queued();
        let prompts = queued.iter().filter(|item| item.source == InboundSource::Person);
        let shown = prompts.map(|item| format!("  {}", visible(&item.text)));
        Ok(std::iter::once("queued until the turn ends:".to_owned()).chain(shown).collect())
    }

    /// Commands that need no turn. None: there is no such command.
    async fn at_once(&mut self, command: &str, rest: &str) -> Result<Option<Vec<String>>> {
        match command {
            "/permissions" => self.own(&["permissions", "list"]).await?,
            "/memory" if rest.is_empty() => self.own(&["memory", "list"]).await?,
            "/memory" => self.own(&["memory", "search", "--", rest]).await?,
            _ => return self.looked_up(command, rest),
        }
        Ok(Some(Vec::new()))
    }

    /// Commands that work at any time.
    fn looked_up(&self, command: &str, rest: &str) -> Result<Option<Vec<String>>> {
        Ok(Some(match command {
            "/help" => vec![HELP.to_owned()],
            "/sessions" => sessions::table(&self.sessions()?),
            "/skills" => skills::table(&self.session.skills()),
            "/cost" => self.cost()?,
            "/context" => local::table(&self.session.context()),
            "/agents" => self.agents(rest)?,
            "/jobs" => self.jobs(rest)?,
            "/team" => self.team(rest)?,
            "/tasks" => self.tasks(rest)?,
            "/mail" => self.mail(rest)?,
            "/background" => {
                vec!["No command or agent is running. Enter /background during a turn.".to_owned()]
            }
            "/mode" => vec![self.mode(rest)?],
            "/model" => vec![self.model(rest)?],
            "/add-dir" => self.add_directory(rest)?,
            _ => return Ok(None),
        }))
    }

    fn mode(&self, name: &str) -> Result<String> {
        if !name.is_empty() {
            let names = Mode::ALL.map(Mode::name).join(", ");
            let Some(mode) = Mode::parse(name) else {
                bail!("unknown mode \"{}\" (one of {names})", visible(name));
            };
            self.session.send(Input::SetMode(mode))?;
        }
        Ok(format!("mode: {}", self.session.mode().name()))
    }

    fn model(&self, name: &str) -> Result<String> {
        if !name.is_empty() {
            self.session.send(Input::SetModel(name.to_owned()))?;
        }
        Ok(format!("model: {}", visible(self.session.model().as_str())))
    }

    fn add_directory(&self, path: &str) -> Result<Vec<String>> {
        if !path.is_empty() {
            let path = match path.strip_prefix("~/") {
                Some(below) => self.session.workspace().home.join(below),
                None => path.into(),
            };
            self.session.send(Input::AddDirs(vec![path]))?;
        }
        let (used, added) = (self.session.workspace(), self.session.control().dirs);
        let later = added.iter().filter(|folder| !used.roots.contains(folder));
        let shown = |folder: &PathBuf| visible(&folder.display().to_string()).to_string();
        let later = later.map(|folder| format!("{} (from the next request on)", shown(folder)));
        Ok(used.roots.iter().map(shown).chain(later).collect())
    }

    fn sessions(&self) -> Result<Vec<ostler::SessionInfo>> {
        let home = self.environment.home()?;
        Ok(ostler::list_sessions(&home, &self.session.workspace().cwd)?)
    }

    fn cost(&self) -> Result<Vec<String>> {
        let (cwd, session) = (&self.session.workspace().cwd.clone(), self.session.id());
        let budgets = self.host.options().budgets;
        cost::of_session(self.environment.home()?, cwd, session, budgets)
    }

    async fn resume(&mut self, id: &str) -> Result<Effect> {
        let this = self.session.id();
        if id == this.as_str() {
            return Ok("This is that session.".into());
        }
        if !id.is_empty() {
            return self.switch(SessionChoice::Resume(id.to_owned()), "resume").await;
        }
        let others = self.sessions()?;
        let newest = others.iter().find(|session| session.id != *this && session.messages > 0);
        match newest {
            Some(session) => {
                self.switch(SessionChoice::Resume(session.id.to_string()), "resume").await
            }
            None => Ok("There is no other session in this directory.".into()),
        }
    }

    /// `/undo` and `/rewind`, with the arguments and the output of the commands of the same names. The terminal is theirs
    /// meanwhile, because they may ask.
    async fn take_back(&mut self, command: &str, rest: &str) -> Result<()> {
        let is_turn = command == "/rewind" && !rest.is_empty() && !rest.starts_with('-');
        let rest = if is_turn { format!("--to {rest}") } else { rest.to_owned() };
        let words = format!("{rest} --session {}", self.session.id());
        let words =
            std::iter::once(command.trim_start_matches('/')).chain(words.split_whitespace());
        let Ok(args) = parsed(words) else {
            let entered = format!("{command} {rest}");
            let usage = if command == "/undo" { UNDO_USAGE } else { REWIND_USAGE };
            bail!("cannot read \"{}\"; use {usage}", visible(entered.trim()));
        };
        printer::written().await?;
        let _lent = terminal::lend();
        match args.command {
            Some(Command::Undo(mut args)) => {
                args.common.in_session = true;
                undo::run_in(&self.session, self.environment, &args)?
            }
            Some(Command::Rewind(mut args)) => {
                args.common.in_session = true;
                rewind::run_in(&self.session, self.environment, &args)?
            }
            _ => bail!("this is not a command of a session"),
        };
        self.session.announce();
        Ok(())
    }

    /// Runs a command of this program, as if it had been entered in the shell. The terminal is the command's meanwhile.
    async fn own(&self, words: &[&str]) -> Result<()> {
        let args = parsed(words.iter().copied())?;
        if !matches!(args.command, Some(Command::Permissions(_) | Command::Memory(_))) {
            bail!("this is not a command of a session");
        }
        printer::written().await?;
        let _lent = terminal::lend();
        commands::run(self.init, args).map(|_| ())
    }
}

/// For a command that needs the session to be idle, and for the name of a skill. Only the latter can be queued.
fn waits_for_turn(line: &str) -> String {
    let (command, _) = split(line);
    let (shown, line) = (visible(command), visible(line));
    let is_ours = ["/exit", "/new"].contains(&command) || words(&[]).iter().any(|it| it == command);
    match is_ours {
        true => format!("{shown} waits for the turn to end: stop it with Ctrl+C"),
        false => format!(
            "{shown} waits for the turn to end: stop it with Ctrl+C, or enter /queue {line}"
        ),
    }
}

fn parsed<'a>(words: impl Iterator<Item = &'a str>) -> Result<Args> {
    let words = std::iter::once("ostler").chain(words);
    Args::try_parse_from(words).map_err(|error| anyhow::anyhow!("{error}"))
}

pub(super) fn split(line: &str) -> (&str, &str) {
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (command, rest.trim())
}

fn focus(rest: &str) -> Option<String> {
    Some(rest.to_owned()).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    #[test]
    fn help_fits_a_terminal_of_80_columns() {
        for line in super::HELP.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
