//! What client and supervisor say to each other. Both are the same build, so there is no
//! compatibility to keep; the greeting still carries a number, for a supervisor program that is
//! not what the caller thinks it is.
//!
//! ```text
//! channel (SEQPACKET, one per run)       supervisor → client   the greeting, once
//!                                        client → supervisor   flags, body; descriptors:
//!                                                              control, output, [script], [input],
//!                                                              [errors], [body]
//!                                        or: the flag, the number of a scope; a socket that the
//!                                            supervisor closes when nothing of the scope is left
//! control (SEQPACKET, one per command)   supervisor → client   Started | Failed, then Exited
//!                                        client → supervisor   one byte per order; closing = kill
//! ```

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;

use crate::command::{Command, MAX_INPUT, MAX_SCRIPT, ProcessLimits};
use crate::error::ExecError;
use crate::limits::Exceeded;

pub(crate) const GREETING: &[u8] = b"ostler-exec 1";

/// Bodies up to this size travel inside the packet, larger ones in a memory file.
pub(crate) const INLINE_BODY: usize = 48 * 1024;

/// Larger requests are refused.
pub(crate) const MAX_BODY: usize = 4 * 1024 * 1024;

/// Flags in the first byte of a request packet.
pub(crate) const WITH_SCRIPT: u8 = 1;
pub(crate) const BODY_IN_FILE: u8 = 2;
pub(crate) const WITH_INPUT: u8 = 4;
pub(crate) const WITH_ERRORS: u8 = 8;
/// Not a command but the question when a scope is empty.
pub(crate) const UNTIL_EMPTY: u8 = 16;

pub(crate) const ORDER_TERMINATE: u8 = b'T';
pub(crate) const ORDER_KILL: u8 = b'K';

const HEADER: usize = 9 * 8;
const NO_LIMIT: u64 = u64::MAX;

/// The number of no scope.
pub(crate) const NO_SCOPE: u64 = 0;

/// What comes with a command from the client as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandOrigin {
    /// Which scope it belongs to.
    pub scope: u64,
    /// The soft limit of open files it starts with, if that is not the one it would inherit.
    pub soft_open_files: Option<u64>,
}

/// A request as the supervisor reads it; the strings lie in the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WireRequest<'a> {
    pub program: &'a CStr,
    pub cwd: &'a CStr,
    /// With the program's own name first.
    pub args: Vec<&'a CStr>,
    pub env: Vec<&'a CStr>,
    pub limits: ProcessLimits,
    pub origin: CommandOrigin,
    /// Its sandbox, packed.
    pub sandbox: Option<&'a [u8]>,
}

/// Checks a command and writes its body: limits, counts, then each string with its NUL, so that
/// the supervisor can point the arguments into the received bytes; then its packed sandbox.
pub(crate) fn encode(
    command: &Command,
    origin: CommandOrigin,
    sandbox: &[u8],
) -> Result<Vec<u8>, ExecError> {
    check(command)?;
    let bytes = size(command) + sandbox.len();
    if bytes > MAX_BODY || command.script.as_ref().is_some_and(|script| script.len() > MAX_SCRIPT) {
        return Err(ExecError::TooLong { bytes });
    }
    let mut body = Vec::with_capacity(bytes);
    let limits = &command.limits;
    for limit in [
        limits.address_space,
        limits.processes,
        limits.open_files,
        limits.file_size,
        limits.memory,
        limits.tasks,
    ] {
        body.extend(limit.unwrap_or(NO_LIMIT).to_ne_bytes());
    }
    body.extend((command.args.len() as u32).to_ne_bytes());
    body.extend((command.env.len() as u32).to_ne_bytes());
    body.extend(origin.scope.to_ne_bytes());
    body.extend(origin.soft_open_files.unwrap_or(NO_LIMIT).to_ne_bytes());
    let mut put = |parts: &[&OsStr]| {
        parts.iter().for_each(|part| body.extend_from_slice(part.as_bytes()));
        body.push(0);
    };
    put(&[command.program.as_os_str()]);
    put(&[command.cwd.as_os_str()]);
    command.args.iter().for_each(|arg| put(&[arg]));
    command.env.iter().for_each(|(name, value)| put(&[name, OsStr::new("="), value]));
    body.extend_from_slice(sandbox);
    Ok(body)
}

fn size(command: &Command) -> usize {
    let args: usize = command.args.iter().map(|arg| arg.len() + 1).sum();
    let env: usize = command.env.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    let paths = command.program.as_os_str().len() + command.cwd.as_os_str().len() + 2;
    let script = command.script.as_ref().map_or(0, Vec::len);
    HEADER + paths + args + env + script
}

