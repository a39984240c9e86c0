//! The look at what a kept job left in the project. Its keeper makes it; if the keeper was killed, or could not come to an
//! end, the next process that finds the job does. What is to be looked at is in the directory of the job until then.

use super::table::JobTable;
use ostler_core::job::JobEnd;
use ostler_core::time::Timestamp;
use ostler_store::{JobFolder, JobFolders};
use ostler_tools::OwedInspection;
use std::path::Path;

/// A kept job that does not run any more.
pub(super) struct LookedAtJob {
    pub(super) end: JobEnd,
    /// What was found now, a line each.
    pub(super) found: Vec<String>,
    /// Why not everything was looked at.
    pub(super) unfinished: Option<String>,
}

/// Looks at what is still to be looked at, and writes it down. `at` is when the job ended, if that was seen. It blocks.
pub(super) fn look(folder: &Path, at: Option<Timestamp>) -> LookedAtJob {
    let as_it_is = |end| LookedAtJob { end, found: Vec::new(), unfinished: None };
    if !folder.exists() {
        return as_it_is(JobEnd::removed().not_inspected("its directory was removed"));
    }
    // Somebody else looks at it, or it cannot be written.
    let Ok(folder) = JobFolder::hold(folder.to_owned()) else {
        return as_it_is(ostler_store::end_of_kept_job(folder));
    };
    let seen = folder.seen_end();
    let end = seen.clone().unwrap_or_else(|| JobEnd { at, ..folder.kept_end() });
    let inspected = match folder.owed_inspection() {
        Ok(None) if seen.is_some() => return as_it_is(end),
        Ok(None) => Err("its supervisor did not write down what to check".to_owned()),
        Ok(Some(owed)) => OwedInspection::make(&owed),
        Err(error) => Err(error.to_string()),
    };
    let (mut end, found, unfinished) = match inspected {
        Ok(inspected) => (end, inspected.lines, inspected.unfinished),
        Err(why) => (end.not_inspected(&why), Vec::new(), None),
    };
    // Another try that fails again is not reported again.
    if seen.is_none() || unfinished.is_none() {
        end.notes.extend(found.iter().cloned());
    }
    let is_written = folder.finish_durably(&end).is_ok();
    if unfinished.is_none() && is_written {
        folder.forget_inspection();
        folder.remove_undescribed();
    }
    LookedAtJob { end, found, unfinished }
}

impl JobTable {
    /// What jobs of this session left that nobody has looked at.
    pub(super) fn look_at_the_rest(&self) -> Result<Vec<String>, String> {
        let owing = self.kept_folders().map(JobFolders::owing).unwrap_or_default();
        let mut found = Vec::new();
        for folder in owing {
            let looked = look(&folder, None);
            if let Some(why) = looked.unfinished {
                return Err(why);
            }
            found.extend(looked.found);
        }
        Ok(found)
    }
}
