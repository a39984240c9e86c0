//! Starts a command inside bubblewrap. Bubblewrap sets up the namespaces and executes this program
//! once more as their first process (see `inner_process`), which starts the command and tells over a
//! pipe what becomes of it. Another pipe is its lifeline: nothing is ever written to it, and when
//! our end closes, however we die, that process ends and everything in its namespace with it.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Mode, OFlags};
use rustix::pipe::PipeFlags;

use super::inner_process::INSIDE;
use super::launch::{Launcher, Setting, Streams};
use super::refusal::LaunchRefusal;
use crate::command::ProcessLimits;
use crate::memory_file;
use crate::sandbox::bubblewrap::{self, Bubble};
use crate::sandbox::pack::Order;
use crate::sandbox::stubs::{HeldStubs, Stubs};
use crate::sys;
use crate::wire::{
    CommandEnded, CommandOrigin, LaunchStage, REPORT_SIZE, WireFailure, WireReport, WireRequest,
};

/// How much bubblewrap can say when it fails.
const WORDS: u64 = 2048;

/// What is needed to start commands inside bubblewrap.
#[derive(Debug, Default)]
pub(super) struct BubbleWrapper {
    /// This program, opened once.
    own_program: Option<OwnedFd>,
    stubs: Stubs,
}

/// What a wrapped command has to tell.
#[derive(Debug)]
pub(super) struct Wrapped {
    pub pipe: OwnedFd,
    /// What bubblewrap itself has said.
    words: OwnedFd,
    /// Held open as long as the command may run.
    _life: OwnedFd,
    pub held: HeldStubs,
    pub started: bool,
    pub ended: Option<CommandEnded>,
}

/// Our ends of what connects us to a wrapped command.
struct WrapperPipes {
    status: OwnedFd,
    words: OwnedFd,
    life: OwnedFd,
}

