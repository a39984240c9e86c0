//! The worktree of an agent that is kept apart (`isolation: worktree`). It is made before the agent, committed when the
//! agent has ended, and found again when the agent is resumed.

use super::refusal::AgentRefused;
use super::{Subagents, kinds};
use crate::error::Error;
use crate::host::Host;
use crate::kit::known_tools;
use crate::log_choice;
use crate::session::SessionShared;
use crate::session_options::SessionOptions;
use crate::session_tree::SessionTree;
use crate::system::now_ms;
use crate::tree_commands::TreeRunner;
use ostler_core::agent_definition::{AgentDefinition, AgentIsolation};
use ostler_core::ids::CallId;
use ostler_core::ports::AgentOrder;
use ostler_core::text::fill;
use ostler_engine::WorkCopy;
use ostler_worktrees::{
    Author, NewTree, Owner, OwnerKind, PruneOptions, TreeCommands, TreeEntry, Worktree,
    WorktreeError, Worktrees,
};
use std::path::PathBuf;
use std::sync::Arc;

const TOLD: &str = include_str!("../../../../../prompts/agents/worktree.md").trim_ascii();

/// What a tree is for.
pub(super) struct WantedTree {
    name: String,
    /// The call that the agent was first started by: its tree is found by it again.
    origin: CallId,
    /// It is kept without changes, too: its owner comes back.
    stays: bool,
}

/// A tree that this process has, until it is dropped.
pub(super) struct AgentTree {
    trees: Arc<Worktrees>,
    tree: Worktree,
    place: SessionTree,
    /// Of the one who started it.
    origin: (Host, Arc<SessionOptions>),
    stays: bool,
}

impl Subagents {
    /// None: the agent works where its starter does.
    pub(super) fn wanted_tree(
        &self,
        above: &SessionShared,
        order: &AgentOrder,
        call: &CallId,
    ) -> Option<WantedTree> {
        let (definition, origin) = match &order.resume {
            // Its mailbox decides when it works.
            Some(agent) if self.roster.is_teammate(&self.record(agent)?.name) => return None,
            Some(agent) => {
                let (origin, definition) = self.link(above, agent)?;
                (definition?, origin)
            }
            None => {
                let known = known_tools(&above.origin.1);
                (kinds::find(&order.kind, &self.definitions, &known)?, call.clone())
            }
        };
        let is_apart = definition.isolation == AgentIsolation::Worktree;
        is_apart.then_some(WantedTree { name: definition.name, origin, stays: false })
    }

    /// A teammate keeps its tree between mails.
    pub(crate) async fn tree_of_teammate(
        &self,
        definition: &AgentDefinition,
        call: &CallId,
    ) -> Result<TeammateTree, AgentRefused> {
        if definition.isolation != AgentIsolation::Worktree {
            return Ok(TeammateTree(None));
        }
        let above = self.above().ok_or(AgentRefused::Closing)?;
        let known = self.link(&above, &definition.name);
        let origin = known.map_or_else(|| call.clone(), |(origin, _)| origin);
        let wanted = WantedTree { name: definition.name.clone(), origin, stays: true };
        Ok(TeammateTree(Some(self.tree(&above, wanted).await?)))
    }

    /// The call that an agent of this session was first started by, and its definition then.
    fn link(
        &self,
        above: &SessionShared,
        agent: &str,
    ) -> Option<(CallId, Option<AgentDefinition>)> {
        let record = self.record(agent)?;
        let home = above.origin.0.home()?;
        let link = log_choice::started_by(home, &record.session).ok()??;
        Some((link.call, link.definition))
    }

