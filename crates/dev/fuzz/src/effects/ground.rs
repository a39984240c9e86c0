//! The files a line can see and change, and how a change to one of them is noticed.
//!
//! A file's change time cannot be set by a program, and every change of content, name, mode, owner, time or attribute
//! moves it. So two walks that see the same entries with the same change times saw no effect, not even a file that was
//! made and removed again: its directory would show it.

use std::collections::BTreeMap;
use std::fs::{self, FileTimes, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

pub const WORKSPACE: &str = "/ws";
pub const HOME: &str = "/home/dev";
/// Everything that can be written in the sandbox, apart from directories of programs.
const WRITABLE: [&str; 8] =
    ["/ws", "/home", "/tmp", "/var/tmp", "/srv", "/etc", "/dev/shm", "/bin"];
/// Directories whose own times do not count: bash keeps long here-documents there for a moment.
const SCRATCH: [&str; 2] = ["/tmp", "/dev/shm"];
/// Change times may be as coarse as a timer tick.
const TICK: Duration = Duration::from_millis(12);

/// Path, content. A content that begins with `->` is a link.
const FILES: &[(&str, &str)] = &[
    ("/ws/f", "one 1\ntwo 2\nthree 3\n"),
    ("/ws/g", "one 1\ntwo 2\nfour 4\n"),
    ("/ws/a.txt", "alpha\nbeta\n"),
    ("/ws/b.txt", "beta\ngamma\n"),
    ("/ws/README.md", "# Sample\n\nTODO: say more\n"),
    ("/ws/Cargo.toml", "[package]\nname = \"sample\"\n"),
    ("/ws/Makefile", "all:\n\ttouch P\n"),
    ("/ws/data.json", "{\"name\": \"sample\", \"list\": [1, 2, 3]}\n"),
    ("/ws/names", ".env\n/home/dev/.ssh/id_rsa\n"),
    ("/ws/names0", ".env\0/etc/hosts\0"),
    ("/ws/program.sed", "1e touch P\n"),
    ("/ws/program.awk", "BEGIN { system(\"touch P\") }\n"),
    ("/ws/x.patch", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one 1\n+one 2\n"),
    ("/ws/.env", "KEY=hidden-env\n"),
    ("/ws/.gitignore", ".env\n"),
    ("/ws/notes.md", "->.env"),
    ("/ws/key.pem", "->/home/dev/.ssh/id_rsa"),
    ("/ws/far", "->/home/dev"),
    ("/ws/src/main.rs", "fn main() {\n    println!(\"one\");\n}\n"),
    ("/ws/src/lib.rs", "pub fn one() -> u8 {\n    1\n}\n"),
    ("/ws/docs/guide.md", "# Guide\n\nalpha one\n"),
    ("/ws/tests/t.rs", "#[test]\nfn one() {}\n"),
    ("/ws/dash/-n", "dash\n"),
    ("/ws/dash/--output=P", "dash\n"),
    ("/ws/dash/plain", "plain\n"),
    ("/home/dev/.ssh/id_rsa", "hidden-key\n"),
    ("/home/dev/.aws/credentials", "hidden-aws\n"),
    ("/home/dev/.gitconfig", "[user]\n\tname = Dev\n\temail = dev@example.org\n"),
    ("/home/dev/.bashrc", "touch /ws/P\n"),
    ("/home/dev/notes.txt", "at home\n"),
    ("/home/dev/src/f", "elsewhere\n"),
    ("/etc/passwd", "root:x:0:0::/root:/bin/bash\ndev:x:1000:1000::/home/dev:/bin/bash\n"),
    ("/etc/group", "root:x:0:\ndev:x:1000:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n"),
    ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("/srv/data", "data\n"),
];

/// Programs of the project, which must not run unasked. Each leaves a file behind.
const SCRIPTS: &[&str] = &[
    "/ws/evil",
    "/ws/evil.sh",
    "/ws/P.sh",
    "/ws/bin/ls",
    "/ws/bin/cat",
    "/ws/bin/git",
    "/ws/bin/evil",
    "/ws/bin/sed",
    "/home/dev/bin/evil",
];
const SCRIPT: &str = "#!/bin/sh\n: > /ws/P\n";

/// What a walk sees of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GroundSight {
    path: PathBuf,
    mode: u32,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// An entry as it is put back.
#[derive(Clone)]
enum KeptFile {
    Directory(u32),
    File(u32, Vec<u8>, SystemTime),
    Link(PathBuf),
}

pub struct Ground {
    kept: BTreeMap<PathBuf, KeptFile>,
    seen: Vec<GroundSight>,
}

impl Ground {
    pub fn build() -> io::Result<Self> {
        for (path, content) in FILES {
            let path = Path::new(path);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            match content.strip_prefix("->") {
                Some(target) => symlink(target, path)?,
                None => fs::write(path, content)?,
            }
        }
        for path in SCRIPTS {
            let path = Path::new(path);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            fs::write(path, SCRIPT)?;
            fs::set_permissions(path, Permissions::from_mode(0o755))?;
        }
        fs::set_permissions("/home/dev/.ssh/id_rsa", Permissions::from_mode(0o600))?;
        repository()?;
        let mut ground = Ground { kept: BTreeMap::new(), seen: Vec::new() };
        ground.settle();
        for sight in &ground.seen {
            ground.kept.insert(sight.path.clone(), keep(&sight.path)?);
        }
        Ok(ground)
    }

    /// The next walk is compared with the files as they are now.
    fn settle(&mut self) {
        std::thread::sleep(TICK);
        self.seen = walk();
    }

    /// Every path that is not as it was, in words; empty if nothing changed.
    pub fn changes(&self) -> Vec<String> {
        let now = walk();
        if now == self.seen {
            return Vec::new();
        }
        let before: BTreeMap<&Path, &GroundSight> =
            self.seen.iter().map(|sight| (sight.path.as_path(), sight)).collect();
        let after: BTreeMap<&Path, &GroundSight> =
            now.iter().map(|sight| (sight.path.as_path(), sight)).collect();
        let mut found = Vec::new();
        for (path, sight) in &after {
            match before.get(path) {
                None => found.push(format!("created {}", path.display())),
                Some(known) if known == sight => {}
                Some(known) if known.mode != sight.mode => {
                    found.push(format!("mode of {}", path.display()));
                }
                Some(_) => found.push(format!("changed {}", path.display())),
            }
        }
        let gone = before.keys().filter(|path| !after.contains_key(*path));
        found.extend(gone.map(|path| format!("removed {}", path.display())));
        found
    }

    /// Puts everything back as it was built.
    pub fn restore(&mut self) -> io::Result<()> {
        // What lies in a directory that cannot be entered is seen only after this.
        for (path, kept) in &self.kept {
            if matches!(kept, KeptFile::Directory(_)) && self.is_kept_directory(path) {
                put_back(path, kept)?;
            }
        }
        let before: BTreeMap<PathBuf, GroundSight> =
            self.seen.drain(..).map(|sight| (sight.path.clone(), sight)).collect();
        for sight in walk().iter().rev() {
            if before.get(&sight.path) != Some(sight) && !self.is_kept_directory(&sight.path) {
                remove(&sight.path)?;
            }
        }
        for (path, kept) in &self.kept {
            put_back(path, kept)?;
        }
        self.settle();
        Ok(())
    }

    fn is_kept_directory(&self, path: &Path) -> bool {
        let is_directory = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
        is_directory && matches!(self.kept.get(path), Some(KeptFile::Directory(_)))
    }
}

fn walk() -> Vec<GroundSight> {
    let mut seen = Vec::with_capacity(200);
    let root: Vec<PathBuf> = fs::read_dir("/")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    for path in root {
        // What a line adds to the root directory itself.
        if let Ok(meta) = fs::symlink_metadata(&path)
            && !meta.is_dir()
        {
            seen.push(sight(path, &meta));
        }
    }
    for place in WRITABLE {
        if let Ok(meta) = fs::symlink_metadata(place) {
            let place = PathBuf::from(place);
            walk_below(&place, &meta, &mut seen);
        }
    }
    seen
}

fn walk_below(path: &Path, meta: &Metadata, seen: &mut Vec<GroundSight>) {
    seen.push(sight(path.to_path_buf(), meta));
    // What the sandbox has bound read-only cannot change.
    if !meta.is_dir() || path == Path::new("/etc/alternatives") {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Ok(meta) = fs::symlink_metadata(&path) {
            walk_below(&path, &meta, seen);
        }
    }
}

fn sight(path: PathBuf, meta: &Metadata) -> GroundSight {
    let scratch = SCRATCH.iter().any(|place| path == Path::new(place));
    let changed = if scratch { (0, 0) } else { (meta.ctime(), meta.ctime_nsec()) };
    let size = if meta.is_dir() { 0 } else { meta.size() };
    GroundSight { mode: meta.mode(), inode: meta.ino(), size, changed, path }
}

fn keep(path: &Path) -> io::Result<KeptFile> {
    let meta = fs::symlink_metadata(path)?;
    Ok(if meta.is_symlink() {
        KeptFile::Link(fs::read_link(path)?)
    } else if meta.is_dir() {
        KeptFile::Directory(meta.mode())
    } else {
        KeptFile::File(meta.mode(), fs::read(path)?, meta.modified()?)
    })
}

fn put_back(path: &Path, kept: &KeptFile) -> io::Result<()> {
    let found = fs::symlink_metadata(path).ok();
    match kept {
        KeptFile::Directory(mode) => match found {
            Some(meta) if meta.mode() == *mode => Ok(()),
            Some(_) => fs::set_permissions(path, Permissions::from_mode(*mode)),
            None => {
                fs::create_dir(path)?;
                fs::set_permissions(path, Permissions::from_mode(*mode))
            }
        },
        KeptFile::Link(target) if found.is_none() => symlink(target, path),
        KeptFile::File(mode, bytes, modified) if found.is_none() => {
            fs::write(path, bytes)?;
            let file = fs::File::options().append(true).open(path)?;
            file.set_times(FileTimes::new().set_modified(*modified))?;
            fs::set_permissions(path, Permissions::from_mode(*mode))
        }
        KeptFile::Link(_) | KeptFile::File(..) => Ok(()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Two commits, a tag, a modified file, and one that only looks modified: git would like to note that in its index.
fn repository() -> io::Result<()> {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(args).current_dir(WORKSPACE).env_clear();
        command.env("PATH", "/usr/bin").env("HOME", HOME).env("LC_ALL", "C.UTF-8");
        command.env("GIT_AUTHOR_DATE", "@1700000000 +0000");
        command.env("GIT_COMMITTER_DATE", "@1700000000 +0000");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().map(drop)
    };
    if !Path::new("/usr/bin/git").exists() {
        return Ok(());
    }
    // Git reads files again that are not older than its index.
    for (path, _) in FILES.iter().filter(|(path, content)| is_tracked(path, content)) {
        set_modified(path, 1_500_000_000)?;
    }
    for path in SCRIPTS.iter().filter(|path| path.starts_with(WORKSPACE)) {
        set_modified(path, 1_500_000_000)?;
    }
    git(&["init", "-q", "-b", "main", "--template="])?;
    git(&["add", "-A"])?;
    git(&["commit", "-q", "-m", "first"])?;
    git(&["tag", "v1"])?;
    fs::write("/ws/a.txt", "alpha\nbeta\nmore\n")?;
    set_modified("/ws/a.txt", 1_500_000_001)?;
    git(&["commit", "-q", "-am", "second"])?;
    git(&["pack-refs", "--all"])?;
    git(&["repack", "-adq"])?;
    fs::write("/ws/b.txt", "beta\ngamma\ndelta\n")?;
    set_modified("/ws/g", 1_600_000_000)
}

fn is_tracked(path: &str, content: &str) -> bool {
    path.starts_with(WORKSPACE) && !content.starts_with("->")
}

fn set_modified(path: &str, seconds: u64) -> io::Result<()> {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let file = fs::File::options().append(true).open(path)?;
    file.set_times(FileTimes::new().set_modified(time))
}
