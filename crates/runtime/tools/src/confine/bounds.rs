//! What was proved of a call, as bounds that the kernel enforces.

use super::{Confinement, Terms, programs};
use ostler_core::permission::{Act, Commands, TouchKind};
use ostler_exec::Bounds;
use std::path::PathBuf;

/// Programs that keep what does not fit into their memory, or what they cannot read twice, in temporary files.
const NEED_TEMP: [&str; 2] = ["sort", "tac"];

impl Confinement {
    /// None: nothing was proved that would narrow down what it may do.
    pub(super) fn bounds(&self, terms: &Terms<'_>) -> Option<Bounds> {
        let names = terms.proof.and_then(Commands::programs);
        let programs = names.and_then(|names| programs::resolve(names, terms.path));
        if !terms.only_reads {
            return programs.map(|found| Bounds { programs: Some(found), ..Bounds::default() });
        }
        let reach = self.reach();
        let look = || programs::directories(terms.path, |path| reach.workspace.contains(path));
        let search_path = match programs {
            Some(_) => reach.program_directories.get_or_init(look).clone(),
            None => Vec::new(),
        };
        let reads = terms.proof.map(|proof| reads_in(proof, &search_path)).unwrap_or_default();
        let temp = terms.proof.is_none_or(needs_temp);
        Some(Bounds { programs, search_path, reads, only_reads: true, temp })
    }
}

/// What it was judged to read in these directories, or above them.
fn reads_in(commands: &Commands, directories: &[PathBuf]) -> Vec<PathBuf> {
    let touches = commands.steps.iter().flat_map(|step| &step.touches);
    let contents = touches.filter(|it| it.act == Act::Read && it.kind != TouchKind::Names);
    let mut found = Vec::new();
    for scope in contents.flat_map(|touch| touch.scopes.iter().flatten()) {
        for directory in directories {
            if scope.path().starts_with(directory) {
                found.push(scope.path().to_path_buf());
            } else if directory.starts_with(scope.path()) {
                found.push(directory.clone());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Bash itself puts long here-documents into a file.
fn needs_temp(commands: &Commands) -> bool {
    let named = |name: &str| {
        let first = |step: &ostler_core::permission::Step| {
            step.words.first().and_then(|word| word.literal().map(|it| it.ends_with(name)))
        };
        commands.steps.iter().any(|step| first(step) == Some(true))
    };
    commands.text.contains("<<") || NEED_TEMP.iter().any(|name| named(name))
}
