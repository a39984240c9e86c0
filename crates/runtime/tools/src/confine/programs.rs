//! Which files a proved command may execute: the programs that its proof names, found as the shell finds them, and what
//! those programs start themselves.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Programs that start others in order to do what the tables know of them.
const HELPERS: &[(&str, &str)] = &[
    // The shell runs filters of the user's configuration, which is not the project's.
    ("git", "sh git-lfs"),
    ("tar", "sh gzip bzip2 xz lzma lzip lzop zstd compress"),
    ("egrep", "grep"),
    ("fgrep", "grep"),
    ("groups", "id"),
    ("zcat", "gzip"),
    ("gunzip", "gzip"),
    ("zgrep", "gzip grep sed cat"),
    ("zegrep", "gzip grep sed cat zgrep egrep"),
    ("zfgrep", "gzip grep sed cat zgrep fgrep"),
    ("zcmp", "gzip cmp zdiff"),
    ("zdiff", "gzip diff cmp"),
    ("zless", "gzip less sh"),
    ("zmore", "gzip more sh"),
    ("xzgrep", "xz grep sed cat"),
    ("xzcat", "xz"),
    ("bzcat", "bzip2"),
    ("bzgrep", "bzip2 grep sed cat"),
    ("bzdiff", "bzip2 diff cmp"),
    ("zstdcat", "zstd"),
    ("zstdgrep", "zstd grep sed cat"),
    ("unzip", "zipinfo"),
];

/// Programs that start others from directories of their own.
const HELPER_DIRECTORIES: &[(&str, &[&str])] = &[
    ("git", &["/usr/lib/git-core", "/usr/libexec/git-core", "/usr/local/libexec/git-core"]),
    ("psql", &["/usr/lib/postgresql"]),
];

/// Where the programs of a system lie, whatever the search path says.
const DIRECTORIES: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/games",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/games",
    "/usr/lib/git-core",
    "/usr/libexec/git-core",
    "/usr/lib/klibc/bin",
    "/snap/bin",
];

/// Programs that choose another one to start when they run.
const DISPATCHERS: &[&str] =
    &["asdf", "mise", "nodenv", "pyenv", "rbenv", "rustup", "snap", "volta-shim"];

/// How many programs are followed in all; a text that names more gets none of the rest.
const MAX_PROGRAMS: usize = 200;

/// How much of a script's first line counts.
const FIRST_LINE: u64 = 256;

/// The directories that hold programs. Directories of the search path count if they are called like ones that hold
/// nothing else.
pub(super) fn directories(path: &OsStr, in_workspace: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let only_programs = |directory: &PathBuf| {
        let name = directory.file_name().map(OsStr::as_bytes).unwrap_or_default();
        name.ends_with(b"bin") || name == b"shims"
    };
    let known = DIRECTORIES.iter().map(PathBuf::from);
    let all = known.chain(search_path(path).into_iter().filter(only_programs));
    let real: BTreeSet<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).collect();
    real.into_iter().filter(|path| !in_workspace(path)).collect()
}

/// What a program starts in order to do what the tables know of it.
pub fn helpers(program: &str) -> impl Iterator<Item = &'static str> {
    let rows = HELPERS.iter().filter(move |(of, _)| *of == program);
    rows.flat_map(|(_, names)| names.split_ascii_whitespace())
}

/// The files behind these names, in the order of the search path, with what they start. None if one of them starts what
/// cannot be told beforehand.
pub(super) fn resolve<'a>(
    names: impl IntoIterator<Item = &'a str>,
    path: &OsStr,
) -> Option<Vec<PathBuf>> {
    let directories = search_path(path);
    let mut waiting: Vec<OsString> = names.into_iter().map(OsString::from).collect();
    let mut seen: BTreeSet<OsString> = waiting.iter().cloned().collect();
    let mut found = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        let text = name.to_str().unwrap_or_default();
        let own = HELPER_DIRECTORIES.iter().filter(|(of, _)| *of == text);
        found.extend(
            own.flat_map(|(_, places)| *places).filter_map(|it| Path::new(it).canonicalize().ok()),
        );
        let Some(file) = look_up(&name, &directories) else { continue };
        let real = file.canonicalize().ok()?;
        if is_dispatcher(&file) || is_dispatcher(&real) {
            return None;
        }
        for next in helpers(text).map(OsString::from).chain(started_by_env(&real)) {
            if seen.len() < MAX_PROGRAMS && seen.insert(next.clone()) {
                waiting.push(next);
            }
        }
        found.extend(beside(&real, text));
        found.insert(real);
    }
    Some(found.into_iter().collect())
}

fn search_path(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path).filter(|directory| directory.is_absolute()).collect()
}

/// As the shell does it: the first executable file of this name.
fn look_up(name: &OsStr, directories: &[PathBuf]) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.mode() & 0o111 != 0)
    };
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && is_program(path));
    }
    directories.iter().map(|directory| directory.join(name)).find(is_program)
}

