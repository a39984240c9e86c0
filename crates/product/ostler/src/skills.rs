//! Skills in a session: listed before a prompt if something is new, used with `/name` and with the tool.

use crate::input::Prompt;
use crate::read_judge::ReadJudge;
use crate::session::Session;
use crate::session_options::SkillFolders;
use ostler_core::ids::{CallId, SessionId};
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::permission::{COMMANDS, Policy, READING, Source, Tier, Workspace};
use ostler_core::ports::BoxFuture;
use ostler_core::tool::ToolOutput;
use ostler_core::view::View;
use ostler_engine::{Agent, own_call};
use ostler_skills::{Catalog, Host, Skill, SkillOrigin, Skills, shipped, slash};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long a command of a skill may take.
const COMMAND_TIME: Duration = Duration::from_secs(60);

/// A prompt, looked at.
pub(crate) enum Expanded {
    /// Whatever it is, it is for the model.
    Message(Message),
    /// It wants a skill that is not there. Nothing needs to be sent.
    Unknown {
        why: String,
    },
    Interrupted,
}

/// Where files of shipped skills go.
fn shipped_at(home: Option<&Path>) -> Option<PathBuf> {
    home.map(|home| home.join("shipped"))
}

/// All skills, as a session with this home would find them.
pub fn skill_catalog(choice: &SkillFolders, home: Option<&Path>) -> Catalog {
    let tools = ostler_tools::known_tools();
    let shipped = shipped(shipped_at(home).as_deref(), &tools);
    Catalog::new(choice.folders.clone(), shipped, choice.accepted.iter().cloned(), tools)
        .limited_to(choice.for_model.clone())
}

/// What belongs to skills may be read from here on.
pub(crate) fn open(
    choice: &SkillFolders,
    policy: &Policy,
    home: Option<&Path>,
    session: &SessionId,
    workspace: &mut Workspace,
) -> Arc<Skills> {
    let project = choice.project.clone().unwrap_or_else(|| workspace.cwd.clone());
    let judge = ReadJudge::new(policy, workspace.clone(), &project);
    let judge = move |file: &Path, real: &Path| judge.skill(file, real);
    let catalog = skill_catalog(choice, home).judged_by(Arc::new(judge));
    let skills = Skills::new(catalog, session.as_str(), project, shipped_at(home));
    workspace.readable.extend(readable(choice, home, &skills));
    Arc::new(skills)
}

/// Directories whose files may be read because skills are there: those of the user and of the project, and the
/// directories that links of the user lead to.
fn readable(choice: &SkillFolders, home: Option<&Path>, skills: &Skills) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = shipped_at(home).into_iter().collect();
    let whole = choice.folders.iter().filter_map(|folder| match folder.path.canonicalize() {
        Ok(real) => {
            let strays = folder.within.as_ref().is_some_and(|within| !real.starts_with(within));
            (!strays).then_some(real)
        }
        // It may be made while we run.
        Err(_) => Some(folder.path.clone()),
    });
    folders.extend(whole);
    for skill in skills.catalog().all().iter().filter(|skill| skill.origin != SkillOrigin::Shipped)
    {
        if !folders.iter().any(|folder| skill.folder.starts_with(folder)) {
            folders.push(skill.folder.clone());
        }
    }
    folders
}

/// Puts the list before a prompt if it has changed since it was last sent. Earlier messages are never edited.
pub(crate) fn with_skills(prompt: Message, view: &View, told: Option<String>) -> Message {
    let before =
        view.items().iter().rev().flat_map(|item| item.message().blocks()).find_map(|block| {
            match block {
                Block::Text { text, meta: true } if Skills::is_listing(text) => Some(text),
                _ => None,
            }
        });
    match (prompt, told) {
        (Message::User { content: rest }, Some(told)) if before != Some(&told) => {
            let mut content = vec![Block::Text { text: told, meta: true }];
            content.extend(rest);
            Message::User { content }
        }
        (prompt, _) => prompt,
    }
}

