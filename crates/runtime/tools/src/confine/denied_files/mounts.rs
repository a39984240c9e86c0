//! Other paths that lead to the same file because its file system is mounted more than once.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The mounts of this process.
pub(super) struct Mounts(Vec<Mount>);

struct Mount {
    device: Vec<u8>,
    /// What of the file system is mounted.
    root: PathBuf,
    at: PathBuf,
}

impl Mounts {
    /// # Errors
    /// In words, if the kernel does not say what is mounted.
    pub(super) fn read() -> Result<Mounts, String> {
        let list = std::fs::read("/proc/self/mountinfo")
            .map_err(|error| format!("cannot read /proc/self/mountinfo: {error}"))?;
        Ok(Mounts::parse(&list))
    }

    fn parse(list: &[u8]) -> Mounts {
        let mount = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            let device = fields.next()?.to_vec();
            let root = plain(fields.next()?);
            let at = plain(fields.next()?);
            Some(Mount { device, root, at })
        };
        Mounts(list.split(|byte| *byte == b'\n').filter_map(mount).collect())
    }

    /// Where else the file or directory can be seen now. The path is free of links.
    pub(super) fn others(&self, path: &Path) -> Vec<PathBuf> {
        // Of mounts at the same place the last one is seen.
        let own = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        let Some(own) = own.max_by_key(|mount| mount.at.as_os_str().len()) else {
            return Vec::new();
        };
        let Some(inner) = joined(&own.root, path, &own.at) else { return Vec::new() };
        let same = |mount: &&Mount| mount.device == own.device && inner.starts_with(&mount.root);
        let elsewhere = |mount: &Mount| joined(&mount.at, &inner, &mount.root);
        let found = self.0.iter().filter(same).filter_map(elsewhere);
        found.filter(|other| other != path && is_same(other, path)).collect()
    }
}

/// `path` with `from` at its beginning replaced.
fn joined(to: &Path, path: &Path, from: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(from).ok()?;
    Some(if below.as_os_str().is_empty() { to.to_path_buf() } else { to.join(below) })
}

fn is_same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| path.symlink_metadata().map(|meta| (meta.dev(), meta.ino())).ok();
    place(a).is_some() && place(a) == place(b)
}

/// Blanks and the like are written as three octal digits.
fn plain(field: &[u8]) -> PathBuf {
    let mut out = Vec::new();
    let mut rest = field;
    while let Some((first, more)) = rest.split_first() {
        let code = (*first == b'\\').then(|| more.get(..3)).flatten();
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = more.get(3..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = more;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_directory_mounted_twice() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        // Two directories that are the same for the one who asks: a hard link stands in for the mount.
        for name in ["one", "two two"] {
            std::fs::create_dir(base.join(name)).unwrap();
        }
        std::fs::write(base.join("one/.env"), "").unwrap();
        std::fs::write(base.join("two two/other"), "").unwrap();
        std::fs::hard_link(base.join("one/.env"), base.join("two two/.env")).unwrap();
        let text = format!(
            "1 0 8:1 / / rw - ext4 /dev/a rw\n\
             2 1 8:2 /data {0}/one rw - ext4 /dev/b rw\n\
             3 1 8:2 /data {0}/two\\040two rw - ext4 /dev/b rw\n\
             4 1 8:3 /data {0}/three rw - ext4 /dev/c rw\n",
            base.display()
        );
        let mounts = Mounts::parse(text.as_bytes());
        assert_eq!(mounts.others(&base.join("one/.env")), [base.join("two two/.env")]);
        assert!(mounts.others(&base.join("one")).is_empty(), "another directory is there");
        assert!(mounts.others(Path::new("/etc/passwd")).is_empty());
    }

    #[test]
    fn what_the_kernel_says_is_understood() {
        let mounts = Mounts::read().unwrap();
        assert!(mounts.0.iter().any(|mount| mount.at == Path::new("/")));
    }
}
