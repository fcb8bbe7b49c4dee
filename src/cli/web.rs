//! `postroom web`.

use std::net::TcpListener;

use clap::Args;

use super::context::Context;
use super::desk::desk;
use super::fail::Fail;
use super::listening::{ANY, listen, token};
use super::output::{Output, note};
use super::surroundings::on_path;
use super::{Verb, terminal};
use crate::person;
use crate::view::answer::Page;
use crate::web::{Codes, Name, Web};

/// The token of scrapers, below the person's settings.
const FOLDER: &str = "web";
const METRICS_TOKEN: &str = "metrics-token";

/// Where bookmarks and scrapers find the page again.
const USUAL: &str = "127.0.0.1:8026";

/// Show the room in a browser, and act there
///
/// Prints an address with a code that is good once; press Enter for another. It listens on loopback alone. Started by a
/// person at a terminal, the page also acts: it answers, approves, stops and retries. Started otherwise, it only shows, and
/// prints another code by itself when one was used.
#[derive(Debug, Args)]
pub(super) struct WebPage {
    /// Where to listen: a port, an IP address, or both [default: port 8026 of loopback, or a free one if that is taken]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Open the page in the browser; the code is typed there
    #[arg(long)]
    open: bool,
    /// Also listen where other machines can reach it; the traffic is not encrypted
    #[arg(long)]
    expose: bool,
    /// By what browsers may call this server, besides the names of loopback: a host name, or the origin of a proxy with TLS
    /// such as https://postroom.example
    #[arg(long, value_name = "NAME")]
    host: Vec<Name>,
}

impl Verb for WebPage {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let located = context.locate()?;
        context.must_stay_in_place()?;
        // Fails now, and not in the browser, if there is no room.
        context.post_for_now()?;
        let by_agent = context.surroundings.by_agent;
        let person = person::at_hand(by_agent, "web", terminal::typed);
        let listener = match &self.listen {
            Some(address) => listen("--listen", address, self.expose)?,
            None => listen("--listen", USUAL, false).or_else(|_| elsewhere())?,
        };
        let failed = |e: std::io::Error| Fail::not_done(format!("the server ended: {e}"), "start it again");
        let at = listener.local_addr().map_err(failed)?;
        let person_here = person.as_ref().ok().cloned();
        let desk = desk(context, located, person_here)?;
        if at.ip().is_unspecified() && self.host.is_empty() {
            let why = format!("{} is every address of this machine, and browsers call it by one", at.ip());
            return Err(Fail::usage(
                why,
                "--host NAME says by which: a host name, an address, or https://NAME",
            ));
        }
        let names: Vec<Name> =
            self.host.iter().cloned().chain(self.expose.then(|| Name::of(at.ip()))).collect();
        let mut web = Web::new(desk, listener, &names).map_err(failed)?;
        // A page that cannot write the person's settings has no figures, and shows everything else.
        let scrapers = match token(FOLDER, METRICS_TOKEN, false) {
            Ok((token, file)) => {
                web.admit_scrapers(&token);
                Some(file.display().to_string())
            }
            Err(Fail::Post(e)) => {
                note(&format!("postroom: there is no /metrics: {e}"));
                None
            }
            Err(e) => return Err(e),
        };
        if self.expose {
            note("postroom: other machines can reach this page, and the traffic is not encrypted");
        }
        // A proxy has its own address, and `0.0.0.0` is none; everywhere else the address at which it listens is the surest.
        let is_better = |name: &&Name| matches!(name, Name::Origin(_)) || at.ip().is_unspecified();
        let name = self.host.iter().find(is_better).cloned().unwrap_or_else(|| Name::of(at.ip()));
        let (url, codes) = (name.origin(at.port()).url(), web.codes());
        let shown = address(&url, &codes);
        match &person {
            Ok(_) => {
                tell(&mut context.output, &Page { url: &url, open: None, metrics_token_file: scrapers })?;
                terminal::tell(&format!("open {shown}\npress Enter for another code, Ctrl-C to end\n"));
                if self.open {
                    // Not with the code: every process of this user sees the arguments of another.
                    open(&format!("{url}/enter"));
                }
                std::thread::spawn(move || {
                    while terminal::line().is_some() {
                        terminal::tell(&format!("open {}\n", address(&url, &codes)));
                    }
                });
            }
            Err(why) => {
                note(&format!("postroom: the page is for looking only: {why}"));
                let open = Some(shown.as_str());
                tell(&mut context.output, &Page { url: &url, open, metrics_token_file: scrapers })?;
                let mut output = Output::new(context.output.json, context.output.quiet);
                std::thread::spawn(move || {
                    loop {
                        codes.wait_until_used();
                        let open = address(&url, &codes);
                        let page = Page { url: &url, open: Some(&open), metrics_token_file: None };
                        // Nobody reads it any more.
                        if tell(&mut output, &page).is_err() {
                            return;
                        }
                    }
                });
            }
        }
        web.serve().map_err(failed)
    }
}

/// Says where the page is; with the code only if that is good for nothing but looking.
fn tell(output: &mut Output, page: &Page<'_>) -> Result<(), Fail> {
    let Page { url, open, metrics_token_file } = page;
    match output.json {
        true => output.json(page),
        false => {
            output.line(&format!("url: {url}/"));
            open.iter().for_each(|open| output.line(&format!("open: {open}")));
            if let Some(file) = metrics_token_file {
                output.line(&format!("metrics: {url}/metrics, token in {file}"));
            }
        }
    }
    output.flush().map_err(Fail::Output)
}

/// At another port than the one that bookmarks and scrapers know.
fn elsewhere() -> Result<TcpListener, Fail> {
    let listener = listen("--listen", ANY, false)?;
    note(&format!("postroom: {USUAL} is taken, so bookmarks do not lead to this page"));
    Ok(listener)
}

/// The address with a new code, which is behind the `#`: no server and no log ever sees that.
fn address(url: &str, codes: &Codes) -> String {
    format!("{url}/enter#{}", codes.next())
}

/// Opens an address in the browser of the person.
fn open(address: &str) {
    let started = ["xdg-open", "open"].iter().find_map(|program| on_path(program)).map(|program| {
        let null = std::process::Stdio::null;
        std::process::Command::new(program).arg(address).stdin(null()).stdout(null()).stderr(null()).spawn()
    });
    if !matches!(started, Some(Ok(_))) {
        note("postroom: no browser could be opened; open the address yourself");
    }
}
