//! How one command is held while it runs, and what is settled after it.

use super::exact_writes::NewFiles;
use super::guard::{Guard, Restored, is_harmless_change};
use super::rebase::Rebases;
use ostler_exec::{CommandReport, DeniedAct, Sandbox};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

const UNLISTABLE: &str = include_str!("../../../../../prompts/results/unlistable.md").trim_ascii();
const BESIDE: &str = include_str!("../../../../../prompts/results/beside-denied.md").trim_ascii();
const DENIED: &str = include_str!("../../../../../prompts/results/sandbox-denied.md").trim_ascii();

/// How one command is held, until it is dropped.
#[derive(Default)]
pub struct ConfinedCommand {
    pub sandbox: Option<Arc<Sandbox>>,
    pub(super) guard: Option<Guard>,
    pub(super) rebases: Option<Rebases>,
    /// It runs beside others and may write single files only; these are the ones that were missing.
    pub(super) new_files: Option<NewFiles>,
    /// For this command alone; removed after it.
    pub(super) _temp: Option<TempDir>,
}

impl ConfinedCommand {
    /// Lets the command read these besides.
    pub fn also_readable(&mut self, paths: Vec<PathBuf>) {
        if let Some(sandbox) = &mut self.sandbox {
            Arc::make_mut(sandbox).readable.extend(paths);
        }
    }

    /// What the sandbox has refused, as far as the output shows it, and how to get it granted.
    pub fn denied(&self, finished: &CommandReport) -> Option<String> {
        let sandbox = self.sandbox.as_ref().filter(|_| !finished.status.success())?;
        let text = finished.output.to_text();
        let Some(denied) = ostler_exec::denial_hint(&text, finished.status, sandbox) else {
            let is_denied = text.contains("Permission denied");
            return is_denied.then(|| unlistable(sandbox)).flatten();
        };
        if let (DeniedAct::Write(_), Some(_)) = (&denied.act, &self.new_files) {
            return Some(BESIDE.replace("{what}", &denied.to_string()));
        }
        let grant = match &denied.act {
            DeniedAct::Write(_) => "sandbox.allowWrite in settings.json, or --add-dir",
            DeniedAct::Read(_) => "sandbox.allowRead in settings.json, or --add-dir",
            DeniedAct::Network => "--network, or sandbox.network in settings.json",
            DeniedAct::Socket | DeniedAct::Call => "only outside the sandbox",
        };
        Some(DENIED.replace("{what}", &denied.to_string()).replace("{grant}", grant))
    }

    /// After the command: what it changed and must not have, put back. One line each, for the model and the person.
    pub fn settle(&mut self, shown: impl Fn(&Path) -> String) -> Vec<String> {
        if let Some(new) = &mut self.new_files {
            new.remove_unused();
        }
        let rebases = self.rebases.take().map(|rebases| rebases.settle()).unwrap_or_default();
        let rebases = rebases.into_iter().map(|left| left.told(&shown)).collect::<Vec<_>>();
        let Some(guard) = self.guard.take() else { return rebases };
        let told = |restored: Restored| match restored {
            Restored::Done(path) => format!(
                "{} was changed by the command and has been restored: git runs programs that it names.",
                shown(&path)
            ),
            Restored::Failed(path, why) => format!(
                "{} was changed by the command and could not be restored ({why}). Look at it before you use git.",
                shown(&path)
            ),
        };
        guard.restore(&is_harmless_change).into_iter().map(told).chain(rebases).collect()
    }
}

/// Which directory of the workspace cannot be listed, and why. Landlock grants, and cannot take back, so one that holds a
/// hidden directory is not granted as a whole.
fn unlistable(sandbox: &Sandbox) -> Option<String> {
    if sandbox.layers.bubblewrap {
        return None;
    }
    let roots = || sandbox.readable.iter().chain(&sandbox.writable);
    let root_of = |hidden: &PathBuf| {
        roots().filter(|root| hidden.starts_with(root)).find(|_| hidden.is_dir()).cloned()
    };
    let (root, hidden) =
        sandbox.hidden.iter().find_map(|hidden| root_of(hidden).map(|root| (root, hidden)))?;
    let text = UNLISTABLE.replace("{root}", &root.display().to_string());
    Some(text.replace("{hidden}", &hidden.display().to_string()))
}

impl Drop for ConfinedCommand {
    fn drop(&mut self) {
        // The call was dropped; its command is being killed.
        self.settle(|path| path.display().to_string());
    }
}
