//! The programs of the sandbox.

use super::sandbox::{OWN, PROGRAMS};
use std::fs;
use std::io;
use std::path::Path;

/// Programs that stand in for what reaches other machines. They do nothing.
const STAND_INS: &[&str] =
    &["sudo", "curl", "wget", "nc", "ssh", "evil", "P", "doas", "su", "sudoedit"];
/// Larger programs are not copied.
const MOST_BYTES: u64 = 8 << 20;

/// The system's programs, as files of our own: who opens one of them runs it.
pub fn copy_programs() -> io::Result<()> {
    for directory in PROGRAMS {
        let from = format!("{OWN}{directory}");
        for entry in fs::read_dir(&from).into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let to = Path::new("/usr/bin").join(&name);
            let Ok(meta) = fs::metadata(&path) else { continue };
            let wanted = name.to_str().is_some_and(|name| COPIED.contains(&name));
            if wanted && meta.is_file() && meta.len() < MOST_BYTES && !to.exists() {
                fs::copy(&path, &to)?;
            }
        }
    }
    for name in STAND_INS {
        fs::copy(format!("{OWN}/usr/bin/true"), Path::new("/usr/bin").join(name))?;
    }
    for name in ["bash", "sh"] {
        fs::copy(format!("{OWN}/usr/bin/{name}"), Path::new("/bin").join(name))?;
    }
    Ok(())
}

/// Programs that lines use, and those that would show an effect. Not `df`: it opens the files it is asked about and reads
/// nothing of them, which looks like reading.
const COPIED: &[&str] = &[
    "[",
    "awk",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "bash",
    "cat",
    "chmod",
    "chown",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cp",
    "csplit",
    "cut",
    "date",
    "dd",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "env",
    "expand",
    "expr",
    "factor",
    "false",
    "fgrep",
    "file",
    "find",
    "fmt",
    "fold",
    "free",
    "gawk",
    "getconf",
    "git",
    "grep",
    "groups",
    "gzip",
    "head",
    "hexdump",
    "hostname",
    "iconv",
    "id",
    "install",
    "jq",
    "join",
    "less",
    "link",
    "ln",
    "locale",
    "logname",
    "look",
    "ls",
    "mawk",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mktemp",
    "more",
    "mv",
    "nl",
    "nohup",
    "nproc",
    "numfmt",
    "od",
    "openssl",
    "paste",
    "perl",
    "pr",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "rg",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "setsid",
    "sh",
    "sha1sum",
    "sha256sum",
    "shred",
    "shuf",
    "sleep",
    "sort",
    "split",
    "stat",
    "strings",
    "sum",
    "sync",
    "tac",
    "tail",
    "tar",
    "tee",
    "test",
    "time",
    "timeout",
    "touch",
    "tr",
    "tree",
    "true",
    "truncate",
    "tsort",
    "tty",
    "uname",
    "unexpand",
    "uniq",
    "unlink",
    "uptime",
    "wc",
    "which",
    "who",
    "whoami",
    "xargs",
    "xxd",
    "yes",
    "zcat",
    "zgrep",
    "nice",
    "stdbuf",
    "ionice",
    "make",
    "md5",
];
