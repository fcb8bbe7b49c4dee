//! `postroom mcp`.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::surroundings::{ThisProcess, parent};
use super::{Verb, unit};
use crate::hex;
use crate::hint::Hint;
use crate::mailbox::Dir;
use crate::mcp::{self, Desk, HttpBinding};
use crate::post::Failure;
use crate::random;
use crate::rooms::MAIN;
use crate::session::running;
use crate::surroundings::{Environment, config, sessions};
use crate::view::answer::Listening;

const FOLDER: &str = "mcp";
const TOKEN: &str = "token";

/// Serve the room over the Model Context Protocol
///
/// Uses standard input and output, until the input ends: an agent program starts this itself. With --http it listens on
/// loopback for the room that --room names, and serves clients that have the token; its first line says where, the
/// second names the file with the token.
#[derive(Debug, Args)]
pub(super) struct Mcp {
    /// Listen for HTTP instead, on a free port of loopback if no address is given
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = ANY)]
    http: Option<String>,
    /// Also listen where other machines can reach it; the traffic is not encrypted
    #[arg(long, requires = "http")]
    expose: bool,
    /// A host name by which clients may call this server, besides those of loopback
    #[arg(long, value_name = "NAME", requires = "http")]
    host: Vec<String>,
    /// Make a new token; the old one becomes invalid
    #[arg(long, requires = "http")]
    new_token: bool,
    /// Only print a systemd user unit that keeps `mcp --http` running, at 127.0.0.1:8025 if no address is given
    #[arg(long, conflicts_with = "new_token")]
    unit: bool,
}

/// A free port of loopback.
const ANY: &str = "127.0.0.1:0";

/// The address of a unit: clients are told it once, so it does not change at every start.
const FIXED: &str = "127.0.0.1:8025";

impl Verb for Mcp {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        if (self.http.is_some() || self.unit) && !context.is_room_named() {
            // Its clients can be anywhere, so its working directory says nothing about them.
            let hints = vec![
                Hint::run(&["mcp", "--http"]).in_room(MAIN).into(),
                Hint::run(&["rooms"]).to("lists them").into(),
            ];
            return Err(Fail::Told(Failure::Usage, "--http needs a room: --room NAME".into(), hints));
        }
        // Programs start it as the person has registered it. An agent that starts it has to feed it, which is no plain
        // call that would run outside of a sandbox.
        context.by_settings = true;
        context.must_stay_in_place()?;
        if self.unit {
            return self.print_unit(context);
        }
        // A client of a server is a program.
        let caller = crate::post::Caller { by_agent: true, terminal: false, ..context.caller() };
        let (room, clock) = (context.locate()?, context.clock());
        let failed = |e: std::io::Error| Fail::not_done(format!("the server ended: {e}"), "start it again");
        let Some(address) = &self.http else {
            let mut desk = Desk::for_one(room, caller, clock);
            desk.session_now = Some(|| running::in_process(&sessions(&ThisProcess)?, parent()));
            desk.key = ThisProcess.text(mcp::OPENCODE_KEY);
            return mcp::serve_stdio(desk).map_err(failed);
        };
        let listener = self.listen(address)?;
        let (token, file) = token(self.new_token)?;
        let at = listener.local_addr().map_err(failed)?;
        let url = format!("http://{at}/mcp");
        if context.output.json {
            context.output.json(&Listening { url: &url, token_file: file.display().to_string() });
        } else {
            context.output.line(&format!("url: {url}"));
            context.output.line(&format!("token: in {}", file.display()));
        }
        context.output.flush().map_err(Fail::Output)?;
        let hosts = self.host.iter().cloned().chain(self.expose.then(|| at.ip().to_string())).collect();
        mcp::serve_http(Desk::for_all(room, caller, clock), HttpBinding { listener, token, hosts })
            .map_err(failed)
    }
}

impl Mcp {
    fn print_unit(&self, context: &mut Context) -> Result<(), Fail> {
        let address = self.http.clone().filter(|address| address != ANY).unwrap_or_else(|| FIXED.to_owned());
        let hosts = self.host.iter().flat_map(|host| ["--host".to_owned(), host.clone()]);
        let expose = self.expose.then(|| "--expose".to_owned());
        let arguments: Vec<String> =
            ["--http".to_owned(), address].into_iter().chain(expose).chain(hosts).collect();
        unit::print(context, "mcp", "MCP server", &arguments)
    }

    fn listen(&self, address: &str) -> Result<TcpListener, Fail> {
        // A port alone, or an address alone, is enough.
        let full = match address.parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) if !address.contains(':') => format!("{address}:0"),
            Err(_) => address.to_owned(),
        };
        let wrong = |why: String| Fail::usage(format!("--http {address}: {why}"), "--http 127.0.0.1:8025");
        // No other name is looked up: that would be the C library's work, which a static binary leaves alone.
        let at: Vec<SocketAddr> = match full.strip_prefix("localhost:").map(str::parse::<u16>) {
            Some(Ok(port)) => vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()],
            _ => vec![full.parse().map_err(|_| wrong("not an IP address with a port".to_owned()))?],
        };
        if !self.expose && !at.iter().all(|at| at.ip().is_loopback()) {
            let why = format!("{address} is not loopback: other machines could reach it");
            return Err(Fail::refused(why, "--expose listens there anyway, without encryption"));
        }
        TcpListener::bind(at.as_slice()).map_err(|e| {
            let hint = "--http alone takes a free port";
            Fail::not_done(format!("cannot listen at {address}: {e}"), hint)
        })
    }
}

/// The token, and the file that keeps it between starts. Only this user can read the file.
fn token(anew: bool) -> Result<(String, PathBuf), Fail> {
    let folder = Dir::make(&config(&ThisProcess)?.join(FOLDER))?;
    let path = folder.path().join(TOKEN);
    let kept = folder.read(TOKEN, 1024)?.and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(kept) = kept.map(|text| text.trim().to_owned()).filter(|text| text.len() >= 32 && !anew) {
        return Ok((kept, path));
    }
    let token = hex::of(&[random::bytes(), random::bytes()].concat());
    folder.replace_synced(TOKEN, format!("{token}\n").as_bytes())?;
    folder.sync_parents()?;
    Ok((token, path))
}
