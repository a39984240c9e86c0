//! How much memory, how many processes and how large a file a command may have, and what is said when it ran into that.

use super::{ConfineOptions, Confinement};
use ostler_exec::{CommandReport, Exceeded, ExitStatus, ProcessLimits};
use std::path::Path;

const EXCEEDED: &str =
    include_str!("../../../../../prompts/results/limit-exceeded.md").trim_ascii();
const HINT: &str = include_str!("../../../../../prompts/results/limit-hint.md").trim_ascii();
const OUT_OF_MEMORY: &str =
    include_str!("../../../../../prompts/results/out-of-memory-hint.md").trim_ascii();

/// Limits as settings have them. None: the default of this machine; `u64::MAX`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitOptions {
    /// Bytes of a command with everything it starts.
    pub memory: Option<u64>,
    /// Processes and threads, of the same.
    pub processes: Option<u64>,
    /// Bytes of any one file.
    pub file_size: Option<u64>,
}

/// Threads count too, and builds on large machines have many.
const LEAST_PROCESSES: u64 = 4_096;
const PROCESSES_PER_CORE: u64 = 64;

impl LimitOptions {
    /// `at_most` lowers what these and the defaults say.
    pub(super) fn resolve(&self, at_most: &LimitOptions, place: &Path) -> ProcessLimits {
        let one = |said: Option<u64>, at_most: Option<u64>, default: &dyn Fn() -> u64| {
            let limit = said.unwrap_or_else(default).min(at_most.unwrap_or(u64::MAX));
            (limit != u64::MAX).then_some(limit)
        };
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        let processes = || (PROCESSES_PER_CORE * cores).max(LEAST_PROCESSES);
        let file_size = || ostler_exec::default_file_size(place);
        ProcessLimits {
            memory: one(self.memory, at_most.memory, &ostler_exec::default_memory),
            tasks: one(self.processes, at_most.processes, &processes),
            file_size: one(self.file_size, at_most.file_size, &file_size),
            ..ProcessLimits::default()
        }
    }
}

impl Confinement {
    /// Of every command, also of those that run outside; none where the sandbox is off.
    pub fn limits(&self) -> ProcessLimits {
        let ConfineOptions { enabled, limits, limits_at_most, .. } = &self.options;
        if !enabled {
            return ProcessLimits::default();
        }
        *self.limits.get_or_init(|| limits.resolve(limits_at_most, &self.workspace.now().cwd))
    }

    /// Why a command was stopped, if it was for one of its limits.
    pub fn stopped(&self, finished: &CommandReport) -> Option<String> {
        stopped_by_limit(&self.limits(), finished)
    }

    /// Which limit may be behind a failure. `oom_kills` is what [`ostler_exec::oom_kills`] said before the command.
    pub fn limit_hint(&self, finished: &CommandReport, oom_kills: Option<u64>) -> Option<String> {
        limit_behind(&self.limits(), finished, oom_kills)
    }
}

/// See [`Confinement::limit_hint`].
pub(crate) fn limit_behind(
    limits: &ProcessLimits,
    finished: &CommandReport,
    oom_kills: Option<u64>,
) -> Option<String> {
    let more = || ostler_exec::oom_kills().is_some_and(|now| Some(now) > oom_kills);
    hint(limits, finished, &|| oom_kills.is_some() && more())
}

/// Why a command was stopped for one of its limits.
pub(crate) fn stopped_by_limit(limits: &ProcessLimits, finished: &CommandReport) -> Option<String> {
    let (what, key) = match finished.exceeded? {
        Exceeded::Memory => (format!("{} of memory", size(limits.memory?)), "memory"),
        Exceeded::Tasks => (format!("{} processes", limits.tasks?), "processes"),
        Exceeded::TasksRefused => return None,
    };
    Some(EXCEEDED.replace("{what}", &what).replace("{key}", key))
}

/// Which limit may be behind a failure, where only the effect can be seen. `oom`: the kernel killed something meanwhile.
fn hint(
    limits: &ProcessLimits,
    finished: &CommandReport,
    oom: &dyn Fn() -> bool,
) -> Option<String> {
    let said = |what: String, key: &str| Some(HINT.replace("{what}", &what).replace("{key}", key));
    let signal = match finished.status {
        ExitStatus::Signal { number, .. } => number,
        // As shells report the end of what they ran.
        ExitStatus::Code(code) if code > 128 => code - 128,
        ExitStatus::Code(_) => 0,
    };
    let is_signal = |name: &str| signal != 0 && ostler_exec::signal_name(signal) == name;
    if finished.status.success() || finished.timed_out || finished.output_capped {
        return None;
    }
    let text = finished.output.to_text();
    let tells = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if let Some(limit) = limits.file_size
        && (is_signal("XFSZ") || tells(&["File too large", "EFBIG"]))
    {
        return said(format!("a file can be at most {}", size(limit)), "fileSize");
    }
    if let Some(limit) = limits.tasks
        && (finished.exceeded == Some(Exceeded::TasksRefused)
            || (tells(&["Resource temporarily unavailable", "EAGAIN"])
                && tells(&["fork", "clone", "thread", "spawn"]))
            || tells(&["can't start new thread", "unable to create native thread"]))
    {
        return said(format!("no more than {limit} processes and threads may run"), "processes");
    }
    let unasked = is_signal("KILL") && !finished.killed && finished.exceeded.is_none();
    (unasked && oom()).then(|| OUT_OF_MEMORY.to_owned())
}

