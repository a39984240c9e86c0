//! Which paths are ordinary files, and which patterns are held by a directory.

use super::*;

#[test]
fn special_files() {
    for path in [
        "/dev/zero",
        "/dev/tcp/1.2.3.4/80",
        "//dev//zero",
        "/./dev/zero",
        "/a/../dev/zero",
        "../../dev/zero",
        "/proc/self/environ",
        "/sys/x",
        "a/../../proc/1/mem",
        "/../proc/x",
        "/dev/null/../zero",
        "link/../dev/zero",
    ] {
        assert!(is_special(path), "{path}");
    }
    for path in ["/dev/null", "dev/zero", "src/proc", "/etc/passwd", "../x", "a", ".", "proc"] {
        assert!(!is_special(path), "{path}");
    }
}

#[test]
fn the_root() {
    for path in ["/", "//", "/.", "/a/..", "/../", "/a/b/../.."] {
        assert!(is_root(path), "{path}");
    }
    for path in ["/a", ".", "..", "a", "/a/../b", ""] {
        assert!(!is_root(path), "{path}");
    }
}

#[test]
fn patterns() {
    for pattern in ["src/*.rs", "*.rs", "./*", "a?", "/ws/src/*", "/ws/*"] {
        assert!(glob(pattern).is_ok(), "{pattern}");
    }
    for pattern in [
        "/*",
        "/de*/zero",
        "src/*/../../x",
        "*/..",
        "/dev/*",
        "../../dev/z*",
        "/proc/*/environ",
        "../x/*",
        "../*",
        "/./*",
        "/a/../*",
        "a/../*",
    ] {
        assert!(glob(pattern).is_err(), "{pattern}");
    }
    for (pattern, expected) in [
        ("a*", true),
        ("./*", true),
        ("*a", false),
        ("?", false),
        ("[a]", false),
        ("-*", false),
        ("\\-*", false),
        ("\\*?", true),
    ] {
        assert_eq!(cannot_be_option(pattern), expected, "{pattern}");
    }
}
