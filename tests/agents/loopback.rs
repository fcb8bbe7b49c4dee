//! Loopback in a network namespace of its own, where it is down until somebody brings it up.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// Asks the kernel to set the first link up, which is loopback in every namespace. Where that may not be asked,
/// loopback is up already, and the refusal changes nothing.
pub(crate) fn up() {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const UP: u32 = 1;
    let mut message = vec![];
    message.extend(32u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend([0; 8]); // sequence and port of the asker
    message.extend([0; 4]); // any family, any type
    message.extend(1i32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes()); // which of the flags are meant
    // Without a protocol it is that of routes and links.
    let Ok(socket) = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None) else {
        return;
    };
    if send(&socket, &message, SendFlags::empty()).is_ok() {
        let _ = recv(&socket, &mut [0u8; 1024], RecvFlags::empty());
    }
}
