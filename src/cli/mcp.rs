//! `postroom mcp`.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::listening::{ANY, listen, token};
use super::surroundings::{ThisProcess, parent};
use super::{Verb, unit, waker};
use crate::agents::programs;
use crate::hint::Hint;
use crate::mcp::{self, Desk, HttpBinding};
use crate::os;
use crate::post::Failure;
use crate::process::Process;
use crate::process::marked::MARK;
use crate::rooms::MAIN;
use crate::session::running;
use crate::surroundings::{Environment, sessions};
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
        // call that would run outside of a sandbox. A listener needs nothing on its input.
        context.by_settings = self.http.is_none();
        context.must_stay_in_place()?;
        if self.unit {
            return self.print_unit(context);
        }
        // A client of a server is a program.
        let caller = crate::post::Caller { by_agent: true, terminal: false, ..context.caller() };
        let (room, clock) = (context.locate()?, context.clock());
        let failed = |e: std::io::Error| Fail::not_done(format!("the server ended: {e}"), "start it again");
        let Some(address) = &self.http else {
            wake_resumed();
            let mut desk = Desk::for_one(room, caller, clock);
            desk.session_now = Some(|| running::in_process(&sessions(&ThisProcess)?, parent()));
            desk.key = ThisProcess.text(mcp::OPENCODE_KEY);
            return mcp::serve_stdio(desk).map_err(failed);
        };
        let listener = listen("--http", address, self.expose)?;
        let (token, file) = token(FOLDER, TOKEN, self.new_token)?;
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

/// The program that has started this server may go on with a session, which is to be woken.
fn wake_resumed() {
    let above = os::ancestors(MARK).unwrap_or_default().into_iter().next();
    let above = above.filter(|above| os::terminal_of(above.pid).is_some());
    let program = above.as_ref().and_then(|above| programs::find(&above.name));
    let process = above.as_ref().and_then(|above| Process::of(above.pid));
    if let (Some(program), Some(process)) = (program, process) {
        waker::stay_if_resumed(program, process);
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
}
