//! The sandbox of a program that serves tools: it reads the project and sees nothing of the home directory.

use super::{Confinement, Missing, folders};
use ostler_exec::Command;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What such a program may reach besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerAccess {
    pub network: bool,
    /// May change files of the project.
    pub write_project: bool,
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

impl Confinement {
    /// Puts the program into its sandbox.
    ///
    /// # Errors
    /// In words, if it cannot be confined: then it must not run.
    pub fn confine_server(
        &self,
        command: &mut Command,
        access: &ServerAccess,
    ) -> Result<(), String> {
        command.limits = self.limits();
        if !self.options.enabled {
            return Ok(());
        }
        if let Some(missing @ (Missing::Floor | Missing::Whole)) = self.missing() {
            return match self.options.accept_missing {
                true => Ok(()),
                false => Err(format!(
                    "{}; change that, or switch the sandbox off for this server",
                    missing.plainly()
                )),
            };
        }
        let reach = self.reach();
        let mut sandbox = self.sandbox(Vec::new(), access.network, self.layers())?;
        if !access.write_project {
            sandbox.readable.append(&mut sandbox.writable);
        }
        sandbox.readable.extend(reach.real(&access.read));
        sandbox.readable.extend(program_places(&command.program));
        sandbox.writable.extend(reach.real(&access.write));
        folders::with_temp(&mut command.env, sandbox.temp_inside(), &sandbox.writable);
        command.sandbox = Some(Arc::new(sandbox));
        Ok(())
    }
}

/// A program reads itself and what lies beside it, wherever it is installed: an interpreter needs its library.
fn program_places(program: &Path) -> Vec<PathBuf> {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let around = |path: &Path| {
        let folder = path.parent()?;
        let is_bin = folder.file_name().is_some_and(|name| name == "bin");
        let place = if is_bin { folder.parent().unwrap_or(folder) } else { folder };
        // Never a whole home or the top of the disk.
        (place.components().count() > 3).then(|| place.to_owned())
    };
    let files = [program.to_owned(), real.clone()];
    files.into_iter().chain([program, &real].into_iter().filter_map(around)).collect()
}