impl Session {
    /// What becomes of a prompt that a person typed: `/name arguments` uses a skill. Its rules hold for the turn that
    /// follows, and its commands run now.
    pub(crate) async fn expand(&self, prompt: Prompt) -> Expanded {
        self.begin_turn();
        let Some(text) = prompt.command() else { return Expanded::Message(prompt.message) };
        self.begin_recall(text.trim());
        let Some((name, arguments)) = slash(text) else {
            // Piped text is not the person's word.
            let typed = prompt.typed.as_deref().unwrap_or_default();
            let named = self.shared().parts.servers.resources_in(typed).await;
            return Expanded::Message(prompt.marked(followed_by(text, named)));
        };
        if let Some(offered) = self.shared().parts.servers.prompt(name, arguments).await {
            return match offered {
                Ok(said) => Expanded::Message(prompt.marked(followed_by(text.trim(), vec![said]))),
                Err(why) => Expanded::Unknown { why },
            };
        }
        let skills = &self.shared().parts.skills;
        match skills.for_user(name) {
            Ok(skill) => {
                let used = skills.used(&skill, arguments).await;
                self.use_model_of(&skill);
                let text = Block::text(text.trim());
                let content = vec![text, Block::Text { text: used, meta: true }];
                Expanded::Message(prompt.marked(Message::User { content }))
            }
            Err(why) => Expanded::Unknown { why },
        }
    }

    /// The turn that a command begins uses the command's model, if it is known what it costs where that matters.
    fn use_model_of(&self, skill: &Skill) {
        let named = skill.model.as_deref().filter(|_| skill.is_command && skill.trusted);
        let Some(name) = named.filter(|name| *name != "inherit") else { return };
        let model = ostler_models::resolve_model(name);
        if !self.shared().parts.has_budget || self.model_info(&model).price.is_some() {
            self.shared().agent.set_turn_model(model);
        }
    }

    /// All skills, as they are now.
    pub fn skills(&self) -> Arc<[Arc<Skill>]> {
        let catalog = self.shared().parts.skills.catalog();
        catalog.refresh();
        catalog.all()
    }
}

/// What a person typed, and what belongs to it.
fn followed_by(text: &str, more: Vec<String>) -> Message {
    if more.is_empty() {
        return Message::user(text);
    }
    let more = more.into_iter().map(|text| Block::Text { text, meta: true });
    Message::User { content: std::iter::once(Block::text(text)).chain(more).collect() }
}

fn words(output: &ToolOutput) -> String {
    let text = |part: &ResultPart| match part {
        ResultPart::Text { text } => Some(text.clone()),
        ResultPart::Image(_) => None,
    };
    output.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// The agent, as skills see it.
pub(crate) struct AgentHost {
    agent: Weak<Agent>,
    commands: AtomicU64,
    /// Where files are looked for.
    cwd: PathBuf,
}

impl AgentHost {
    pub(crate) fn new(agent: &Arc<Agent>, cwd: &Path) -> Arc<Self> {
        let (agent, commands) = (Arc::downgrade(agent), AtomicU64::new(0));
        Arc::new(AgentHost { agent, commands, cwd: cwd.to_owned() })
    }
}

impl Host for AgentHost {
    fn command(&self, command: String) -> BoxFuture<'static, Result<String, String>> {
        let agent = self.agent.upgrade();
        let nth = self.commands.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let agent = agent.ok_or("the session is over")?;
            let id = CallId::new(format!("skill_command_{nth}"));
            let input = ostler_tools::command_input(&command, COMMAND_TIME);
            let output = own_call(&agent, id, COMMANDS, input).await?;
            Ok(words(&output))
        })
    }

    fn read(&self, path: String) -> BoxFuture<'static, Result<Option<String>, String>> {
        let agent = self.agent.upgrade();
        let nth = self.commands.fetch_add(1, Ordering::Relaxed);
        let is_there = self.cwd.join(&path).symlink_metadata().is_ok();
        Box::pin(async move {
            if !is_there {
                return Ok(None);
            }
            let agent = agent.ok_or("the session is over")?;
            let id = CallId::new(format!("command_file_{nth}"));
            let input = agent.tools.current().known().facts(READING).call_with(&path);
            let output = own_call(&agent, id, READING, input).await?;
            Ok(Some(words(&output)))
        })
    }

    fn allow(&self, rules: &[String], skill: &Skill) {
        let tier = match skill.origin {
            SkillOrigin::User | SkillOrigin::Plugin => Tier::User,
            SkillOrigin::Project => Tier::Project,
            SkillOrigin::Shipped => Tier::BuiltIn,
        };
        if let Some(agent) = self.agent.upgrade() {
            let source = Source { tier, file: Some(skill.file.clone()), line: None };
            agent.gate.allow_for_turn(rules, &source);
        }
    }
}
