//! `postroom courier`: mail between machines.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::surroundings::ThisProcess;
use super::{Verb, courier_accept, courier_shown, unit};
use crate::courier::{self, Courier, CourierStatus, Credentials, Member, Members, Secret, ServerUrl, Stop};
use crate::hint::Hint;
use crate::mailbox::Dir;
use crate::message::visible;
use crate::network::{self, Joined, NetworkName};
use crate::post::{Failure, Post};
use crate::surroundings::config;
use crate::view::courier::{CourierCarried, CourierJoined, CourierSaid};

/// The longest file of credentials.
const LIMIT: u64 = 1024 * 1024;

/// Carry mail between machines, over a NATS server
///
/// A room joins a network under a name, and its mailboxes can then be written to from other machines as NAME@ROOM. Mail waits
/// here while the server, the network or the other machine is away. Without a word: status.
#[derive(Debug, Args)]
pub(super) struct CourierOf {
    /// Without one: status
    #[command(subcommand)]
    what: Option<What>,
    /// Only print a systemd user unit that keeps `courier run` running here
    #[arg(long)]
    unit: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make this room known on a network
    Join(Box<Join>),
    /// Carry mail both ways until it is stopped
    Run,
    /// Carry what there is, both ways, and end
    Once,
    /// Rooms, what waits, the last contact, and what was refused
    Status,
    /// Let mail of another room in; only a person at a terminal can
    ///
    /// Shows the fingerprint of its key. Compare it with what `postroom courier status` shows in that room.
    Accept {
        // Not `room`: that is the option `--room` of every command.
        #[arg(value_name = "ROOM")]
        peer: String,
        /// Do not ask; still needs a terminal
        #[arg(long, conflicts_with = "revoke")]
        yes: bool,
        /// Withdraw it: mail of the room waits again until a person accepts it, and none is sent there
        #[arg(long)]
        revoke: bool,
    },
    /// Send again what has no receipt, after a server lost it
    Reconcile,
    /// Leave the network; mail that waits stays here
    Leave,
}

#[derive(Debug, Args)]
struct Join {
    /// The server: nats://HOST[:PORT] or tls://HOST[:PORT]
    url: String,
    /// The network: letters and digits
    #[arg(long, value_name = "NAME")]
    network: String,
    /// The name of this room there; default: its name here
    #[arg(long, value_name = "ROOM")]
    room_as: Option<String>,
    /// A credentials file of the server (.creds)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nkey", "user_file"])]
    creds: Option<PathBuf>,
    /// A file with an nkey seed
    #[arg(long, value_name = "FILE", conflicts_with = "user_file")]
    nkey: Option<PathBuf>,
    /// A file with a user in the first line and a password in the second
    #[arg(long, value_name = "FILE")]
    user_file: Option<PathBuf>,
    /// The authority that signed the certificate of the server (PEM)
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// A client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Where the server shows its configuration: http://HOST:PORT of its monitoring port
    #[arg(long, value_name = "URL")]
    monitor: Option<String>,
}

impl Verb for CourierOf {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        if self.unit {
            context.post_for_now()?;
            return unit::print(context, "courier", "courier", &["run".to_owned()]);
        }
        match self.what.unwrap_or(What::Status) {
            What::Join(join) => join.run(context),
            What::Run => run(context),
            What::Once => once(context),
            What::Status => {
                let (post, member) = joined(context)?;
                let status = CourierStatus::of(post, &member).map_err(fail)?;
                courier_shown::show(context, &member, &status);
                Ok(())
            }
            What::Accept { peer, revoke: true, .. } => courier_accept::revoke(context, &peer),
            What::Accept { peer, yes, .. } => courier_accept::accept(context, &peer, yes),
            What::Reconcile => reconcile(context),
            What::Leave => leave(context),
        }
    }
}

fn members() -> Result<Members, Fail> {
    Ok(Members::new(&config(&ThisProcess)?))
}

/// The room and its membership.
pub(super) fn joined(context: &mut Context) -> Result<(&'static Post, Member), Fail> {
    let post = context.post()?;
    let member = members()?.of(post.room().path()).map_err(fail)?;
    let is_joined = Joined::of(post.room().path())?.is_some();
    match member.filter(|_| is_joined) {
        Some(member) => Ok((post, member)),
        None => Err(fail(courier::Error::NotJoined)),
    }
}

