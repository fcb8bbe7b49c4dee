//! A finding as a shell script: the scene, the steps, and the fault as words of `strace`.

use crate::p_model::fault::{Clock, Fault, Strike};
use crate::p_model::oracle::Oracle;
use crate::p_model::step::Step;

const SCENE: &str = r#"P=${POSTROOM_BIN:-postroom}; base=$(mktemp -d); cd $base; umask 077; mkdir home web api site
export HOME=$base/home XDG_STATE_HOME=$base/home/state
pr() { $struck $P --root $base/room "$@"; echo "exit $?" >&2; struck=; }
for name in alice bob; do pr -q setup $name; done
pr -q setup carol --workspace web; pr -q setup dave --workspace api; pr -q setup --tree site explore writer
pr group add team bob dave explore
mailbox() { sed -n 's/^ *"'$1'": {"id":"\([^"]*\)".*/\1/p' room/registry.json; }
body() { echo "key $1"; }
places() { case $1 in carol) echo web/.mailbox;; dave) echo api/.mailbox;; explore|writer)
  echo site/.claude/inboxes/$1 site/.claude/archive/inboxes/$1;; *) echo room/$(mailbox $1);; esac; }
path() { grep -rlE "^key $1\$|because-$1-end" $(places $2) | grep -v /scratch/ | head -1; }
field() { sed -n "s/^$1: //p" $(path $2 $3); }
id_of() { case $2 in carol|dave) basename $(path $1 $2);; *) sed -n 's/^\(msg_id\|id\): //p' $(path $1 $2) | tail -1;; esac; }"#;

/// `again`: the struck command is run once more.
pub(crate) fn script(steps: &[Step], fault: Option<&Fault>, again: bool) -> String {
    let mut lines = vec![SCENE.to_owned()];
    let mut oracle = Oracle::default();
    for (n, step) in steps.iter().enumerate() {
        let fault = fault.filter(|fault| fault.at == n);
        match fault.map(|fault| fault.strike) {
            Some(Strike::Clock(Clock::Sleep)) => {
                lines.push("P=\"unshare --time --boottime 86400 -- $P\"".to_owned());
                oracle.leases_end();
            }
            Some(Strike::Clock(Clock::Back)) => {
                lines.push("find . -type f -exec touch -d tomorrow {} +".to_owned())
            }
            Some(Strike::Clock(Clock::Forward)) => {
                lines.push("find . -type f -exec touch -d yesterday {} +".to_owned());
            }
            _ => {}
        }
        let token = oracle.token(step);
        if oracle.clone().apply(step).is_none() {
            continue;
        }
        let _ = oracle.apply(step);
        if let Some((path, text)) = step.file() {
            lines.push(format!("path={path}; mkdir -p $(dirname $path); [ ! -e $path ] || path=$path.2"));
            let moved =
                step.moves().map(|(from, to)| format!("from={from}; mkdir -p {to}; ")).unwrap_or_default();
            lines.push(format!(
                "{moved}cat > draft <<EOF\n{text}\nEOF\ntouch -d '10 seconds ago' draft; mv draft $path"
            ));
            lines.extend(step.moves().map(|(_, to)| format!("mv $from {to}")));
            continue;
        }
        let quoted: Vec<String> = step.words(&token).iter().map(|word| quote(word)).collect();
        let mut line = format!("pr {}", quoted.join(" "));
        if let Step::Claim { .. } = step {
            let name = &token[1..];
            line = format!("{name}=$({line} | sed 's/.*\"token\":\"\\([^\"]*\\)\".*/\\1/')");
        }
        if let Step::Takeover { .. } = step {
            line = format!("CLAUDE_CODE_SESSION_ID=another-session {line}");
        }
        if let Some(fault) = fault.filter(|fault| !matches!(fault.strike, Strike::Clock(_))) {
            let words = fault.words().map(|words| format!("struck='{words}'; ")).unwrap_or_default();
            lines.push(format!("{words}{line}   # <- {fault}\nstruck="));
            if fault.strike == Strike::Cut {
                lines.push(
                    "# here the power is cut: the directory is on a disk of tests/torture/disk.rs".to_owned(),
                );
            }
        }
        if fault.is_none_or(|fault| again || matches!(fault.strike, Strike::Clock(_))) {
            lines.push(line);
        }
    }
    lines.push(
        "for name in alice bob carol dave explore writer; do pr --as $name check; done; pr doctor --strict"
            .to_owned(),
    );
    lines.join("\n")
}

fn quote(word: &str) -> String {
    match word.contains([' ', '$', '(']) {
        true => format!("\"{word}\""),
        false => word.to_owned(),
    }
}