    pub(super) async fn tree(
        &self,
        above: &SessionShared,
        wanted: WantedTree,
    ) -> Result<AgentTree, AgentRefused> {
        if above.origin.1.tree.is_some() {
            return Err(AgentRefused::Worktree(wanted.name));
        }
        let trees = self.trees.get_or_try_init(|| open(above)).await?.clone();
        let session = above.agent.journal.log().id();
        let owner = Owner {
            kind: OwnerKind::Session,
            id: format!("{session}/{}", wanted.origin),
            task: None,
        };
        let known = find(&trees, &owner).await?;
        let tree = match known {
            Some(entry) => trees.adopt(&entry.name, owner).await,
            None => {
                let short: String = session.as_str().chars().take(8).collect();
                let name = format!("{} {short}", wanted.name);
                let (host, options) = &above.origin;
                let runner = TreeRunner::new(host, &trees, options);
                let include = options.worktrees.include.as_deref();
                let (commands, now_ms): (Option<&dyn TreeCommands>, _) = (Some(&runner), now_ms());
                trees.create(NewTree { name: &name, owner, include, commands, now_ms }).await
            }
        };
        let tree = tree.map_err(Error::Worktree)?;
        let directory = above.workspace.now().cwd.clone();
        let place = SessionTree::of(&trees, &tree, &directory).await.map_err(Error::Worktree)?;
        let origin = above.origin.clone();
        Ok(AgentTree { trees, tree, place, origin, stays: wanted.stays })
    }
}

async fn open(above: &SessionShared) -> Result<Arc<Worktrees>, Error> {
    let (host, options) = &above.origin;
    let cwd = above.workspace.now().cwd.clone();
    let project: PathBuf = options.skills.project.clone().unwrap_or_else(|| cwd.clone());
    let variables = above.parts.environment.now().to_vec();
    let trees = host.worktrees(&project, &cwd, variables).await?;
    // What dead processes left is looked after; if that fails, somebody else will.
    let runner = TreeRunner::new(host, &trees, options);
    let _ = trees.prune(PruneOptions::default(), Some(&runner)).await;
    Ok(Arc::new(trees))
}

async fn find(trees: &Worktrees, owner: &Owner) -> Result<Option<TreeEntry>, Error> {
    let mut all = trees.list().await?;
    all.retain(|entry| {
        entry.record.as_ref().is_some_and(|record| {
            record.owner.kind == owner.kind && record.owner.id == owner.id && entry.path.is_dir()
        })
    });
    Ok(all.pop())
}

/// None: it works where its lead does.
pub(crate) struct TeammateTree(pub(super) Option<AgentTree>);

impl AgentTree {
    pub(super) fn copy(&self) -> WorkCopy {
        self.place.copy.clone()
    }

    pub(super) fn entered_by(&self, options: SessionOptions) -> SessionOptions {
        let told = fill(TOLD, &[("branch", self.tree.branch())]);
        let given = options.append_system_prompt.clone().unwrap_or_default();
        let append_system_prompt = Some(format!("{given}\n\n{told}").trim().to_owned());
        self.place.clone().entered_by(SessionOptions { append_system_prompt, ..options })
    }

    /// Commits what the agent did and lets go of the tree. Says where the work is; none: there is none.
    pub(super) async fn end(self, message: String) -> Option<AgentWorkPlace> {
        let branch = self.tree.branch().to_owned();
        let committed = self.trees.commit(&self.tree, &message, &Author::default()).await;
        let work = match committed {
            Ok(committed) => committed
                .commit
                .map(|commit| AgentWorkPlace::Branch { branch, commit: commit.to_string() }),
            Err(error) => Some(AgentWorkPlace::Uncommitted {
                path: self.tree.path().to_owned(),
                why: error.to_string(),
            }),
        };
        // If it cannot be released, the end of the process does it.
        let _: Result<_, WorktreeError> = match self.stays {
            true => self.trees.release(self.tree).await.map(|()| Vec::new()),
            false => {
                let runner = TreeRunner::new(&self.origin.0, &self.trees, &self.origin.1);
                self.trees.leave(self.tree, Some(&runner)).await
            }
        };
        work
    }
}

/// Where the work of an agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AgentWorkPlace {
    Branch { branch: String, commit: String },
    Uncommitted { path: PathBuf, why: String },
}

impl std::fmt::Display for AgentWorkPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AgentWorkPlace::Branch { branch, commit } => {
                write!(
                    f,
                    "[Its changes are not in your directory: they are on the branch {branch}, commit {commit}.]"
                )
            }
            AgentWorkPlace::Uncommitted { path, why } => {
                write!(
                    f,
                    "[Its changes could not be committed ({why}). They are in {}.]",
                    path.display()
                )
            }
        }
    }
}
