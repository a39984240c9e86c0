//! Packets and descriptors over Unix sockets.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// The most descriptors one packet carries.
pub(crate) const MAX_FDS: usize = 6;

/// Two connected packet sockets, close-on-exec and non-blocking.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// Sends one packet, whole or not at all. Never raises SIGPIPE.
pub(crate) fn send(socket: impl AsFd, parts: &[&[u8]], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors for one packet"));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::io::retry_on_intr(|| rustix::net::sendmsg(&socket, &slices, &mut ancillary, flags))?;
    Ok(())
}

/// Receives a small packet without descriptors; zero bytes mean that the other side is gone.
pub(crate) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let mut receive = || {
        rustix::io::retry_on_intr(|| rustix::net::recv(&socket, &mut *buffer, RecvFlags::DONTWAIT))
    };
    let result = match receive() {
        // The other side closed without reading our last packet. The kernel says so once, before
        // it gives us what the other side had sent.
        Err(Errno::CONNRESET) => receive(),
        other => other,
    };
    match result {
        Ok((length, _)) => Ok(length),
        Err(Errno::CONNRESET) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug)]
pub(crate) struct Packet {
    pub length: usize,
    pub fds: Vec<OwnedFd>,
    /// The packet did not fit into the buffer.
    pub truncated: bool,
}

pub(crate) fn receive_with_fds(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Packet> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let result = rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(&socket, &mut [IoSliceMut::new(&mut *buffer)], &mut ancillary, flags)
    });
    let message = match result {
        Ok(message) => message,
        Err(Errno::CONNRESET) => {
            return Ok(Packet { length: 0, fds: Vec::new(), truncated: false });
        }
        Err(error) => return Err(error.into()),
    };
    let fds = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    Ok(Packet { length: message.bytes, fds, truncated: message.flags.contains(ReturnFlags::TRUNC) })
}

/// Whether the other side has gone.
pub(crate) fn is_hung_up(socket: impl AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(&socket, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok()
        && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_before_closing_arrives_although_our_packet_was_not_read() {
        let (ours, theirs) = pair().unwrap();
        send(&theirs, &[b"last words"], &[]).unwrap();
        send(&ours, &[b"order"], &[]).unwrap();
        drop(theirs);
        let mut buffer = [0; 16];
        assert_eq!(receive(&ours, &mut buffer).unwrap(), 10);
        assert_eq!(&buffer[..10], b"last words");
        assert_eq!(receive(&ours, &mut buffer).unwrap(), 0);
    }
}