fn courier_of(context: &Context, post: &Post, member: Member) -> courier::Result<Courier> {
    // The mail of others is not a step of the run in which somebody started the courier.
    let apart = crate::post::Caller { hops: None, thread: None, step_sent: None, ..context.caller() };
    let caller = crate::post::Caller { flag: None, environment: None, session: None, ..apart };
    Courier::new(post.room().path().to_owned(), caller, context.clock(), member)
}

/// Hears the names of the network once. A courier that runs hears them by itself.
pub(super) fn greet(context: &mut Context, post: &Post) -> Result<(), Fail> {
    let Some(member) = members()?.of(post.room().path()).map_err(fail)? else { return Ok(()) };
    match courier_of(context, post, member) {
        Err(courier::Error::Running) => Ok(()),
        courier => courier.and_then(|courier| courier.greet()).map_err(fail),
    }
}

impl Join {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        context.must_not_be_in_session("courier join")?;
        let post = context.post()?;
        let root = post.room().path().to_owned();
        let wrong = |flag: &str, text: &str, why: String| {
            Fail::usage(
                format!("{flag} {}: {why}", visible::clip(text, 80)),
                "letters and digits; for a room also `-` and `_`",
            )
        };
        ServerUrl::parse(&self.url).map_err(fail)?;
        let network = NetworkName::parse(&self.network)
            .map_err(|e| wrong("--network", &self.network, e.to_string()))?;
        let name = self.room_as.clone().or_else(|| context.room.clone()).ok_or_else(|| {
            Fail::usage("this room has no name of its own", "give it one for the network: --room-as ROOM")
        })?;
        let room = network::network_room(&name).map_err(|e| wrong("--room-as", &name, e.to_string()))?;
        if let Some(before) = Joined::of(&root)?
            && (before.network != network || before.room() != room.as_str())
        {
            let why = format!("this room is {} on the network {}", before.room(), before.network);
            return Err(Fail::refused(why, Hint::run(&["courier", "leave"]).to("leaves it first")));
        }
        let credentials = self.credentials()?;
        let members = members()?;
        let is_again = Joined::of(&root)?.is_some() && members.of(&root).map_err(fail)?.is_some();
        let member = members
            .try_out(&root, (&network, &room), (&self.url, self.monitor.clone()), &credentials)
            .map_err(fail)?;
        Joined::new(network.clone(), &room).keep(post.room().root())?;
        let fingerprint = member.key.public().fingerprint();
        let greeted = courier_of(context, post, member).and_then(|courier| courier.greet()).map_err(fail);
        match &greeted {
            // What worked before stays.
            Err(_) if is_again => members.drop_tried(&root).map_err(fail)?,
            Err(Fail::Told(Failure::Refused, ..)) => {
                members.drop_tried(&root).map_err(fail)?;
                Joined::forget(post.room().root())?;
            }
            // Mail waits until the server is there.
            Ok(()) | Err(_) => members.keep_tried(&root).map_err(fail)?,
        }
        greeted?;
        context.done = true;
        let rooms: Vec<String> = network::peers(&root, &network)?.iter().map(ToString::to_string).collect();
        let others = match rooms.is_empty() {
            true => "no other room is there yet".to_owned(),
            false => format!("other rooms: {}", rooms.join(", ")),
        };
        let lines = [
            format!("joined {network} as {room}; {others}"),
            format!("fingerprint: {fingerprint}"),
            format!(
                "next: {}",
                context.hint(Hint::run(&["courier", "run"]).to("carries mail until it is stopped"))
            ),
        ];
        let said = CourierJoined { network: network.as_str(), room: room.as_str(), fingerprint, rooms };
        context.output.receipt(&said, lines);
        Ok(())
    }

    fn credentials(&self) -> Result<Credentials, Fail> {
        let files = [
            (Secret::Creds, &self.creds),
            (Secret::Nkey, &self.nkey),
            (Secret::User, &self.user_file),
            (Secret::Ca, &self.ca),
            (Secret::Certificate, &self.cert),
            (Secret::PrivateKey, &self.key),
        ];
        let read = |path: &Path| Ok::<_, Fail>(crate::mailbox::disk::read_source(path, LIMIT)?);
        let given = files.into_iter().filter_map(|(secret, file)| Some((secret, file.as_ref()?)));
        given.map(|(secret, file)| Ok((secret, read(file)?))).collect()
    }
}

