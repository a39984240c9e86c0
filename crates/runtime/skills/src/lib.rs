//! Skills: written instructions for certain kinds of work, one directory each.
//!
//! Invariants
//! - **The listing is one line per skill within a budget; the text is loaded on use.**
//! - **Problems are reported with file and line, and the other skills still load.** Sizes, depths and counts are bounded.
//! - **Text works at once, effects after trust.** What a project's skill would run or allow takes effect only for the
//!   content that the user accepted; a changed file is a new file.
//! - **A project's files are read only from the project**: a link that leads out of it is skipped.
//! - **A person's own skill takes precedence over a project's, and both over a shipped one.**
//! - **Arguments are text.** They are inserted once, never expanded again, and reach a command only as plain words.
//!
//! Deliberately absent: deciding what may run (the gate), the home directory and the environment (the caller
//! passes directories).

mod arguments;
mod catalog;
mod expansion;
mod front_matter;
mod listing;
mod names;
mod search;
mod shipped_skills;
mod skill;
mod skill_effects;
mod skill_file;
mod skills;

pub use catalog::{Catalog, Folder, SkillJudge, SkillLayout};
pub use expansion::{Situation, SkillPiece, expand};
pub use front_matter::yaml_budget;
pub use listing::{listing, one_line};
pub use names::{is_name, split_rules};
pub use shipped_skills::shipped;
pub use skill::{Problem, Skill, SkillOrigin};
pub use skill_effects::{project_files, project_folders, wants};
pub use skill_file::hash;
pub use skills::{Host, Skills, slash};
