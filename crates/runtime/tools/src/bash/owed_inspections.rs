//! What is looked at after a command, and what is still owed when the next one is about to run.

use super::Bash;
use crate::confine::{Inspection, Terms};

/// The looks at what a command changes: while its call waits for it, and in the background.
pub(super) struct CommandInspections {
    pub(super) inspection: Option<Inspection>,
    pub(super) late: Option<Inspection>,
}

impl Bash {
    /// Before the command starts.
    ///
    /// # Errors
    /// Why it must not run, in words.
    pub(super) fn inspections(
        &self,
        terms: Terms<'_>,
        in_background: bool,
    ) -> Result<CommandInspections, String> {
        self.look_again_after_kept_jobs();
        self.finish_owed(terms)?;
        let (confinement, undo) = (&self.confinement, &self.undo);
        let inspection = confinement.inspection(terms, undo.is_off(), || undo.now())?;
        // What it changes after its call is looked for by a walk: no snapshots are taken around that.
        let late = match in_background {
            true => confinement.inspection(terms, true, || 0)?,
            false => None,
        };
        Ok(CommandInspections { inspection, late })
    }

    fn finish_owed(&self, terms: Terms<'_>) -> Result<(), String> {
        let found = self.confinement.finish_inspections(terms)?;
        self.undo.remember(found);
        match &self.jobs {
            Some(jobs) if !self.confinement.is_bounded(terms) => {
                self.undo.remember(jobs.finish_inspections()?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A keeper does not say when its job made a repository, so they are looked for again.
    fn look_again_after_kept_jobs(&self) {
        let jobs = self.jobs.as_ref().map(|jobs| jobs.list()).unwrap_or_default();
        if jobs.iter().any(|job| job.record.kept) {
            self.confinement.forget_repositories();
        }
    }
}