fn run(context: &mut Context) -> Result<(), Fail> {
    let (post, member) = joined(context)?;
    context.must_stay_in_place()?;
    let courier = courier_of(context, post, member).map_err(fail)?;
    let failed = |e: std::io::Error| Fail::not_done(format!("cannot wait for signals: {e}"), "try again");
    let stop = Stop::new().map_err(failed)?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let order = stop.clone();
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            order.now();
        }
    });
    let said = std::cell::Cell::new(None);
    let ended = courier.run(&stop, |state| {
        let line = match state {
            Ok(()) => "connected".to_owned(),
            Err(e) => format!("no connection: {e}"),
        };
        // The same trouble is told once.
        if said.replace(Some(line.clone())).as_ref() != Some(&line) {
            note(&format!("postroom: courier: {}", visible::line(&line)));
        }
    });
    tell_carried(context, ended.map_err(fail)?)
}

fn once(context: &mut Context) -> Result<(), Fail> {
    let (post, member) = joined(context)?;
    let ended = courier_of(context, post, member).and_then(|courier| courier.once(false));
    tell_once(context, ended.map_err(fail)?)
}

fn tell_once(context: &mut Context, ended: courier::Ended) -> Result<(), Fail> {
    tell_carried(context, ended)?;
    match ended.is_incomplete {
        true => Err(Fail::Code(Failure::NotDone)),
        false => Ok(()),
    }
}

fn tell_carried(context: &mut Context, ended: courier::Ended) -> Result<(), Fail> {
    context.done = true;
    let waits = if ended.is_incomplete { "; some mail still waits" } else { "" };
    let line = format!("sent {}, received {}{waits}", ended.sent, ended.received);
    context.output.receipt(&CourierCarried::of(ended), [line]);
    Ok(())
}

fn reconcile(context: &mut Context) -> Result<(), Fail> {
    let (post, member) = joined(context)?;
    match courier_of(context, post, member).and_then(|courier| courier.once(true)) {
        Err(courier::Error::Running) => {
            let folder = Dir::open(&post.room().path().join(network::FOLDER))?;
            courier::order_reconcile(&folder).map_err(fail)?;
            let said = CourierSaid { ordered: true, ..CourierSaid::default() };
            context
                .output
                .receipt(&said, ["the courier that runs sends again what has no receipt".to_owned()]);
            Ok(())
        }
        ended => tell_once(context, ended.map_err(fail)?),
    }
}

fn leave(context: &mut Context) -> Result<(), Fail> {
    context.must_not_be_in_session("courier leave")?;
    let (post, member) = joined(context)?;
    let network = member.network.clone();
    // A courier that runs would go on with credentials that are gone.
    drop(courier_of(context, post, member).map_err(fail)?);
    let waiting: usize = post.on_the_way()?.iter().map(|way| way.waiting).sum();
    Joined::forget(post.room().root())?;
    members()?.forget(post.room().path()).map_err(fail)?;
    context.done = true;
    let stays = match waiting {
        0 => String::new(),
        many => format!("; {many} unsent stay here until it joins again"),
    };
    let said = CourierSaid { left: Some(network.as_str()), ..CourierSaid::default() };
    context.output.receipt(&said, [format!("left {network}{stays}")]);
    Ok(())
}

pub(super) fn fail(e: courier::Error) -> Fail {
    use courier::Error as E;
    let what = e.to_string();
    match e {
        E::Post(e) => Fail::Post(e),
        E::Settings { .. } => Fail::refused(what, Hint::run(&["help", "courier", "join"])),
        E::Url { .. } => Fail::usage(what, "nats://HOST[:PORT] or tls://HOST[:PORT]"),
        E::Unreachable { .. } | E::Server { .. } => {
            Fail::not_done(what, "mail waits here; `postroom courier run` goes on when the server is there")
        }
        E::NotJoined => Fail::unknown(what, Hint::run(&["help", "courier", "join"]).to("how to join one")),
        E::Running => Fail::not_done(what, Hint::run(&["courier", "status"]).to("what it does")),
        E::UnknownPeer { .. } => {
            Fail::unknown(what, Hint::run(&["courier", "status"]).to("shows the rooms that are known"))
        }
        E::NameTaken { .. } => Fail::refused(what, "take another name: --room-as ROOM"),
    }
}
