//! Runs one line as the product would, within bounds, and leaves no process behind.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, kill_process, pidfd_open, setrlimit,
    wait,
};
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A line that runs longer is endless.
const TIME: Duration = Duration::from_millis(1500);
/// A line that writes more is endless, too.
const OUTPUT: usize = 2 << 20;
/// For every process: bytes of memory, bytes in a file.
const MEMORY: u64 = 1 << 30;
const FILE: u64 = 8 << 20;
const PROCESSES: u64 = 96;

#[derive(Debug, Default)]
pub struct LineRun {
    pub output: Vec<u8>,
    pub endless: bool,
    /// A process outlived the line and did not end by itself.
    pub left_behind: bool,
}

/// Holds for this process and everything it starts.
pub fn limit() -> io::Result<()> {
    for (resource, limit) in [
        (Resource::As, MEMORY),
        (Resource::Fsize, FILE),
        (Resource::Nproc, PROCESSES),
        (Resource::Core, 0),
    ] {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}

pub fn run(script: &str, cwd: &str, environment: &[(String, String)]) -> io::Result<LineRun> {
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new("/bin/bash");
    command.args(["--norc", "--noprofile", "-c", "--", script]).current_dir(cwd).env_clear();
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    let mut child = command.spawn()?;
    drop(command);
    let deadline = Instant::now() + TIME;
    let mut ran = LineRun { endless: true, ..LineRun::default() };
    if follow(&mut child, &mut reader, deadline, &mut ran)? {
        ran.endless = false;
        child.wait()?;
        ran.left_behind |= !ended(deadline)?;
    }
    let text = String::from_utf8_lossy(&ran.output);
    ran.endless |= text.contains("cannot allocate") || text.contains("failed to allocate");
    clear()?;
    Ok(ran)
}

/// Reads until the shell has ended and everyone has closed the output. False: beyond the limits.
fn follow(
    child: &mut Child,
    reader: &mut io::PipeReader,
    deadline: Instant,
    ran: &mut LineRun,
) -> io::Result<bool> {
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let Some(number) = number else { return Ok(false) };
    let process = pidfd_open(number, PidfdFlags::empty())?;
    let (mut open, mut alive, mut buffer) = (true, true, [0; 16 << 10]);
    while open || alive {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(timeout) = Timespec::try_from(left) else { return Ok(false) };
        let mut descriptors = Vec::with_capacity(2);
        if alive {
            descriptors.push(PollFd::new(&process, PollFlags::IN));
        }
        if open {
            descriptors.push(PollFd::new(reader, PollFlags::IN));
        }
        match poll(&mut descriptors, Some(&timeout)) {
            // A process that keeps the output is told from a shell that runs on.
            Ok(0) if !alive => {
                ran.left_behind = true;
                return Ok(true);
            }
            Ok(0) => return Ok(false),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = descriptors.iter().map(|one| !one.revents().is_empty()).collect();
        let of_process = alive && ready.first() == Some(&true);
        let of_output = open && ready.last() == Some(&true);
        alive &= !of_process;
        if of_output {
            let count = reader.read(&mut buffer)?;
            open = count > 0;
            ran.output.extend_from_slice(buffer.get(..count).unwrap_or_default());
            if ran.output.len() > OUTPUT {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Waits for processes that were left to us, for as long as the line had.
fn ended(deadline: Instant) -> io::Result<bool> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() > deadline => return Ok(false),
            Ok(None) => std::thread::sleep(Duration::from_micros(500)),
            Err(Errno::CHILD) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends every other process of the namespace.
fn clear() -> io::Result<()> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return Ok(()),
            Ok(Some(_)) => continue,
            _ => {}
        }
        for entry in fs::read_dir("/proc")?.flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
            if let Some(process) = number.filter(|number| *number > 1).and_then(Pid::from_raw) {
                let _ = kill_process(process, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}
