//! How a command ended, in words.

use ostler_exec::{CommandReport, ExitStatus, signal_name};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Debug, PartialEq)]
pub struct CommandSummary {
    /// Said before the output, unless the command simply succeeded.
    pub ending: Option<String>,
    pub body: String,
    pub is_error: bool,
    pub detail: Value,
    /// What the harness did or refused, behind the output.
    pub notes: Vec<String>,
}

impl CommandSummary {
    /// `one_is_an_answer`: exit code 1 means "nothing found" or "they differ", not a failure.
    pub fn of(finished: &CommandReport, limit: Duration, one_is_an_answer: bool) -> CommandSummary {
        let (ending, is_error) = match finished.status {
            _ if finished.timed_out => {
                (Some(format!("Timed out after {} and was stopped.", time(limit))), true)
            }
            _ if finished.output_capped => {
                (Some("Stopped because it wrote more than 1 GB of output.".into()), true)
            }
            ExitStatus::Code(0) => (None, false),
            ExitStatus::Code(1) if one_is_an_answer => (None, false),
            ExitStatus::Code(code) => (Some(exit(code)), true),
            ExitStatus::Signal { name, .. } => (Some(format!("Killed by {}", signal(name))), true),
        };
        let mut body = finished.output.to_text();
        body.truncate(body.trim_end_matches(['\n', '\r']).len());
        if body.is_empty() {
            let one = finished.status == ExitStatus::Code(1) && one_is_an_answer;
            body = if one { "(no output, exit code 1)".into() } else { "(no output)".into() };
        } else if body.contains('\u{fffd}') {
            body.push_str("\n[Bytes that are not valid UTF-8 are shown as \u{fffd}.]");
        }
        let code = match finished.status {
            ExitStatus::Code(code) => Some(code),
            ExitStatus::Signal { .. } => None,
        };
        let detail = json!({
            "exit_code": code,
            "timed_out": finished.timed_out,
            "bytes": finished.output.total(),
            "ms": u64::try_from(finished.wall.as_millis()).unwrap_or(u64::MAX),
        });
        CommandSummary { ending, body, is_error, detail, notes: Vec::new() }
    }
}

/// A shell tells the signal that ended its command by a number above 128.
fn exit(code: i32) -> String {
    match code {
        129..=159 => format!("Exit code {code} (as of {})", signal(signal_name(code - 128))),
        _ => format!("Exit code {code}"),
    }
}

fn signal(name: &str) -> String {
    if name.starts_with("SIG") { name.to_owned() } else { format!("SIG{name}") }
}

fn time(limit: Duration) -> String {
    match limit.as_millis() {
        millis if millis % 1_000 == 0 => format!("{} s", limit.as_secs()),
        millis => format!("{millis} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_exec::Capture;

    fn finished(status: ExitStatus, output: &[u8]) -> CommandReport {
        let mut capture = Capture::new(1_000, 1_000);
        capture.push(output);
        CommandReport {
            status,
            timed_out: false,
            killed: false,
            output_capped: false,
            exceeded: None,
            output: capture.finish(),
            wall: Duration::ZERO,
            errors: None,
        }
    }

    /// What the model reads, and whether it is an error.
    fn read(finished: &CommandReport, one_is_an_answer: bool) -> (String, bool) {
        let report = CommandSummary::of(finished, Duration::from_secs(2), one_is_an_answer);
        let ending = report.ending.map(|line| line + "\n").unwrap_or_default();
        (ending + &report.body, report.is_error)
    }

    #[test]
    fn endings() {
        let segv = ExitStatus::Signal { number: 11, name: signal_name(11) };
        for (status, output, one_is_an_answer, expected, is_error) in [
            (ExitStatus::Code(0), "hi\n\n", false, "hi", false),
            (ExitStatus::Code(0), "", false, "(no output)", false),
            (ExitStatus::Code(0), "\n\n", false, "(no output)", false),
            (ExitStatus::Code(0), "\n  x \n", false, "\n  x ", false),
            (ExitStatus::Code(2), "", false, "Exit code 2\n(no output)", true),
            (ExitStatus::Code(2), "oh\n", true, "Exit code 2\noh", true),
            (ExitStatus::Code(1), "", false, "Exit code 1\n(no output)", true),
            (ExitStatus::Code(1), "", true, "(no output, exit code 1)", false),
            (ExitStatus::Code(1), "diff\n", true, "diff", false),
            (ExitStatus::Code(139), "", false, "Exit code 139 (as of SIGSEGV)\n(no output)", true),
            (ExitStatus::Code(255), "", false, "Exit code 255\n(no output)", true),
            (segv, "before\n", false, "Killed by SIGSEGV\nbefore", true),
        ] {
            let got = read(&finished(status, output.as_bytes()), one_is_an_answer);
            assert_eq!(got, (expected.into(), is_error), "{status:?} {output:?}");
        }
    }

    #[test]
    fn a_time_limit_keeps_what_was_written() {
        let term = ExitStatus::Signal { number: 15, name: signal_name(15) };
        let late = CommandReport { timed_out: true, killed: true, ..finished(term, b"partial\n") };
        assert_eq!(
            read(&late, false),
            ("Timed out after 2 s and was stopped.\npartial".into(), true)
        );
        // A command that answers the signal with an ordinary exit is late all the same.
        let trapped =
            CommandReport { timed_out: true, killed: true, ..finished(ExitStatus::Code(1), b"") };
        assert!(read(&trapped, true).1);
        assert_eq!(time(Duration::from_millis(1_500)), "1500 ms");
    }

    #[test]
    fn odd_bytes_are_told() {
        let (text, _) = read(&finished(ExitStatus::Code(0), b"a\xff\0b\n"), false);
        assert_eq!(
            text,
            "a\u{fffd}\u{2400}b\n[Bytes that are not valid UTF-8 are shown as \u{fffd}.]"
        );
    }
}