impl BubbleWrapper {
    pub(super) fn launch(
        &mut self,
        launcher: &mut Launcher,
        body: &[u8],
        request: &WireRequest<'_>,
        order: &Order,
        streams: Streams,
        setting: Setting<'_>,
    ) -> Result<(i32, Wrapped), LaunchRefusal> {
        let found = order
            .bubblewrap
            .as_ref()
            .ok_or_else(|| LaunchRefusal::sandbox("bubblewrap was not looked for"))?;
        let bubble = bubblewrap::prepare(&order.sandbox, found, &mut self.stubs);
        let bubble = bubble.map_err(LaunchRefusal::sandbox)?;
        let program = CString::new(found.program.as_os_str().as_bytes()).unwrap_or_default();
        let result = self.start(launcher, body, request, &program, &bubble, streams, setting);
        match result {
            Ok((pid, pipes)) => {
                let WrapperPipes { status: pipe, words, life: _life } = pipes;
                let held = bubble.held;
                Ok((pid, Wrapped { pipe, words, _life, held, started: false, ended: None }))
            }
            Err(refused) => {
                self.stubs.release(bubble.held);
                Err(refused)
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn start(
        &mut self,
        launcher: &mut Launcher,
        body: &[u8],
        request: &WireRequest<'_>,
        program: &CStr,
        bubble: &Bubble,
        streams: Streams,
        setting: Setting<'_>,
    ) -> Result<(i32, WrapperPipes), LaunchRefusal> {
        let resources =
            |error: io::Error| LaunchRefusal::sandbox(format!("out of descriptors: {error}"));
        let own = self.own_program().map_err(resources)?;
        let plan = memory_file::sealed(body).map_err(resources)?;
        let arguments = memory_file::sealed(&bubble.arguments).map_err(resources)?;
        let words = memory_file::notes(WORDS).map_err(resources)?;
        let pipe = |flags| rustix::pipe::pipe_with(flags).map_err(|error| resources(error.into()));
        let (status, theirs) = pipe(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Only we have this end, so nobody but us can keep the command alive.
        let (watched, life) = pipe(PipeFlags::CLOEXEC)?;
        let errors = streams.errors.as_ref().unwrap_or(&streams.output);
        let script = streams.script.as_ref().map_or(-1, |fd| fd.as_raw_fd());
        let [plan_fd, status_fd, life_fd] = [&plan, &theirs, &watched].map(|fd| fd.as_raw_fd());
        let numbers = [plan_fd, status_fd, life_fd, errors.as_raw_fd(), script];
        let mut keep: Vec<i32> = bubble.roots.iter().map(|root| root.as_raw_fd()).collect();
        keep.extend([own, arguments.as_raw_fd()]);
        keep.extend(numbers.into_iter().filter(|fd| *fd >= 0));
        let args = command_line(program, arguments.as_raw_fd(), own, &numbers);
        let request = WireRequest {
            program,
            cwd: request.cwd,
            args: args.iter().map(CString::as_c_str).collect(),
            env: Vec::new(),
            limits: ProcessLimits::default(),
            origin: CommandOrigin { soft_open_files: None, ..request.origin },
            sandbox: None,
        };
        let input = streams.input;
        let outside = words.try_clone().map_err(resources)?;
        let output = streams.output.try_clone().map_err(resources)?;
        let outer = Streams { output, input, script: None, errors: Some(outside) };
        let setting = Setting { keep: &keep, unblock: false, dies_with_us: false, ..setting };
        // It was there when the layers were looked for. Without it the command must not run, and
        // the reason is not that its own program is missing.
        let gone = |failure: WireFailure| {
            let error = io::Error::from_raw_os_error(failure.errno);
            let program = program.to_string_lossy();
            LaunchRefusal::sandbox(format!(
                "bubblewrap cannot be started any more ({program}: {error}; install it again)"
            ))
        };
        let started = launcher.launch(&request, &outer, setting);
        let pid = started.map_err(|failure| match failure.stage {
            LaunchStage::Exec => gone(failure),
            _ => failure.into(),
        })?;
        Ok((pid, WrapperPipes { status, words, life }))
    }

    pub(super) fn release(&mut self, wrapped: Wrapped) {
        self.stubs.release(wrapped.held);
    }

    fn own_program(&mut self) -> io::Result<i32> {
        if self.own_program.is_none() {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            self.own_program = Some(rustix::fs::open("/proc/self/exe", flags, Mode::empty())?);
        }
        Ok(self.own_program.as_ref().map_or(-1, |fd| fd.as_raw_fd()))
    }
}

/// `bwrap --args N -- /proc/self/fd/N <what made us a supervisor> --inside <descriptors>`
fn command_line(program: &CStr, arguments: i32, own: i32, numbers: &[i32]) -> Vec<CString> {
    let numbers: Vec<_> = numbers.iter().map(i32::to_string).collect();
    let before = ["--args".to_owned(), arguments.to_string(), "--".into()];
    let words = before.into_iter().chain([format!("/proc/self/fd/{own}")]).map(String::into_bytes);
    let words = words.chain(sys::own_words().into_iter().skip(1));
    let words = words.chain([INSIDE.into(), numbers.join(",").into_bytes()]);
    let words = words.map(|word| CString::new(word).unwrap_or_default());
    [program.to_owned()].into_iter().chain(words).collect()
}

impl Wrapped {
    /// The next thing it has told.
    pub(super) fn next(&self) -> Option<WireReport> {
        let mut bytes = [0; REPORT_SIZE];
        match rustix::io::read(&self.pipe, &mut bytes) {
            Ok(count) => WireReport::decode(bytes.get(..count)?),
            Err(_) => None,
        }
    }

    /// What bubblewrap said when it could not do it.
    pub(super) fn words(&self) -> String {
        let mut bytes = vec![0; WORDS as usize];
        let count = rustix::io::pread(&self.words, &mut bytes, 0).unwrap_or(0);
        bytes.truncate(count);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches('\0').trim();
        if text.is_empty() {
            "bwrap ended without an error message".into()
        } else {
            text.to_owned()
        }
    }
}
