//! Files in memory, by which large or private bytes travel between processes.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

const FLAGS: MemfdFlags = MemfdFlags::CLOEXEC.union(MemfdFlags::ALLOW_SEALING);

/// A file that nobody can change any more, to be read from its beginning.
pub(crate) fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("ostler-exec", FLAGS)?);
    file.write_all(bytes)?;
    file.rewind()?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// A file to write a few words to, which cannot grow beyond `size`.
pub(crate) fn notes(size: u64) -> io::Result<OwnedFd> {
    let file = memfd_create("ostler-exec", FLAGS)?;
    rustix::fs::ftruncate(&file, size)?;
    fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}
