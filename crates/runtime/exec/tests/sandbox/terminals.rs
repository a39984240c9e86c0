//! Terminals and IPC of the user are out of reach of every command.
#![allow(unsafe_code, reason = "the C library's calls for terminals and shared memory")]

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::path::Path;

use crate::bounds::reading;
use crate::ordinary_user;
use crate::world::{World, combinations};

/// A terminal in which a user could be typing.
struct Terminal {
    /// The side of the terminal emulator.
    screen: File,
    name: String,
}

impl Terminal {
    fn open() -> Self {
        // SAFETY: calls with valid arguments; the name is copied before the next call.
        let (fd, name) = unsafe {
            let fd = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_NONBLOCK);
            assert!(fd >= 0 && libc::grantpt(fd) == 0 && libc::unlockpt(fd) == 0);
            (fd, CStr::from_ptr(libc::ptsname(fd)).to_str().unwrap().to_owned())
        };
        // SAFETY: the descriptor is open and nothing else owns it.
        Self { screen: unsafe { File::from_raw_fd(fd) }, name }
    }

    fn shows(&mut self) -> String {
        let mut bytes = [0; 256];
        let count = self.screen.read(&mut bytes).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }
}

#[tokio::test]
async fn another_terminal_of_the_user_is_neither_written_nor_read() {
    let name = "terminals::another_terminal_of_the_user_is_neither_written_nor_read";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    let mut terminal = Terminal::open();
    // Holds it open, as the user's shell would.
    let _shell = File::options().read(true).write(true).open(&terminal.name).unwrap();
    let write = format!("echo spoofed > {} && echo DID-IT", terminal.name);
    let read = format!("read -r x < {} && echo \"DID-IT $x\"", terminal.name);
    let free = world.run(&write, None).await.output.to_text();
    assert!(free.contains("DID-IT") && terminal.shows().contains("spoofed"), "{free}");
    terminal.screen.write_all(b"typed\n").unwrap();
    let free = world.run(&read, None).await.output.to_text();
    assert!(free.contains("DID-IT typed"), "{free}");
    terminal.shows();
    terminal.screen.write_all(b"typed\n").unwrap();
    terminal.shows();
    let mut sandboxes: Vec<_> = combinations(&world)
        .await
        .into_iter()
        .map(|(name, layers)| (name, world.sandbox(layers)))
        .collect();
    sandboxes.push(("reading", reading(&world, Some(&[]))));
    for (name, sandbox) in sandboxes {
        for script in [&write, &read] {
            let text = world.run(script, Some(&sandbox)).await.output.to_text();
            assert!(!text.contains("DID-IT"), "{name}: {text}");
        }
        assert!(!terminal.shows().contains("spoofed"), "{name}");
        let text = world.run("(exec 3<>/dev/tty) && echo DID-IT", Some(&sandbox)).await;
        assert!(!text.output.to_text().contains("DID-IT"), "{name}");
        println!("neither written nor read with {name}");
    }
}

#[tokio::test]
async fn shared_memory_of_the_user_is_out_of_reach() {
    let name = "terminals::shared_memory_of_the_user_is_out_of_reach";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    if !Path::new("/usr/bin/python3").exists() {
        println!("SKIPPED: python3 is not installed");
        return;
    }
    // SAFETY: makes a segment of our own.
    let id = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, 0o600) };
    if id < 0 {
        println!("SKIPPED: this kernel has no shared memory");
        return;
    }
    let script = format!(
        "/usr/bin/python3 -c 'import ctypes; c = ctypes.CDLL(None)
if c.shmctl({id}, 2, ctypes.create_string_buffer(512)) == 0: print(\"DID-IT\")'"
    );
    let free = world.run(&script, None).await.output.to_text();
    let mut reached = Vec::new();
    for (name, layers) in combinations(&world).await {
        let text = world.run(&script, Some(&world.sandbox(layers))).await.output.to_text();
        if text.contains("DID-IT") {
            reached.push(name);
        }
    }
    // SAFETY: removes the segment made above.
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
    assert!(free.contains("DID-IT"), "it fails without a sandbox: {free}");
    assert!(reached.is_empty(), "{reached:?}");
}
