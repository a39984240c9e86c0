//! What a command's own process puts on before it executes the program: rules that it can then
//! not take off. They are made here, where memory can be allocated.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use seccompiler::BpfProgram;

use crate::sandbox::Sandbox;
use crate::sandbox::landlock::{self, MadeRuleset, RulePlace};
use crate::sandbox::seccomp::{self, Grants};

/// As many different sandboxes as a session uses in turns. Each one holds a descriptor and some
/// memory of the kernel.
const KEPT: usize = 32;

#[derive(Debug)]
pub(super) struct Floor {
    pub ruleset: Option<Rc<MadeRuleset>>,
    pub filter: Option<Rc<BpfProgram>>,
}

/// Makes floors, and keeps what can be used again: filters, which depend on the sandbox alone, and
/// rules as long as the files they were made from are the same.
#[derive(Debug, Default)]
pub(super) struct Floors {
    filters: BTreeMap<Grants, Rc<BpfProgram>>,
    /// The last used one is the last.
    rules: VecDeque<FloorDescriptors>,
}

#[derive(Debug)]
struct FloorDescriptors {
    sandbox: Sandbox,
    program: PathBuf,
    made: Rc<MadeRuleset>,
}

impl Floors {
    pub(super) fn make(
        &mut self,
        sandbox: &Sandbox,
        place: RulePlace,
        program: &CStr,
    ) -> Result<Floor, String> {
        let layers = sandbox.layers;
        let program = Path::new(OsStr::from_bytes(program.to_bytes()));
        let ruleset = layers.landlock.then(|| self.rules(sandbox, place, program)).transpose()?;
        let filter = layers.seccomp.then(|| self.filter(Grants::of(sandbox))).transpose()?;
        Ok(Floor { ruleset, filter })
    }

    fn rules(
        &mut self,
        sandbox: &Sandbox,
        place: RulePlace,
        program: &Path,
    ) -> Result<Rc<MadeRuleset>, String> {
        let is_same = |kept: &FloorDescriptors| kept.program == program && kept.sandbox == *sandbox;
        if let Some(kept) = self.rules.iter().position(is_same).and_then(|at| self.rules.remove(at))
            && kept.made.watch.is_unchanged()
        {
            let made = Rc::clone(&kept.made);
            self.rules.push_back(kept);
            return Ok(made);
        }
        let made = Rc::new(landlock::rules(sandbox, place, program)?);
        // Which file names servers are looked up with can change without a trace in the watch.
        if place == RulePlace::Bare && !sandbox.network {
            if self.rules.len() == KEPT {
                self.rules.pop_front();
            }
            let (sandbox, program) = (sandbox.clone(), program.to_path_buf());
            self.rules.push_back(FloorDescriptors { sandbox, program, made: Rc::clone(&made) });
        }
        Ok(made)
    }

    fn filter(&mut self, grants: Grants) -> Result<Rc<BpfProgram>, String> {
        if let Some(filter) = self.filters.get(&grants) {
            return Ok(filter.clone());
        }
        seccomp::check()?;
        let filter = Rc::new(seccomp::program(grants)?);
        self.filters.insert(grants, filter.clone());
        Ok(filter)
    }
}
