//! Names of signals, as people write them after `kill -`.

/// The name of a signal without its `SIG` prefix: `SEGV`, `KILL`, `PIPE`.
/// Real-time signals share the name `RT`; a number that is no signal is `UNKNOWN`.
pub fn signal_name(number: i32) -> &'static str {
    match NAMES.iter().find(|(signal, _)| *signal == number) {
        Some((_, name)) => name,
        None if (32..=64).contains(&number) => "RT",
        None => "UNKNOWN",
    }
}

// By constant, not by position: some numbers differ between architectures.
const NAMES: [(i32, &str); 31] = [
    (libc::SIGHUP, "HUP"),
    (libc::SIGINT, "INT"),
    (libc::SIGQUIT, "QUIT"),
    (libc::SIGILL, "ILL"),
    (libc::SIGTRAP, "TRAP"),
    (libc::SIGABRT, "ABRT"),
    (libc::SIGBUS, "BUS"),
    (libc::SIGFPE, "FPE"),
    (libc::SIGKILL, "KILL"),
    (libc::SIGUSR1, "USR1"),
    (libc::SIGSEGV, "SEGV"),
    (libc::SIGUSR2, "USR2"),
    (libc::SIGPIPE, "PIPE"),
    (libc::SIGALRM, "ALRM"),
    (libc::SIGTERM, "TERM"),
    (libc::SIGSTKFLT, "STKFLT"),
    (libc::SIGCHLD, "CHLD"),
    (libc::SIGCONT, "CONT"),
    (libc::SIGSTOP, "STOP"),
    (libc::SIGTSTP, "TSTP"),
    (libc::SIGTTIN, "TTIN"),
    (libc::SIGTTOU, "TTOU"),
    (libc::SIGURG, "URG"),
    (libc::SIGXCPU, "XCPU"),
    (libc::SIGXFSZ, "XFSZ"),
    (libc::SIGVTALRM, "VTALRM"),
    (libc::SIGPROF, "PROF"),
    (libc::SIGWINCH, "WINCH"),
    (libc::SIGIO, "IO"),
    (libc::SIGPWR, "PWR"),
    (libc::SIGSYS, "SYS"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn well_known_signals_have_their_names() {
        let table = [(1, "HUP"), (2, "INT"), (9, "KILL"), (11, "SEGV"), (13, "PIPE"), (15, "TERM")];
        for (number, name) in table {
            assert_eq!(signal_name(number), name);
        }
    }

    #[test]
    fn every_number_has_one_name_and_strangers_are_named_as_such() {
        let names: BTreeSet<_> = (1..=31).map(signal_name).collect();
        assert_eq!(names.len(), 31, "no name stands twice and no standard signal lacks one");
        assert!(!names.contains("UNKNOWN"));
        assert_eq!(signal_name(40), "RT");
        assert_eq!(signal_name(0), "UNKNOWN");
        assert_eq!(signal_name(-9), "UNKNOWN");
        assert_eq!(signal_name(65), "UNKNOWN");
    }
}
