//! Programs that start the command behind their options, as data.

#[derive(Debug)]
pub(super) struct WrapperProgram {
    pub(super) name: &'static str,
    /// Letters that take no value.
    pub(super) flags: &'static str,
    /// Letters that take one, glued or as the next word.
    pub(super) values: &'static str,
    /// Letters that may take one, but only glued.
    pub(super) glued: &'static str,
    pub(super) long: &'static [&'static str],
    pub(super) long_values: &'static [&'static str],
    /// With a value or without, and if so behind `=`.
    pub(super) long_maybe: &'static [&'static str],
    /// `-10`
    pub(super) count: bool,
    /// Operands before the command.
    pub(super) skip: usize,
    /// `NAME=value` may stand before the command.
    pub(super) assigns: bool,
    /// Letters among those that write a file, set a variable or reach another process: a rule on the name does not vouch.
    pub(super) careful: &'static str,
    /// Why it needs a rule of its own. None: it only hands over.
    pub(super) own: Option<&'static str>,
}

const PLAIN: WrapperProgram = WrapperProgram {
    name: "",
    flags: "",
    values: "",
    glued: "",
    long: &[],
    long_values: &[],
    long_maybe: &[],
    count: false,
    skip: 0,
    assigns: false,
    careful: "",
    own: None,
};

const AS_ANOTHER: Option<&str> = Some("it runs a command as another user");
const ELSEWHERE: Option<&str> = Some("it runs a command in another environment");
const TRACED: Option<&str> = Some("it runs a command and traces it");
const DETACHED: Option<&str> = Some("it runs a command outside this call");

static WRAPPERS: &[WrapperProgram] = &[
    WrapperProgram {
        name: "timeout",
        flags: "vfp",
        values: "ks",
        long: &["foreground", "preserve-status", "verbose"],
        long_values: &["kill-after", "signal"],
        skip: 1,
        ..PLAIN
    },
    WrapperProgram {
        name: "nice",
        values: "n",
        long_values: &["adjustment"],
        count: true,
        ..PLAIN
    },
    WrapperProgram { name: "nohup", ..PLAIN },
    WrapperProgram {
        name: "stdbuf",
        values: "ioe",
        long_values: &["input", "output", "error"],
        ..PLAIN
    },
    WrapperProgram { name: "time", flags: "p", ..PLAIN },
    WrapperProgram {
        name: "ionice",
        flags: "t",
        values: "cn",
        long: &["ignore"],
        long_values: &["class", "classdata"],
        ..PLAIN
    },
    WrapperProgram { name: "command", flags: "p", ..PLAIN },
    WrapperProgram { name: "builtin", ..PLAIN },
    WrapperProgram { name: "exec", ..PLAIN },
    WrapperProgram {
        name: "setsid",
        flags: "cfw",
        long: &["ctty", "fork", "wait"],
        own: DETACHED,
        ..PLAIN
    },
    WrapperProgram { name: "chrt", flags: "abdfior", skip: 1, own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "taskset", flags: "ac", skip: 1, own: ELSEWHERE, ..PLAIN },
    WrapperProgram {
        name: "sudo",
        flags: "AbBEHnPSkK",
        values: "CDghpRrtTuU",
        long: &[
            "askpass",
            "background",
            "bell",
            "preserve-env",
            "set-home",
            "non-interactive",
            "stdin",
        ],
        long_values: &[
            "user",
            "group",
            "chdir",
            "host",
            "prompt",
            "chroot",
            "close-from",
            "preserve-env",
        ],
        assigns: true,
        own: AS_ANOTHER,
        ..PLAIN
    },
    WrapperProgram { name: "doas", flags: "Lns", values: "Cu", own: AS_ANOTHER, ..PLAIN },
    WrapperProgram {
        name: "pkexec",
        long: &["disable-internal-agent", "keep-cwd"],
        long_values: &["user"],
        own: AS_ANOTHER,
        ..PLAIN
    },
    WrapperProgram {
        name: "run0",
        long: &["pty", "pipe"],
        long_values: &[
            "user",
            "group",
            "nice",
            "chdir",
            "setenv",
            "unit",
            "property",
            "description",
        ],
        values: "ugD",
        own: AS_ANOTHER,
        ..PLAIN
    },
    WrapperProgram { name: "setpriv", own: AS_ANOTHER, ..PLAIN },
    WrapperProgram { name: "chroot", skip: 1, own: ELSEWHERE, ..PLAIN },
    WrapperProgram {
        name: "strace",
        flags: "cCdfFhikqrtTvVwxyYzZn",
        values: "abeEIoOpPsSuUX",
        careful: "oEpuU",
        own: TRACED,
        ..PLAIN
    },
    WrapperProgram {
        name: "ltrace",
        flags: "bcCfhiLrStTV",
        values: "aAeFlnopsuwxX",
        careful: "oFlpux",
        own: TRACED,
        ..PLAIN
    },
    WrapperProgram {
        name: "unshare",
        flags: "muinpUCTfrc",
        long: &["mount", "uts", "ipc", "net", "pid", "user", "cgroup", "fork", "map-root-user"],
        own: ELSEWHERE,
        ..PLAIN
    },
    WrapperProgram {
        name: "flock",
        flags: "ensuxoF",
        values: "wE",
        skip: 1,
        own: ELSEWHERE,
        ..PLAIN
    },
    WrapperProgram { name: "setarch", flags: "vR3BFILSTXZ", skip: 1, own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "prlimit", own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "nsenter", own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "systemd-run", own: DETACHED, ..PLAIN },
    WrapperProgram { name: "firejail", own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "bwrap", own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "proot", own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "fakeroot", own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "catchsegv", own: TRACED, ..PLAIN },
    WrapperProgram { name: "valgrind", own: TRACED, ..PLAIN },
    WrapperProgram { name: "unbuffer", own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "chronic", own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "busybox", own: ELSEWHERE, ..PLAIN },
    WrapperProgram { name: "toybox", own: ELSEWHERE, ..PLAIN },
    WrapperProgram {
        name: "parallel",
        flags: "0kuvt",
        values: "jnNLP",
        own: Some("its words come from its input"),
        ..PLAIN
    },
];

pub(super) fn wrapper(name: &str) -> Option<&'static WrapperProgram> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// xargs: the same shape, but never only handing over.
pub(super) static XARGS: WrapperProgram = WrapperProgram {
    name: "xargs",
    flags: "0rtxpo",
    values: "InLPsdaE",
    glued: "iel",
    long: &["null", "no-run-if-empty", "verbose", "exit", "interactive", "open-tty", "show-limits"],
    long_values: &[
        "max-args",
        "max-procs",
        "max-chars",
        "delimiter",
        "arg-file",
        "process-slot-var",
    ],
    long_maybe: &["replace", "eof", "max-lines"],
    own: Some("the words it gives to its command come from its input"),
    ..PLAIN
};

/// time as a program; the word of the shell knows `-p` only.
pub(super) static TIME: WrapperProgram = WrapperProgram {
    name: "time",
    flags: "apqv",
    values: "fo",
    long: &["append", "portability", "quiet", "verbose"],
    long_values: &["format", "output"],
    own: Some("with options it can write what it measures to a file"),
    ..PLAIN
};

/// watch: its words together are the text of a shell.
pub(super) static WATCH: WrapperProgram = WrapperProgram {
    name: "watch",
    flags: "bcCegprtwx",
    values: "nd",
    long: &["beep", "color", "no-title", "errexit", "chgexit", "precise"],
    long_values: &["interval"],
    own: Some("it runs a command again and again"),
    ..PLAIN
};
