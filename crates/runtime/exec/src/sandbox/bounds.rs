//! What was proved of a command, so that the kernel can enforce it.

use std::path::PathBuf;

/// Limits that follow from a proof. They are tighter than what the rest of the sandbox allows, and
/// never looser.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bounds {
    /// The only files that it may execute besides its own program; a directory stands for
    /// everything below it. Interpreters and loaders that the kernel starts for these files are
    /// included without being named. None: any program.
    pub programs: Option<Vec<PathBuf>>,
    /// Directories that hold programs. A bounded command that only reads can list them, but opens
    /// no file in them except the ones in `programs` and `reads`, so that the loader
    /// (`ld.so /usr/bin/touch`) starts nothing else from there.
    pub search_path: Vec<PathBuf>,
    /// What it was judged to read; matters for files below `search_path`.
    pub reads: Vec<PathBuf>,
    /// It changes nothing. The kernel refuses changes to the mode, owner, times and attributes of
    /// files as well, all IPC, and any influence on other processes.
    pub only_reads: bool,
    /// With `only_reads`: it may use the temporary directory, which must then be its own.
    pub temp: bool,
}

impl Bounds {
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.programs.iter().flatten().chain(&self.search_path).chain(&self.reads)
    }
}
