//! The sandbox of a program that serves tools: it reads the project and its own files, and sees nothing else of the home
//! directory.

use super::{Confinement, Missing, folders};
use ostler_exec::{Command, Sandbox};
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
    /// A person configured it: it may read what its command line names.
    pub reads_arguments: bool,
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
        if access.reads_arguments {
            let named = named_places(command, &sandbox);
            sandbox.readable.extend(reach.real(&named));
            sandbox.readable.extend(named);
        }
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

/// Files that say what the package around a script is.
const PACKAGE: [&str; 2] = ["package.json", "pyproject.toml"];
/// How far above a script its package may begin.
const MOST_LEVELS: usize = 4;

/// What the command line names: files and directories, and what lies beside a script or is part of its package. Nothing that
/// is hidden, and no whole home.
fn named_places(command: &Command, sandbox: &Sandbox) -> Vec<PathBuf> {
    let is_home = |path: &Path| {
        sandbox.homes.iter().any(|home| home.starts_with(path))
            || path.parent().is_none_or(|parent| parent == Path::new("/home"))
    };
    let may_read = |path: &PathBuf| {
        let is_kept = !sandbox.hidden.iter().any(|hidden| path.starts_with(hidden));
        is_kept && !is_home(path)
    };
    let path_of = |word: &std::ffi::OsString| {
        let text = word.to_str()?;
        let text = text.split_once('=').filter(|_| text.starts_with('-')).map_or(text, |it| it.1);
        let path = command.cwd.join(text);
        (!text.is_empty() && path.exists()).then_some(path)
    };
    let mut places = vec![command.cwd.clone()];
    for path in command.args.iter().filter_map(path_of) {
        // What a link leads to is judged, too.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let around = script_places(&real, &is_home);
        if may_read(&real) {
            places.extend([path, real].into_iter().chain(around));
        }
    }
    places.retain(may_read);
    places
}

/// The directory of a script, or of the package that it is part of.
fn script_places(file: &Path, is_home: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    let is_script =
        ["py", "js", "mjs", "cjs", "ts", "mts", "rb", "sh", "pl", "php"].contains(&kind);
    let beside = file.parent().filter(|_| is_script && file.is_file())?;
    let above = beside.ancestors().take(MOST_LEVELS).take_while(|folder| !is_home(folder));
    let mut above = above.filter(|folder| PACKAGE.iter().any(|name| folder.join(name).is_file()));
    Some(above.next().unwrap_or(beside).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_exec::Layers;

    #[test]
    fn a_server_reads_what_its_command_line_names() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().canonicalize().unwrap().join("home");
        let at = |path: &str| home.join(path);
        for file in [
            "alone.py",
            "server/main.py",
            "server/helper.py",
            "node/package.json",
            "node/build/index.js",
            "notes/today.md",
            "conf/server.json",
            ".ssh/key.py",
            "deep/er/link.py",
        ] {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), "").unwrap();
        }
        std::os::unix::fs::symlink(at(".ssh/key.py"), at("conf/key.py")).unwrap();
        std::fs::create_dir(world.path().join("project")).unwrap();
        let cwd = world.path().canonicalize().unwrap().join("project");
        let sandbox = Sandbox {
            writable: Vec::new(),
            readable: Vec::new(),
            homes: vec![home.clone(), "/home".into()],
            hidden: vec![at(".ssh")],
            frozen: Vec::new(),
            temp: "/t".into(),
            network: false,
            layers: Layers::default(),
            bounds: None,
        };
        let places = |word: &str| {
            let mut command = Command::new("/bin/sh", cwd.clone());
            command.args = vec![word.replace('~', home.to_str().unwrap()).into()];
            let mut found = named_places(&command, &sandbox);
            found.retain(|path| *path != cwd);
            found.dedup();
            found
        };
        for (word, expected) in [
            ("~/server/main.py", &["server/main.py", "server"][..]),
            ("~/node/build/index.js", &["node/build/index.js", "node"]),
            ("~/notes", &["notes"]),
            ("--config=~/conf/server.json", &["conf/server.json"]),
            ("~/alone.py", &["alone.py"]),
            ("~", &[]),
            ("~/.ssh", &[]),
            ("~/.ssh/key.py", &[]),
            ("~/conf/key.py", &[]),
            ("~/missing.py", &[]),
            ("/", &[]),
            ("/home", &[]),
            ("-v", &[]),
            ("", &[]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(|path| at(path)).collect();
            assert_eq!(places(word), expected, "{word}");
        }
        let mut command = Command::new("/bin/sh", at("server"));
        command.args = vec!["main.py".into()];
        assert!(named_places(&command, &sandbox).contains(&at("server")));
    }
}
