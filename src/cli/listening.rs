//! Where `mcp --http` and `web` listen: on loopback, unless the person exposes it. And the tokens of their clients.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use super::fail::Fail;
use super::surroundings::ThisProcess;
use crate::mailbox::Dir;
use crate::surroundings::config;
use crate::{hex, random};

/// A free port of loopback.
pub(super) const ANY: &str = "127.0.0.1:0";

/// Listens at an address that was given by `flag`: a port, an IP address, or both.
pub(super) fn listen(flag: &str, address: &str, expose: bool) -> Result<TcpListener, Fail> {
    // A port alone, or an address alone, is enough.
    let full = match address.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) if !address.contains(':') => format!("{address}:0"),
        Err(_) => address.to_owned(),
    };
    let wrong =
        |why: String| Fail::usage(format!("{flag} {address}: {why}"), format!("{flag} 127.0.0.1:8025"));
    // No other name is looked up: that would be the C library's work, which a static binary leaves alone.
    let at: Vec<SocketAddr> = match full.strip_prefix("localhost:").map(str::parse::<u16>) {
        Some(Ok(port)) => vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()],
        _ => vec![full.parse().map_err(|_| wrong("not an IP address with a port".to_owned()))?],
    };
    if !expose && !at.iter().all(|at| at.ip().is_loopback()) {
        let why = format!("{address} is not loopback: other machines could reach it");
        return Err(Fail::refused(why, "--expose listens there anyway, without encryption"));
    }
    TcpListener::bind(at.as_slice()).map_err(|e| {
        let hint = format!("{flag} alone takes a free port");
        Fail::not_done(format!("cannot listen at {address}: {e}"), hint)
    })
}

/// A token, and the file of the person's settings that keeps it between starts. Only this user can read the file.
pub(super) fn token(folder: &str, name: &str, anew: bool) -> Result<(String, PathBuf), Fail> {
    let folder = Dir::make(&config(&ThisProcess)?.join(folder))?;
    let path = folder.path().join(name);
    let kept = folder.read(name, 1024)?.and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(kept) = kept.map(|text| text.trim().to_owned()).filter(|text| text.len() >= 32 && !anew) {
        return Ok((kept, path));
    }
    let token = hex::of(&[random::bytes(), random::bytes()].concat());
    folder.replace_synced(name, format!("{token}\n").as_bytes())?;
    folder.sync_parents()?;
    Ok((token, path))
}