/// `8 GB`, `1.5 GB`, `512 MB`, in powers of 1024.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KB", "MB", "GB", "TB"];
    let unit = (1..UNITS.len()).rev().find(|unit| bytes >> (10 * unit) > 0).unwrap_or(0);
    let whole = bytes >> (10 * unit);
    let tenths = ((bytes - (whole << (10 * unit))) * 10) >> (10 * unit);
    let fraction = if tenths > 0 { format!(".{tenths}") } else { String::new() };
    format!("{whole}{fraction} {}", UNITS.get(unit).unwrap_or(&"bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_exec::{Capture, signal_name};
    use std::time::Duration;

    fn finished(status: ExitStatus, output: &str, exceeded: Option<Exceeded>) -> CommandReport {
        let mut capture = Capture::new(1_000, 1_000);
        capture.push(output.as_bytes());
        CommandReport {
            status,
            timed_out: false,
            killed: exceeded.is_some(),
            output_capped: false,
            exceeded,
            output: capture.finish(),
            wall: Duration::ZERO,
            errors: None,
        }
    }

    const LIMITS: ProcessLimits = ProcessLimits {
        address_space: None,
        processes: None,
        open_files: None,
        file_size: Some(3 << 29),
        memory: Some(8 << 30),
        tasks: Some(2_048),
    };

    #[test]
    fn sizes_read_as_people_write_them() {
        let texts = [0, 512, 1 << 10, 1_600_000, 8 << 30, 3 << 29, 1 << 40].map(size);
        let expected = ["0 bytes", "512 bytes", "1 KB", "1.5 MB", "8 GB", "1.5 GB", "1 TB"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn what_ran_into_a_limit_is_told_with_the_setting() {
        let kill = ExitStatus::Signal { number: 9, name: signal_name(9) };
        let memory =
            stopped_by_limit(&LIMITS, &finished(kill, "", Some(Exceeded::Memory))).unwrap();
        assert!(memory.starts_with(
            "The command was stopped: it used more than 8 GB of memory (sandbox.limits.memory"
        ));
        let tasks = stopped_by_limit(&LIMITS, &finished(kill, "", Some(Exceeded::Tasks))).unwrap();
        assert!(tasks.contains("more than 2048 processes (sandbox.limits.processes"), "{tasks}");
        assert_eq!(stopped_by_limit(&LIMITS, &finished(kill, "", None)), None);
    }

    #[test]
    fn effects_are_told_as_a_hint() {
        let code = ExitStatus::Code;
        let signal = |number| ExitStatus::Signal { number, name: signal_name(number) };
        let fork = "bash: fork: retry: Resource temporarily unavailable\n";
        for (status, output, expected) in [
            (signal(25), "", Some("at most 1.5 GB")),
            (code(153), "", Some("at most 1.5 GB")),
            (code(1), "OSError: [Errno 27] File too large", Some("sandbox.limits.fileSize")),
            (code(254), fork, Some("no more than 2048 processes")),
            (code(1), "RuntimeError: can't start new thread", Some("sandbox.limits.processes")),
            (code(137), "", Some("ran out of memory")),
            (signal(9), "", Some("ran out of memory")),
            (code(0), fork, None),
            (code(1), "nc: Resource temporarily unavailable", None),
            (code(1), "error: x", None),
            (signal(11), "", None),
        ] {
            let hint = hint(&LIMITS, &finished(status, output, None), &|| true);
            match expected {
                Some(expected) => assert!(hint.unwrap().contains(expected), "{status:?} {output}"),
                None => assert_eq!(hint, None, "{status:?} {output}"),
            }
        }
        let ours = finished(signal(9), "", Some(Exceeded::Memory));
        assert_eq!(hint(&LIMITS, &ours, &|| true), None, "that is told already");
        let other = finished(signal(9), "", None);
        assert_eq!(hint(&LIMITS, &other, &|| false), None, "somebody else has killed it");
        let none = ProcessLimits::default();
        assert_eq!(hint(&none, &finished(signal(25), "", None), &|| true), None);
    }

    #[test]
    fn settings_replace_defaults_and_ceilings_lower_both() {
        let place = Path::new("/");
        let none = LimitOptions::default();
        let machine = none.resolve(&none, place);
        assert!(machine.memory.is_some() && machine.file_size.is_some());
        assert!(machine.tasks >= Some(LEAST_PROCESSES) && machine.address_space.is_none());
        let said = LimitOptions { memory: Some(u64::MAX), processes: Some(100), file_size: None };
        assert_eq!(said.resolve(&none, place).memory, None);
        assert_eq!(said.resolve(&none, place).tasks, Some(100));
        let most = LimitOptions { memory: Some(5), processes: Some(500), file_size: Some(7) };
        let both = said.resolve(&most, place);
        assert_eq!((both.memory, both.tasks, both.file_size), (Some(5), Some(100), Some(7)));
    }
}
