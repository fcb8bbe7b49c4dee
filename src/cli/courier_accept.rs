//! `postroom courier accept`: a person decides whose mail is let in.

use super::context::Context;
use super::courier::{fail, greet, joined};
use super::fail::Fail;
use super::terminal;
use crate::courier::{self, Member, shown_key};
use crate::hint::Hint;
use crate::mailbox::Dir;
use crate::message::visible;
use crate::name::RoomName;
use crate::network::{self, News};
use crate::person;
use crate::post::{Error, Post};
use crate::view::courier::CourierSaid;

/// What a person at this terminal decides about.
struct Decision {
    post: &'static Post,
    member: Member,
    /// The other room.
    name: RoomName,
}

fn decided(context: &mut Context, room: &str) -> Result<Decision, Fail> {
    let (post, member) = joined(context)?;
    let shown = visible::clip(room, 80);
    person::at_hand(context.surroundings.by_agent, &shown, terminal::typed).map_err(Error::from)?;
    let unknown = |_| fail(courier::Error::UnknownPeer { room: shown });
    Ok(Decision { post, member, name: network::network_room(room).map_err(unknown)? })
}

fn wake(post: &Post) -> Result<(), Fail> {
    courier::wake(&Dir::open(&post.room().path().join(network::FOLDER))?).map_err(fail)
}

pub(super) fn accept(context: &mut Context, room: &str, yes: bool) -> Result<(), Fail> {
    let Decision { post, member, name } = decided(context, room)?;
    let unknown = || fail(courier::Error::UnknownPeer { room: name.to_string() });
    let root = post.room().path();
    let shown = || shown_key(root, &member.network, &name).map_err(fail);
    let key = match shown()? {
        Some(key) => key,
        None => {
            greet(context, post)?;
            shown()?.ok_or_else(unknown)?
        }
    };
    let names = News::of(root, &member.network, &name)?.map_or(0, |news| news.names.len());
    let fingerprint = key.fingerprint();
    let before = member.peers().map_err(fail)?.get(name.as_str()).cloned();
    let other = before.filter(|before| *before != key).map(|before| before.fingerprint());
    if let Some(old) = other.as_ref().filter(|_| yes) {
        let what = format!(
            "{name} shows another key than the one that was accepted, which is {old}: ask the people there whether the change \
             is theirs"
        );
        context.output.remark(&what);
    }
    if !yes {
        let changed = match &other {
            Some(old) => format!("THIS IS ANOTHER KEY than the one that was accepted:\n  {old}\n"),
            None => String::new(),
        };
        terminal::tell(&format!(
            "{name} on {}: {names} names, key\n  {fingerprint}\n{changed}\
             Compare it with `postroom courier status` in that room.\n",
            member.network,
        ));
        let question = match other {
            Some(_) => format!("Let mail of {name} in with the new key, and none with the old one?"),
            None => format!("Let mail of {name} in?"),
        };
        if !terminal::agrees(&question) {
            return Err(Fail::refused(format!("{name} was not accepted"), "nothing has changed"));
        }
    }
    member.accept(&name, &key, context.clock().now().to_string()).map_err(fail)?;
    wake(post)?;
    context.done = true;
    let line = format!("accepted {name}, key {fingerprint}");
    let said = CourierSaid {
        accepted: Some(name.as_str()),
        fingerprint: Some(fingerprint),
        ..CourierSaid::default()
    };
    context.output.receipt(&said, [line]);
    Ok(())
}

pub(super) fn revoke(context: &mut Context, room: &str) -> Result<(), Fail> {
    let Decision { post, member, name } = decided(context, room)?;
    if !member.revoke(&name).map_err(fail)? {
        let hint = Hint::run(&["courier", "status"]).to("shows the rooms");
        return Err(Fail::unknown(format!("{name} is not accepted"), hint));
    }
    wake(post)?;
    context.done = true;
    let said = CourierSaid { revoked: Some(name.as_str()), ..CourierSaid::default() };
    context.output.receipt(&said, [format!("{name} is not accepted any more")]);
    Ok(())
}
