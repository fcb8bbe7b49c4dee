//! Characters that draw nothing are known by what Unicode says of them, and reach no terminal.

use std::collections::HashSet;
use std::path::Path;

use postroom::invisible::{is_emoji, is_invisible};
use regex_syntax::hir::{Class, HirKind};

use crate::command_line::terminal::{PLAIN, lent, on_terminal};
use crate::support::room::TestRoom;

/// What draws nothing, or nothing that is known.
const INVISIBLE: &str = r"[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Cn}]";
const EMOJI: &str = r"[\p{Emoji}--\p{ASCII}]";

/// The ranges of a class, by the tables of `regex-syntax`.
fn ranges(class: &str) -> Vec<(u32, u32)> {
    let parsed = regex_syntax::parse(class).unwrap();
    let HirKind::Class(Class::Unicode(class)) = parsed.kind() else { panic!("{class} is no class") };
    class.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect()
}

/// All characters of a class.
fn set(class: &str) -> HashSet<char> {
    ranges(class).into_iter().flat_map(|(first, last)| (first..=last).filter_map(char::from_u32)).collect()
}

/// The source of the tables, as `rustfmt` leaves it.
fn source() -> String {
    let mut text = String::from(
        "//! What Unicode says: generated from the tables of `regex-syntax` by the test\n\
         //! `the_tables_are_what_unicode_says`, which compares them. Not edited by hand.\n",
    );
    for (name, class) in [("INVISIBLE", INVISIBLE), ("EMOJI", EMOJI)] {
        let ranges = ranges(class);
        text.push_str(&format!("\n/// `{class}`\n#[rustfmt::skip]\n"));
        text.push_str(&format!("pub(super) const {name}: [(u32, u32); {}] = [", ranges.len()));
        for (index, (first, last)) in ranges.iter().enumerate() {
            text.push_str(if index % 6 == 0 { "\n    " } else { " " });
            text.push_str(&format!("({first:#x}, {last:#x}),"));
        }
        text.push_str("\n];\n");
    }
    text
}

#[test]
fn the_tables_are_what_unicode_says() {
    let (hidden, emoji) = (set(INVISIBLE), set(EMOJI));
    let wrong = ('\0'..=char::MAX)
        .find(|c| is_invisible(*c) != hidden.contains(c) || is_emoji(*c) != emoji.contains(c));
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/invisible/table.rs");
    let wanted = Path::new(env!("CARGO_TARGET_TMPDIR")).join("table.rs");
    std::fs::write(&wanted, source()).unwrap();
    assert!(
        wrong.is_none() && std::fs::read_to_string(&kept).unwrap() == source(),
        "{wrong:?} is judged otherwise by Unicode: cp {} {}",
        wanted.display(),
        kept.display()
    );
}

#[test]
fn nothing_invisible_reaches_a_terminal() {
    if !lent("nothing_invisible_reaches_a_terminal") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let hidden = set(INVISIBLE);
    // The ends of every range, each between two letters, and those that were let through before.
    let known = "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180b}\u{180e}\u{200c}\u{200d}\u{2061}\u{2064}\u{206a}\
        \u{3164}\u{fe00}\u{fe0e}\u{fe0f}\u{ffa0}\u{1bca0}\u{1d173}\u{e000}\u{e0001}\u{e0100}\u{e01ef}\u{f0000}\u{fffff}";
    let ends = ranges(INVISIBLE).into_iter().flat_map(|(first, last)| [first, last]);
    let all: Vec<char> = known.chars().chain(ends.filter_map(char::from_u32)).collect();
    let body: String = all.iter().map(|c| format!("a{c}b\n")).collect();
    let subject: String = known.chars().map(|c| format!("a{c}b ")).collect();
    room.by("alice", ["send", "bob", "-s", &subject, "--id", "a5ced001"]).input(&body).succeeds();
    for arguments in
        ["--as bob check", "--as bob check --json", "--as bob read", "--as bob read a5ced001 --json"]
    {
        let shown = on_terminal(&room, 1000, arguments, &PLAIN);
        let raw: Vec<String> = shown
            .chars()
            .filter(|c| hidden.contains(c) || c.is_control() && *c != '\n')
            .map(|c| c.escape_unicode().to_string())
            .collect();
        assert!(raw.is_empty(), "{arguments} shows {raw:?}");
        assert!(
            shown.contains(if arguments.ends_with("json") { "a\\u00adb" } else { "a\\u{ad}b" }),
            "{shown}"
        );
    }
}

#[test]
fn emoji_and_joined_letters_stay_readable() {
    if !lent("emoji_and_joined_letters_stay_readable") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let good = "❤️ 1️⃣ #️⃣ 👩‍💻 👩🏽‍🔬 👨‍👩‍👧‍👦 🏳️‍🌈 👁️‍🗨️ ☎︎ می‌خواهم क्‍ष ශ්‍රී";
    room.by("alice", ["send", "bob", "-s", good, "-m", good]).succeeds();
    for arguments in ["--as bob check", "--as bob read"] {
        let shown = on_terminal(&room, 200, arguments, &PLAIN);
        assert!(shown.contains(good), "{arguments}: {shown}");
    }
}

/// Every character that draws nothing is refused in a name, too.
#[test]
fn nothing_invisible_is_part_of_a_name() {
    let passes = |c: &char| postroom::name::Name::parse(&format!("a{c}b")).is_ok();
    assert_eq!(set(INVISIBLE).iter().find(|c| passes(c)), None);
}
