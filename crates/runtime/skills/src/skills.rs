//! The skills of one session: what the model is told about them, and what becomes of one that is used.

use crate::catalog::Catalog;
use crate::expansion::{Situation, SkillPiece, expand, fill_places};
use crate::listing::listing;
use crate::names::is_name;
use crate::shipped_skills;
use crate::skill::{Problem, Skill};
use ostler_core::ports::BoxFuture;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

const LISTING: &str = include_str!("../../../../prompts/skills.md").trim_ascii();
const USED: &str = include_str!("../../../../prompts/skill-used.md").trim_ascii();

/// How the listing begins; by this it is found again in a conversation.
const MARK: &str = "<skills>";

/// Characters of the listing where the window is not known.
const BUDGET: usize = 8_000;

/// Files that one command can name.
const MOST_NAMED: usize = 8;
/// Characters of a command's output, and of a file.
const MOST_OUTPUT: usize = 16_000;

/// What a skill that is used needs from the agent.
pub trait Host: Send + Sync {
    /// Runs a command as a call of Bash would: judged, asked about where it must, recorded, bounded.
    ///
    /// # Errors
    /// In words, why it was not run or what went wrong.
    fn command(&self, command: String) -> BoxFuture<'static, Result<String, String>>;

    /// The lines of a file, as a call that reads would give them: judged, asked about where it must, recorded, bounded.
    /// None: there is no such file.
    ///
    /// # Errors
    /// In words, why it was not read.
    fn read(&self, path: String) -> BoxFuture<'static, Result<Option<String>, String>>;

    /// Rules that hold until the turn ends. They never go before a deny.
    fn allow(&self, rules: &[String], skill: &Skill);
}

pub struct Skills {
    catalog: Catalog,
    session: String,
    project: PathBuf,
    /// Where files of shipped skills are put when one is used.
    shipped_at: Option<PathBuf>,
    host: OnceLock<Arc<dyn Host>>,
}

impl Skills {
    pub fn new(
        catalog: Catalog,
        session: &str,
        project: PathBuf,
        shipped_at: Option<PathBuf>,
    ) -> Self {
        let session = session.to_owned();
        Skills { catalog, session, project, shipped_at, host: OnceLock::new() }
    }

    /// Once, when there is an agent.
    pub fn serve(&self, host: Arc<dyn Host>) {
        let _ = self.host.set(host);
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What was found wrong since the last time this was asked.
    pub fn news(&self) -> Vec<Problem> {
        self.catalog.refresh();
        self.catalog.new_problems()
    }

    /// What the model is told: the skills that it may use by itself. `window` in tokens.
    pub fn told(&self, window: Option<u64>) -> Option<String> {
        let all = self.catalog.all();
        let mut skills = all.iter().filter(|skill| skill.for_model).map(Arc::as_ref).peekable();
        skills.peek()?;
        // One per cent, at four characters a token.
        let budget = window.map_or(BUDGET, |window| usize::try_from(window / 25).unwrap_or(BUDGET));
        Some(LISTING.replace("{skills}", &listing(skills, budget)))
    }

    /// The text is a listing that `told` made.
    pub fn is_listing(text: &str) -> bool {
        text.starts_with(MARK)
    }

    /// The name, if the text is what `used` made of a skill.
    pub fn used_in(text: &str) -> Option<&str> {
        text.strip_prefix("<skill name=\"")?.split('"').next()
    }

    /// # Errors
    /// In words, with the skills there are.
    pub fn for_model(&self, name: &str) -> Result<Arc<Skill>, String> {
        self.named(name, |skill| skill.for_model)
    }

    /// # Errors
    /// As above.
    pub fn for_user(&self, name: &str) -> Result<Arc<Skill>, String> {
        self.named(name, |skill| skill.for_user)
    }

    fn named(&self, name: &str, may: impl Fn(&Skill) -> bool) -> Result<Arc<Skill>, String> {
        if let Some(skill) = self.catalog.find(name).filter(|skill| may(skill)) {
            return Ok(skill);
        }
        let all = self.catalog.all();
        let known: Vec<&str> =
            all.iter().filter(|skill| may(skill)).map(|skill| skill.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let known: String = known.chars().take(BUDGET).collect();
        let name: String = name.chars().take(64).collect();
        Err(format!("There is no skill {name:?} here. The skills are: {known}."))
    }

    /// The rules that using it adds until the turn ends.
    pub fn loosens(&self, skill: &Skill) -> Vec<String> {
        if !skill.trusted {
            return Vec::new();
        }
        let place = |rule: &String| fill_places(rule, skill, &self.session, &self.project);
        skill.allowed_tools.iter().map(place).collect()
    }

    /// Its text as the model reads it. Its rules apply from here on, and its commands run.
    pub async fn used(&self, skill: &Skill, arguments: &str) -> String {
        let host = self.host.get();
        let rules = self.loosens(skill);
        if let Some(host) = host.filter(|_| !rules.is_empty()) {
            host.allow(&rules, skill);
        }
        let mut notes = Vec::new();
        if let Err(why) =
            shipped_skills::unpack(&skill.name, skill.origin, self.shipped_at.as_deref())
        {
            notes.push(format!(
                "Its files could not be written to {}: {why}.",
                skill.folder.display()
            ));
        }
        if !skill.trusted && !skill.allowed_tools.is_empty() {
            notes.push("Its allowed-tools are ignored: its content is not trusted.".to_owned());
        }
        let situation = Situation { arguments, session: &self.session, project: &self.project };
        let (mut text, mut files) = (String::new(), Vec::new());
        for piece in expand(skill, situation) {
            text += &match piece {
                SkillPiece::Text(text) => text,
                SkillPiece::File(path) => {
                    if files.len() < MOST_NAMED {
                        files.push(self.named_file(skill, path).await);
                    }
                    continue;
                }
                SkillPiece::Unfit(command) => not_run(
                    &command,
                    "the arguments contain characters that a shell would interpret",
                ),
                SkillPiece::Command(command) if !skill.trusted => {
                    not_run(&command, "the content of this skill is not trusted")
                }
                SkillPiece::Command(command) => match host {
                    Some(host) => match host.command(command.clone()).await {
                        Ok(output) => output.chars().take(MOST_OUTPUT).collect(),
                        Err(why) => not_run(&command, &why),
                    },
                    None => not_run(&command, "nothing can be run here"),
                },
            };
        }
        notes.push(text);
        notes.extend(files.into_iter().flatten());
        USED.replace("{name}", &skill.name)
            .replace("{folder}", &skill.folder.display().to_string())
            .replace("{text}", &notes.join("\n"))
    }
}

impl Skills {
    /// The content of a file that a command names; none where it names no file.
    async fn named_file(&self, skill: &Skill, path: String) -> Option<String> {
        let not_read = |why: &str| Some(format!("[not read: {path}: {why}]"));
        if !skill.trusted {
            return not_read("the content of this command is not trusted");
        }
        match self.host.get()?.read(path.clone()).await {
            Ok(content) => {
                let content: String = content?.chars().take(MOST_OUTPUT).collect();
                Some(format!("Contents of {path}:\n{content}"))
            }
            Err(why) => not_read(&why),
        }
    }
}

fn not_run(command: &str, why: &str) -> String {
    format!("[not run: `{command}`: {why}]")
}

/// `/name arguments` in its parts. A path is no name.
pub fn slash(prompt: &str) -> Option<(&str, &str)> {
    let rest = prompt.trim().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, arguments) = rest.split_at(end);
    is_name(name).then(|| (name, arguments.trim()))
}

#[cfg(test)]
#[path = "skills_tests.rs"]
mod tests;
