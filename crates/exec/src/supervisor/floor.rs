//! What a command's own process puts on before it executes the program: rules that it can then
//! not take off. They are made here, where memory can be allocated.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use seccompiler::BpfProgram;

use crate::sandbox::Sandbox;
use crate::sandbox::landlock::{self, Place};
use crate::sandbox::seccomp::{self, Sockets};

#[derive(Debug)]
pub(super) struct Floor {
    pub ruleset: Option<OwnedFd>,
    pub filter: Option<Rc<BpfProgram>>,
}

/// Makes floors. The filter is the same for all commands with the same sockets and is kept; the
/// rules name places as they are now, so they are made anew.
#[derive(Debug, Default)]
pub(super) struct Floors {
    filters: BTreeMap<Sockets, Rc<BpfProgram>>,
}

impl Floors {
    pub(super) fn make(&mut self, sandbox: &Sandbox, place: Place) -> Result<Floor, String> {
        let layers = sandbox.layers;
        let ruleset = layers.landlock.then(|| landlock::rules(sandbox, place)).transpose()?;
        let filter = layers.seccomp.then(|| self.filter(Sockets::of(sandbox))).transpose()?;
        Ok(Floor { ruleset, filter })
    }

    fn filter(&mut self, sockets: Sockets) -> Result<Rc<BpfProgram>, String> {
        if let Some(filter) = self.filters.get(&sockets) {
            return Ok(filter.clone());
        }
        seccomp::check()?;
        let filter = Rc::new(seccomp::program(sockets)?);
        self.filters.insert(sockets, filter.clone());
        Ok(filter)
    }
}
