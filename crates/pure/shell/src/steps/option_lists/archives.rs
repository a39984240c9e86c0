//! Archives and compression. Not plain: filters and helpers, options that delete what was packed, lists of names with
//! options in them.

use super::{LIST, OptionList, Style};

/// A mode with which a program runs with the rights of its owner: `4755`, `u+s`.
fn lends_rights(text: &str) -> bool {
    let text = text.strip_prefix("-m").or_else(|| text.strip_prefix("--mode=")).unwrap_or(text);
    let digits = text.trim_start_matches('0');
    let octal = digits.len() > 3 && digits.len() < 6 && digits.bytes().all(|b| b.is_ascii_digit());
    let letters = text.contains(['+', '=']) && text.ends_with(['s', 't', 'S']);
    octal || letters || text.contains("+s") || text.contains("=s")
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &["install", "ginstall"],
        plain: "-cCdDpTv -m: -t: --directory --compare --mode= --preserve-timestamps --no-target-directory --target-directory= \
            --verbose --version --help",
        refused: lends_rights,
        ..LIST
    },
    OptionList {
        commands: &["tar", "gtar", "bsdtar"],
        plain: "-cdrtuxAvzjJZahklmnOopRsSUwWi -f: -C: -X: -b: -H: -L: -N: -V: --create --extract --get --list \
            --append --update --diff --compare --concatenate --file= --directory= --verbose --gzip --gunzip --bzip2 \
            --xz --zstd --lzma --lzip --lzop --compress --auto-compress --no-auto-compress --exclude= --exclude-vcs \
            --exclude-vcs-ignores --exclude-backups --exclude-caches --exclude-from= --exclude-tag= \
            --strip-components= --wildcards --no-wildcards --no-recursion --recursion --keep-old-files \
            --skip-old-files --keep-newer-files --overwrite --no-overwrite-dir --unlink-first --recursive-unlink \
            --to-stdout --preserve-permissions --same-permissions --no-same-permissions --same-owner \
            --no-same-owner --owner= --group= --mode= --mtime= --newer= --numeric-owner --sort= --format= --posix \
            --dereference --hard-dereference --one-file-system --totals --checkpoint? \
            --show-transformed-names --test-label --label= --verify --sparse --null --ignore-failed-read --warning= \
            --utc --full-time --one-top-level? --ignore-case --anchored --no-anchored --touch --acls --xattrs \
            --selinux --no-acls --no-xattrs --force-local --version --help",
        ..LIST
    },
    OptionList {
        commands: &["zip"],
        plain: "-rqvjDXyufokl0123456789 -x: -i: -n: -P: -s: --recurse-paths --quiet --verbose --exclude= --include= \
            --update --freshen --junk-paths --symlinks --no-extra --no-dir-entries --version --help",
        ..LIST
    },
    OptionList { commands: &["unzip"], plain: "-oqlvpctjnaLCZzuf1 -d: -x: -P: --help", ..LIST },
    OptionList {
        commands: &["7z", "7za", "7zr", "7zz"],
        style: Style::OneDash,
        plain: "-y -r* -t* -m* -x* -i* -p* -so -slt -bd -bb* -bs* -ao* -o* -v* !-spf* !-sdel !-sfx* !-w* !-si*",
        ..LIST
    },
    OptionList {
        commands: &["gzip", "gunzip", "pigz", "unpigz", "bzip2", "bunzip2", "pbzip2"],
        plain: "-cdfklnNqrtvz123456789 -p: --stdout --to-stdout --decompress --uncompress --compress --force --keep \
            --list --no-name --name --quiet --recursive --test --verbose --fast --best --rsyncable --processes= \
            --version --help",
        ..LIST
    },
    OptionList {
        commands: &["xz", "unxz", "lzma", "unlzma"],
        plain: "-cdfklqtvze0123456789 -T: -F: -C: --stdout --to-stdout --decompress --compress --force --keep --list \
            --quiet --test --verbose --extreme --threads= --memlimit= --format= --check= --no-warn --robot --version \
            --help",
        ..LIST
    },
    OptionList {
        commands: &["zstd", "unzstd", "zstdmt", "lz4", "brotli"],
        plain: "-cdfklqtvz0123456789 -T: -o: -q: --stdout --decompress --compress --force --keep --list --quiet \
            --test --verbose --ultra --long? --fast? --best --threads= --no-progress --check --quality= --version \
            --help",
        ..LIST
    },
    OptionList {
        commands: &["cpio"],
        plain: "-iopdmvtu0 -H: --extract --create --pass-through --list --make-directories --preserve-modification-time \
            --verbose --quiet --null --format= --unconditional --no-absolute-filenames --version --help",
        ..LIST
    },
    OptionList {
        commands: &["split"],
        plain: "-dexu -l: -b: -n: -C: -a: -t: --lines= --bytes= --number= --line-bytes= --numeric-suffixes? \
            --hex-suffixes? --additional-suffix= --suffix-length= --elide-empty-files --separator= --verbose \
            --unbuffered --version --help",
        ..LIST
    },
    OptionList {
        commands: &["csplit"],
        plain: "-ksqz -f: -b: -n: --prefix= --suffix-format= --digits= --keep-files --quiet --silent \
            --elide-empty-files --suppress-matched --version --help",
        ..LIST
    },
    OptionList {
        commands: &["ar", "ranlib"],
        plain: "-rcsqtxdmpuvDU --version --help",
        refused: |text| text.starts_with('@'),
        ..LIST
    },
];
