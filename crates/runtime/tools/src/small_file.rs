//! Reading files that a project may have filled with anything: only regular ones, never more than is said.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The whole content, or nothing: not a regular file, longer than `most` bytes, not readable. Never waits, as opening or
/// reading a pipe would.
pub fn read_small(path: &Path, most: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let seen = file.metadata().ok()?;
    if !seen.is_file() || seen.len() > most {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// As [`read_small`], where only text makes sense.
pub fn read_small_text(path: &Path, most: u64) -> Option<String> {
    String::from_utf8(read_small(path, most)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_regular_files_of_the_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("four"), "1234").unwrap();
        fs::write(at("five"), "12345").unwrap();
        fs::write(at("not text"), [0xff]).unwrap();
        std::os::unix::fs::symlink("four", at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RWXU).unwrap();
        for (name, found) in [
            ("four", Some("1234")),
            ("link", Some("1234")),
            ("five", None),
            ("pipe", None),
            (".", None),
            ("missing", None),
            ("not text", None),
        ] {
            assert_eq!(read_small_text(&at(name), 4).as_deref(), found, "{name}");
        }
        assert_eq!(read_small(Path::new("/dev/zero"), 4), None);
    }
}
