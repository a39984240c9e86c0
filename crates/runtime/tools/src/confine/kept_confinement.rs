//! What another process needs to settle after a command that it runs in our place.

use super::guard::{Guard, is_harmless_change};
use super::rebase::Rebases;
use super::temp_directory::OwnedTemp;
use super::{ConfinedCommand, Confinement, Inspected, Inspection};
use ostler_exec::Sandbox;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Can be written to and read from the order for a keeper.
#[derive(Serialize, Deserialize)]
pub struct KeptConfinement {
    guard: Option<Guard>,
    rebases: Option<Rebases>,
    late: Option<Inspection>,
    /// The temporary directory of the session, which the command shares with others.
    temp: Option<PathBuf>,
    /// A directory in it for this command alone.
    own_temp: Option<PathBuf>,
}

/// The temporary directories of a kept command, until it is dropped.
pub struct KeptTemp {
    own: Option<PathBuf>,
    /// Of no use but to be held.
    _shared: Option<OwnedTemp>,
}

impl Confinement {
    /// Whoever gets this settles what is to be settled; nothing is left to do for `held`.
    pub fn hand_over(
        &self,
        mut held: ConfinedCommand,
        late: Option<Inspection>,
    ) -> KeptConfinement {
        let temp = held.sandbox.as_ref().and_then(|_| self.temp().ok()).map(PathBuf::from);
        let own_temp = held._temp.take().map(tempfile::TempDir::keep);
        let (guard, rebases) = (held.guard.take(), held.rebases.take());
        KeptConfinement { guard, rebases, late, temp, own_temp }
    }
}

impl KeptConfinement {
    /// Takes over, with the sandbox that the command has.
    ///
    /// # Errors
    /// If its temporary directory is gone.
    pub fn take_over(
        self,
        sandbox: Option<Arc<Sandbox>>,
    ) -> Result<(ConfinedCommand, Option<Inspection>, KeptTemp), String> {
        let KeptConfinement { guard, rebases, late, temp, own_temp: own } = self;
        let join = |path: PathBuf| {
            let gone =
                |error| format!("its temporary directory {} is gone ({error})", path.display());
            OwnedTemp::join(&path).map_err(gone)
        };
        let _shared = temp.map(join).transpose()?;
        let (new_files, _temp) = (None, None);
        let held = ConfinedCommand { sandbox, guard, rebases, new_files, _temp };
        Ok((held, late, KeptTemp { own, _shared }))
    }
}

impl KeptConfinement {
    /// The look after a command whose keeper was killed before it could look. Meanwhile somebody else may have worked
    /// there, so hooks and settings are only told; new repositories that run programs are made inert all the same.
    pub fn look_late(self, shown: impl Fn(&Path) -> String) -> Inspected {
        let changed = |path: &Path| {
            format!(
                "{} changed while the job ran or later, and git runs programs that it names. If nobody else changed it, \
                 the job did: look at it before you use git.",
                shown(path)
            )
        };
        let guard = self.guard.iter().flat_map(|guard| guard.changed(&is_harmless_change));
        let mut lines: Vec<String> = guard.map(changed).collect();
        let rebases = self.rebases.map(Rebases::running).unwrap_or_default();
        lines.extend(rebases.into_iter().map(|left| left.told(&shown)));
        let Some(late) = self.late else { return Inspected { lines, unfinished: None } };
        let found = late.run(None);
        lines.extend(found.lines);
        Inspected { lines, ..found }
    }
}

impl Drop for KeptTemp {
    fn drop(&mut self) {
        if let Some(own) = &self.own {
            let _ = std::fs::remove_dir_all(own);
        }
    }
}
