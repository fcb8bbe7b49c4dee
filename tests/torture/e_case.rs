//! E5: names that differ only in case or in how Unicode writes them are one name. The second is refused when it is
//! registered, whether as a name or as an alias, and mail for either reaches the first.

use crate::lab::{Findings, Lab, Outcome};
use crate::place::{Place, names_in};

/// Names of one person each, the first of which is registered.
const ALIKE: [&[&str]; 12] = [
    &["bob", "Bob", "BOB", "bOb", "ｂｏｂ", "𝐛𝐨𝐛"],
    &["org.Build.x", "ORG.BUILD.X", "org.build.X"],
    &["Ångström", "A\u{30a}ngstro\u{308}m", "\u{212b}ngström", "ÅNGSTRÖM", "ångstro\u{308}m"],
    &["ÉLAN", "e\u{301}lan", "E\u{301}lan", "élan"],
    &["straße", "STRASSE", "Strasse", "STRAẞE", "STRAßE"],
    &["ΣΊΣΥΦΟΣ", "σίσυφος", "σίσυφοσ", "Σίσυφος"],
    &["Kelvin", "\u{212a}elvin", "kelvin", "KELVIN"],
    &["ﬁle", "file", "FILE"],
    &["ŐRSÉG", "o\u{30b}rség", "őrse\u{301}g"],
    &["한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"],
    &["ПОЧТА", "почта", "Почта"],
    &["ǆ1", "Ǆ1", "ǅ1", "dž1", "dz\u{30c}1"],
];

pub(crate) fn one_name_in_many_forms(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let (mut refused, mut reached) = (0, 0);
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "other"]);
    for forms in ALIKE {
        let (first, others) = forms.split_first().expect("a name");
        place.ok(&["setup", "--child", first]);
        let mailboxes = names_in(&place.root).len();
        for form in others {
            for words in [&["setup", "--child", form][..], &["--as", "other", "setup", "--alias", form]] {
                let ended = place.run(words);
                refused += usize::from(ended.code == Some(4));
                findings.check(ended.code == Some(4) && ended.stderr().contains("taken"), || {
                    format!("`{first}` is there, and {words:?}: {}", ended.shown())
                });
            }
            let sent = place.run(&["--as", "alice", "send", form, "-m", "to one of them"]);
            reached += usize::from(sent.ok());
            findings.check(sent.ok() && sent.stdout().contains(&format!(" for {first}")), || {
                format!("mail for `{form}` does not reach `{first}`: {}", sent.shown())
            });
        }
        findings.check(names_in(&place.root).len() == mailboxes, || format!("{first}: a mailbox was made"));
    }
    findings.extend("afterwards", place.doctor());
    let forms: usize = ALIKE.iter().map(|forms| forms.len()).sum();
    findings.verdict(format!(
        "{} names in {forms} forms: {refused} registrations refused, {reached} messages reached the one",
        ALIKE.len()
    ))
}