fn check(command: &Command) -> Result<(), ExecError> {
    let invalid = |what: String| Err(ExecError::Invalid { what });
    let strings = [command.program.as_os_str(), command.cwd.as_os_str()]
        .into_iter()
        .chain(command.args.iter().map(|arg| arg.as_os_str()))
        .chain(command.env.iter().flat_map(|(name, value)| [name.as_os_str(), value.as_os_str()]));
    if strings.map(OsStr::as_bytes).chain(command.script.as_deref()).any(|text| text.contains(&0)) {
        return invalid("it contains a NUL byte, which no program can receive; remove it".into());
    }
    if let Some(input) = command.input.as_ref().filter(|input| input.len() > MAX_INPUT) {
        let bytes = input.len();
        return invalid(format!("its input has {bytes} bytes, more than {MAX_INPUT}; use a file"));
    }
    if let Some(what) = command.sandbox.as_ref().and_then(|sandbox| sandbox.fault()) {
        return invalid(what);
    }
    if !command.program.is_absolute() {
        return invalid(format!(
            "the program {} is not an absolute path",
            command.program.display()
        ));
    }
    if !command.cwd.is_absolute() {
        return invalid(format!("the directory {} is not an absolute path", command.cwd.display()));
    }
    match command.env.iter().find(|(name, _)| name.is_empty() || name.as_bytes().contains(&b'=')) {
        Some((name, _)) => invalid(format!("{name:?} cannot be the name of a variable")),
        None => Ok(()),
    }
}

pub(crate) fn decode(body: &[u8]) -> Option<WireRequest<'_>> {
    let (header, mut strings) = body.split_at_checked(HEADER)?;
    let number = |index: usize| {
        Some(u64::from_ne_bytes(header.get(index * 8..index * 8 + 8)?.try_into().ok()?))
    };
    let limit = |index| number(index).map(|value| (value != NO_LIMIT).then_some(value));
    let count = |at: usize| Some(u32::from_ne_bytes(header.get(at..at + 4)?.try_into().ok()?));

    let mut next = || {
        let text = CStr::from_bytes_until_nul(strings).ok()?;
        strings = strings.get(text.to_bytes_with_nul().len()..)?;
        Some(text)
    };
    let (program, cwd) = (next()?, next()?);
    let mut args = vec![program];
    for _ in 0..count(48)? {
        args.push(next()?);
    }
    let mut env = Vec::new();
    for _ in 0..count(52)? {
        env.push(next()?);
    }
    let limits = ProcessLimits {
        address_space: limit(0)?,
        processes: limit(1)?,
        open_files: limit(2)?,
        file_size: limit(3)?,
        memory: limit(4)?,
        tasks: limit(5)?,
    };
    let origin = CommandOrigin { scope: number(7)?, soft_open_files: limit(8)? };
    let sandbox = (!strings.is_empty()).then_some(strings);
    Some(WireRequest { program, cwd, args, env, limits, origin, sandbox })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireReport {
    Started { pid: i32 },
    Failed(WireFailure),
    Exited(Exit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WireFailure {
    pub stage: LaunchStage,
    pub errno: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub ended: CommandEnded,
    /// The strongest signal the supervisor sent while the command was running, or 0.
    pub signalled: i32,
    pub exceeded: Option<Exceeded>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandEnded {
    Code(i32),
    Signal(i32),
}

/// Where starting a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum LaunchStage {
    Descriptors = 1,
    Request,
    Fork,
    Group,
    Streams,
    Directory,
    Limits,
    Exec,
    Sandbox,
}

impl LaunchStage {
    const ALL: [LaunchStage; 9] = [
        LaunchStage::Descriptors,
        LaunchStage::Request,
        LaunchStage::Fork,
        LaunchStage::Group,
        LaunchStage::Streams,
        LaunchStage::Directory,
        LaunchStage::Limits,
        LaunchStage::Exec,
        LaunchStage::Sandbox,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            LaunchStage::Descriptors => "receiving its descriptors",
            LaunchStage::Request => "reading the request",
            LaunchStage::Fork => "creating a process",
            LaunchStage::Group => "making a process group",
            LaunchStage::Streams => "connecting its output",
            LaunchStage::Directory => "entering its directory",
            LaunchStage::Limits => "setting its limits",
            LaunchStage::Exec => "executing the program",
            LaunchStage::Sandbox => "applying its sandbox",
        }
    }
}

pub(crate) const REPORT_SIZE: usize = 16;

/// The words that may follow a report of failure in the same packet.
pub(crate) const MAX_WORDS: usize = 2048;

impl WireReport {
    pub(crate) fn encode(self) -> [u8; REPORT_SIZE] {
        let fields = match self {
            WireReport::Started { pid } => [1, pid, 0, 0],
            WireReport::Failed(WireFailure { stage, errno }) => [2, stage as i32, errno, 0],
            WireReport::Exited(Exit { ended, signalled, exceeded }) => {
                let (kind, value) = match ended {
                    CommandEnded::Code(code) => (3, code),
                    CommandEnded::Signal(number) => (4, number),
                };
                [kind, value, signalled, exceeded.map_or(0, |limit| limit as i32)]
            }
        };
        let mut bytes = [0; REPORT_SIZE];
        for (place, field) in bytes.chunks_exact_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_ne_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; REPORT_SIZE] = bytes.try_into().ok()?;
        let field = |at: usize| Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (kind, a, b, c) = (field(0)?, field(4)?, field(8)?, field(12)?);
        let exceeded = Exceeded::ALL.into_iter().find(|limit| *limit as i32 == c);
        match kind {
            1 => Some(WireReport::Started { pid: a }),
            2 => {
                let stage = LaunchStage::ALL.into_iter().find(|stage| *stage as i32 == a)?;
                Some(WireReport::Failed(WireFailure { stage, errno: b }))
            }
            3 => Some(WireReport::Exited(Exit {
                ended: CommandEnded::Code(a),
                signalled: b,
                exceeded,
            })),
            4 => Some(WireReport::Exited(Exit {
                ended: CommandEnded::Signal(a),
                signalled: b,
                exceeded,
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