fn is_dispatcher(path: &Path) -> bool {
    let called = |name: &OsStr| DISPATCHERS.iter().any(|dispatcher| name == *dispatcher);
    path.file_name().is_some_and(called)
        || path.parent().is_some_and(|above| above.ends_with("shims"))
}

/// Directories that are installed together with the program, and from which it starts others.
fn beside(real: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let prefix = real.parent().and_then(Path::parent);
    if let Some(prefix) = prefix.filter(|_| name == "git") {
        found.extend(["lib/git-core", "libexec/git-core"].map(|below| prefix.join(below)));
    }
    // A package of Nix wraps its programs in scripts that start the real ones.
    if let Ok(below) = real.strip_prefix("/nix/store")
        && let Some(package) = below.iter().next()
    {
        found.push(Path::new("/nix/store").join(package));
    }
    found.retain(|path| path.is_dir());
    found
}

/// The program that a script asks `env` for: `#!/usr/bin/env node`.
fn started_by_env(script: &Path) -> Option<OsString> {
    let mut options = File::options();
    let file = options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file =
        file.open(script).ok().filter(|file| file.metadata().is_ok_and(|data| data.is_file()))?;
    let mut head = Vec::new();
    file.take(FIRST_LINE).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    words.next().filter(|program| program.ends_with(b"/env"))?;
    let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
    Some(OsString::from_vec(name.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Programs(tempfile::TempDir);

    impl Programs {
        fn new() -> Self {
            Programs(tempfile::tempdir().unwrap())
        }
        fn base(&self) -> PathBuf {
            self.0.path().canonicalize().unwrap()
        }
        fn add(&self, name: &str, text: &str) -> PathBuf {
            let path = self.base().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        }
        fn resolve(&self, names: &[&str], places: &[&str]) -> Option<Vec<PathBuf>> {
            let places = places.iter().map(|place| self.base().join(place));
            resolve(names.iter().copied(), &std::env::join_paths(places).unwrap())
        }
    }

    #[test]
    fn the_first_executable_file_counts_and_brings_its_helpers() {
        let programs = Programs::new();
        let first = programs.add("a/x", "");
        programs.add("b/x", "");
        let tool = programs.add("b/tool", "#!/usr/bin/env -S FOO=1 node --x\n");
        let node = programs.add("b/node", "");
        let (egrep, grep) = (programs.add("b/egrep", "#!/bin/sh\n"), programs.add("b/grep", ""));
        std::fs::write(programs.base().join("a/node"), "not executable").unwrap();
        symlink(&tool, programs.base().join("a/linked")).unwrap();
        let found = |names: &[&str]| programs.resolve(names, &["a", "b"]).unwrap();
        assert_eq!(found(&["x"]), [first]);
        assert_eq!(found(&["linked"]), [node.clone(), tool.clone()]);
        assert_eq!(found(&["egrep"]), [egrep, grep]);
        assert!(found(&["missing", "../b/x", "./x"]).is_empty());
        assert_eq!(found(&[node.to_str().unwrap()]), [node]);
    }

    #[test]
    fn a_program_that_chooses_another_one_is_not_bounded() {
        let programs = Programs::new();
        programs.add("shims/python3", "#!/bin/bash\n");
        let real = programs.add("opt/volta-shim", "");
        programs.add("bin/cat", "");
        symlink(&real, programs.base().join("bin/node")).unwrap();
        assert!(programs.resolve(&["cat"], &["shims", "bin"]).is_some());
        assert!(programs.resolve(&["cat", "python3"], &["shims", "bin"]).is_none());
        assert!(programs.resolve(&["node"], &["bin"]).is_none());
    }

    #[test]
    fn git_brings_its_own_directory() {
        let programs = Programs::new();
        let git = programs.add("bin/git", "");
        let core = programs.add("libexec/git-core/git-diff", "");
        let found = programs.resolve(&["git"], &["bin"]).unwrap();
        assert!(found.contains(&git) && found.contains(&core.parent().unwrap().to_path_buf()));
    }

    #[test]
    fn directories_of_programs_are_known_by_their_names() {
        let programs = Programs::new();
        for place in ["x/bin/a", "y/libexec/a", "ws/bin/a", "z/shims/a"] {
            programs.add(place, "");
        }
        let at = |place: &str| programs.base().join(place);
        let path =
            std::env::join_paths(["x/bin", "y/libexec", "ws/bin", "z/shims"].map(at)).unwrap();
        let found = directories(&path, |path| path.starts_with(at("ws")));
        assert!(found.contains(&at("x/bin")) && found.contains(&at("z/shims")));
        assert!(!found.contains(&at("y/libexec")) && !found.contains(&at("ws/bin")));
        assert!(found.contains(&Path::new("/usr/bin").canonicalize().unwrap()));
    }
}
