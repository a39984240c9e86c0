//! A command as bytes, for another process of this program that is to start it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::command::Command;
use crate::descriptors;
use crate::error::ExecError;
use crate::sandbox::Sandbox;
use crate::sandbox::pack::{self, Order};
use crate::wire::{self, CommandOrigin, NO_SCOPE};

const LENGTH: usize = size_of::<u64>();

impl Command {
    /// What it runs, where and within which limits and sandbox. Its input, its time limit and the limits of its output
    /// are left to whoever starts it.
    ///
    /// # Errors
    /// If it could not be started, either.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ExecError> {
        let pack = |sandbox: &Arc<Sandbox>| {
            pack::pack(&Order { sandbox: sandbox.as_ref().clone(), bubblewrap: None })
        };
        let sandbox = self.sandbox.as_ref().map(pack).unwrap_or_default();
        let soft_open_files = descriptors::limit_of_commands();
        let body =
            wire::encode(self, CommandOrigin { scope: NO_SCOPE, soft_open_files }, &sandbox)?;
        let mut bytes = (body.len() as u64).to_ne_bytes().to_vec();
        bytes.extend_from_slice(&body);
        if let Some(script) = &self.script {
            bytes.extend_from_slice(script);
        }
        Ok(bytes)
    }

    /// None if [`Command::to_bytes`] of the same build did not write them. From then on, commands of this process start
    /// with the limit of open files that those of the writer had.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
        let length = usize::try_from(u64::from_ne_bytes(*length)).ok()?;
        let (body, script) = rest.split_at_checked(length)?;
        let request = wire::decode(body)?;
        let text = |text: &std::ffi::CStr| OsStr::from_bytes(text.to_bytes()).to_owned();
        let variable = |pair: &&std::ffi::CStr| {
            let at = pair.to_bytes().iter().position(|byte| *byte == b'=')?;
            let (name, value) = pair.to_bytes().split_at_checked(at)?;
            let part = |bytes: &[u8]| OsString::from(OsStr::from_bytes(bytes));
            Some((part(name), part(value.get(1..)?)))
        };
        let path = |words: &std::ffi::CStr| PathBuf::from(text(words));
        let mut command = Command::new(path(request.program), path(request.cwd));
        // The first is the program itself.
        command.args = request.args.iter().skip(1).map(|words| text(words)).collect();
        command.env = request.env.iter().map(variable).collect::<Option<_>>()?;
        command.limits = request.limits;
        if let Some(packed) = request.sandbox {
            command.sandbox = Some(Arc::new(pack::unpack(packed)?.sandbox));
        }
        command.script = (!script.is_empty()).then(|| script.to_owned());
        request.origin.soft_open_files.into_iter().for_each(descriptors::start_commands_with);
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{ProcessLimits, bash};
    use crate::sandbox::Layers;

    fn command(script: &str) -> Command {
        let env = vec![("A".into(), "x=y".into()), ("EMPTY".into(), "".into())];
        let mut command = bash(script, "/work", env);
        command.limits = ProcessLimits { memory: Some(5), tasks: Some(7), ..Default::default() };
        command.sandbox = Some(Arc::new(Sandbox {
            writable: vec!["/work".into()],
            readable: Vec::new(),
            homes: vec!["/home".into()],
            hidden: vec!["/home/secret".into()],
            frozen: vec!["/work/.git/hooks".into()],
            temp: "/tmp/x".into(),
            network: false,
            layers: Layers { landlock: true, seccomp: true, bubblewrap: true },
            bounds: None,
        }));
        command
    }

    #[test]
    fn a_command_arrives_as_it_was_sent() {
        for script in ["echo 1", &":;".repeat(100_000)] {
            let sent = command(script);
            let bytes = sent.to_bytes().unwrap();
            let arrived = Command::from_bytes(&bytes).unwrap();
            assert_eq!(format!("{arrived:?}"), format!("{sent:?}"));
            assert!(Command::from_bytes(&bytes[..LENGTH + 20]).is_none());
        }
        let mut plain = command("true");
        plain.sandbox = None;
        let arrived = Command::from_bytes(&plain.to_bytes().unwrap()).unwrap();
        assert!(arrived.sandbox.is_none());
    }
}
