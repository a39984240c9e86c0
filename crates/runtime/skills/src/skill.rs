//! A skill, and what is wrong with one.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// One line.
    pub description: String,
    pub when_to_use: Option<String>,
    pub argument_hint: Option<String>,
    /// Names of the arguments, in order.
    pub arguments: Vec<String>,
    /// The model may use it by itself.
    pub for_model: bool,
    /// A person may use it as `/name`.
    pub for_user: bool,
    /// Rules that hold while it is used, as written.
    pub allowed_tools: Vec<String>,
    /// For a command: the model of the turn that it begins.
    pub model: Option<String>,
    /// It is a command: a file of its own name, whose arguments are counted from 1 and which can name files.
    pub is_command: bool,
    /// Files it is meant for, as patterns.
    pub paths: Vec<String>,
    pub body: String,
    pub origin: SkillOrigin,
    /// Its file, and the directory with what belongs to it; free of links.
    pub file: PathBuf,
    pub folder: PathBuf,
    /// What it runs and allows counts.
    pub trusted: bool,
}

/// Whose it is. The first goes before the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillOrigin {
    User,
    Project,
    Plugin,
    Shipped,
}

impl SkillOrigin {
    pub fn name(self) -> &'static str {
        match self {
            SkillOrigin::User => "user",
            SkillOrigin::Project => "project",
            SkillOrigin::Plugin => "plugin",
            SkillOrigin::Shipped => "shipped",
        }
    }
}

/// Something in a skill's file that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    pub line: usize,
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{}:{}: {}", self.file.display(), self.line, self.what);
        // A name in it may be anything.
        let clean: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        f.write_str(&clean)
    }
}
