//! Inspections that reached a limit. Until another try finishes them, Ostler runs nothing that could start a program of a
//! repository that nobody looked at.

use super::inspection::Inspection;
use super::traces::{MOST_LEVELS, MOST_NAMES, UnfinishedWalk};
use super::{Confinement, Terms};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

const UNFINISHED: &str =
    include_str!("../../../../../prompts/results/unfinished-inspection.md").trim_ascii();
const NOT_RUN: &str = include_str!("../../../../../prompts/results/not-inspected.md").trim_ascii();

#[derive(Default)]
pub(super) struct UnfinishedInspections(Mutex<Vec<UnfinishedInspection>>);

struct UnfinishedInspection {
    inspection: Inspection,
    /// The directories that are walked through; none: all.
    left_out: Option<Vec<PathBuf>>,
}

impl UnfinishedInspections {
    pub(super) fn add(&self, inspection: &Inspection, left_out: Option<&[PathBuf]>) {
        // What is in the list does not lead back to it.
        let inspection = Inspection { unfinished: Arc::default(), ..inspection.clone() };
        let left_out = left_out.map(<[PathBuf]>::to_vec);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(UnfinishedInspection { inspection, left_out });
    }

    /// Tries those again that are left.
    fn finish(&self) -> Result<Vec<String>, UnfinishedWalk> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Vec::new();
        while let Some(next) = all.last() {
            lines.extend(next.inspection.finish(next.left_out.as_deref())?);
            all.pop();
        }
        Ok(lines)
    }
}

impl Confinement {
    /// Makes up for inspections that were not finished, before the next command. Gives what they found, a line each. What
    /// cannot run a program of a repository need not wait for them.
    ///
    /// # Errors
    /// In words, if one still cannot be finished: the command must not run.
    pub fn finish_inspections(&self, terms: Terms<'_>) -> Result<Vec<String>, String> {
        if terms.only_reads {
            return Ok(Vec::new());
        }
        match self.unfinished.finish() {
            Ok(lines) => {
                if !lines.is_empty() {
                    self.forget_repositories();
                }
                Ok(lines)
            }
            Err(_) if self.is_bounded(terms) => Ok(Vec::new()),
            Err(walk) => Err(walk.refusal()),
        }
    }

    /// The kernel lets it execute only programs that Ostler knows, and git is none of them.
    pub fn is_bounded(&self, terms: Terms<'_>) -> bool {
        terms.only_reads || !terms.lifted && self.bounds(&terms).is_some()
    }
}

impl UnfinishedWalk {
    /// For the model and the person, after the command whose changes were to be looked at.
    pub(super) fn told(&self) -> String {
        self.filled(UNFINISHED)
    }

    /// Why a command is not run.
    pub(super) fn refusal(&self) -> String {
        self.filled(NOT_RUN)
    }

    fn filled(&self, text: &str) -> String {
        let text = text.replace("{root}", &self.root.display().to_string());
        let text = text.replace("{path}", &self.at.display().to_string());
        text.replace("{names}", &MOST_NAMES.to_string())
            .replace("{levels}", &MOST_LEVELS.to_string())
    }
}
