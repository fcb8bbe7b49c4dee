//! Installing and uninstalling, on realistic settings.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::super::change::{Change, Language, What};
use super::super::jsonc;
use super::*;

struct Desk {
    _temp: tempfile::TempDir,
    home: PathBuf,
    ledger: Ledger,
}

fn desk() -> Desk {
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path().canonicalize().unwrap();
    let ledger = Ledger::open(&home.join("state")).unwrap();
    Desk { _temp: temp, home, ledger }
}

fn cause(program: &str) -> Cause<'_> {
    static WITH: InstallOptions =
        InstallOptions { roots: Vec::new(), name: None, bodies: None, types: false, mcp: true, called: None };
    Cause { program, project: None, with: &WITH }
}

impl Desk {
    fn json(&self, command: &str) -> Piece {
        let add = |key: &str, value, mark: Option<&str>| Change {
            at: vec!["hooks".to_owned(), key.to_owned()],
            what: What::Add { value, mark: mark.map(str::to_owned) },
        };
        let hook = json!({"hooks": [{"command": format!("{command} hook claude stop")}]});
        Piece {
            path: self.home.join("c/settings.json"),
            form: Form::Settings(Language::Json, vec![add("Stop", hook, Some(" hook claude "))]),
        }
    }

    fn text(&self) -> Option<String> {
        std::fs::read_to_string(self.home.join("c/settings.json")).ok()
    }

    fn write(&self, text: &str) {
        std::fs::create_dir_all(self.home.join("c")).unwrap();
        std::fs::write(self.home.join("c/settings.json"), text).unwrap();
    }
}

const SETTINGS: &str = "// mine\n{\n\t\"hooks\": {\"Stop\": [ {\"hooks\": [ {\"command\": \"other-tool\"}, ]} ,]}, /* odd */\n  \"x\" : [1,\n2] }\n\n";

#[test]
fn what_was_there_comes_back_to_the_byte() {
    let desk = desk();
    desk.write(SETTINGS);
    std::fs::set_permissions(desk.home.join("c/settings.json"), PermissionsExt::from_mode(0o640)).unwrap();
    assert_eq!(desk.ledger.put(&desk.json("p"), cause("claude"), false).unwrap(), Done::Written);
    assert_eq!(state(&desk.json("p")).unwrap(), FileState::Current);
    assert_eq!(desk.ledger.put(&desk.json("p"), cause("claude"), false).unwrap(), Done::AsItWas);
    // A newer version replaces the older, and what was there before both is remembered.
    assert_eq!(state(&desk.json("q")).unwrap(), FileState::Drifted);
    assert_eq!(desk.ledger.put(&desk.json("q"), cause("claude"), false).unwrap(), Done::Written);
    assert_eq!(desk.text().unwrap().matches(" hook claude ").count(), 1);
    let done = desk.ledger.take_out("claude", None).unwrap();
    assert_eq!(done, [(desk.home.join("c/settings.json"), Done::Restored)]);
    assert_eq!(desk.text().unwrap(), SETTINGS);
    let mode = std::fs::metadata(desk.home.join("c/settings.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(desk.ledger.take_out("claude", None).unwrap(), []);
}

#[test]
fn where_nothing_was_nothing_is_left() {
    let desk = desk();
    desk.ledger.put(&desk.json("p"), cause("claude"), false).unwrap();
    assert!(desk.text().is_some());
    desk.ledger.take_out("claude", None).unwrap();
    assert!(!desk.home.join("c").exists());
}

#[test]
fn what_others_changed_since_stays() {
    let desk = desk();
    desk.write("{\n  \"a\": 1 // one\n}\n");
    desk.ledger.put(&desk.json("p"), cause("claude"), false).unwrap();
    desk.write(&desk.text().unwrap().replace("\"a\": 1", "\"a\": 2"));
    assert_eq!(desk.ledger.take_out("claude", None).unwrap()[0].1, Done::TakenOut);
    assert_eq!(jsonc::value(&desk.text().unwrap()).unwrap(), json!({"a": 2}));
    assert!(desk.text().unwrap().contains("// one"));
}

#[test]
fn a_file_of_several_programs_goes_with_the_last() {
    let desk = desk();
    let page = Piece { path: desk.home.join("skills/mailbox/SKILL.md"), form: Form::Whole("one".to_owned()) };
    desk.ledger.put(&page, cause("codex"), false).unwrap();
    desk.ledger.put(&page, cause("gemini"), false).unwrap();
    assert_eq!(desk.ledger.take_out("codex", None).unwrap()[0].1, Done::Kept);
    assert!(page.path.exists());
    assert_eq!(desk.ledger.take_out("gemini", None).unwrap()[0].1, Done::Removed);
    assert!(!desk.home.join("skills").exists());
}

#[test]
fn what_is_not_ours_is_refused_or_put_aside_and_put_back() {
    let desk = desk();
    let page = Piece { path: desk.home.join("SKILL.md"), form: Form::Whole("ours".to_owned()) };
    std::fs::write(&page.path, "theirs").unwrap();
    assert!(matches!(desk.ledger.put(&page, cause("codex"), false), Err(Error::NotOurs { .. })));
    desk.ledger.put(&page, cause("codex"), true).unwrap();
    desk.ledger.take_out("codex", None).unwrap();
    assert_eq!(std::fs::read_to_string(&page.path).unwrap(), "theirs");
}

#[test]
fn what_cannot_be_read_or_written_is_left_alone() {
    let desk = desk();
    desk.write("{\n  \"a\": \n}\n");
    let error = desk.ledger.put(&desk.json("p"), cause("claude"), false).unwrap_err();
    assert!(error.to_string().contains("line 3"), "{error}");
    assert_eq!(desk.text().unwrap(), "{\n  \"a\": \n}\n");
    desk.write("{}");
    let path = desk.home.join("c/settings.json");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    assert!(matches!(desk.ledger.put(&desk.json("p"), cause("claude"), false), Err(Error::ReadOnly { .. })));
    assert_eq!(desk.text().unwrap(), "{}");
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_changed() {
    let desk = desk();
    std::fs::create_dir_all(desk.home.join("dotfiles")).unwrap();
    std::fs::create_dir_all(desk.home.join("c")).unwrap();
    std::fs::write(desk.home.join("dotfiles/s.json"), SETTINGS).unwrap();
    symlink("../dotfiles/s.json", desk.home.join("c/settings.json")).unwrap();
    desk.ledger.put(&desk.json("p"), cause("claude"), false).unwrap();
    assert!(desk.home.join("c/settings.json").is_symlink());
    assert!(desk.text().unwrap().contains(" hook claude "));
    desk.ledger.take_out("claude", None).unwrap();
    assert!(desk.home.join("c/settings.json").is_symlink());
    assert_eq!(desk.text().unwrap(), SETTINGS);
    std::fs::remove_file(desk.home.join("dotfiles/s.json")).unwrap();
    assert!(matches!(desk.ledger.put(&desk.json("p"), cause("claude"), false), Err(Error::Path { .. })));
}

#[test]
fn two_projects_each_have_their_part_in_a_file_of_the_user() {
    let desk = desk();
    let piece = |project: &str| Piece {
        path: desk.home.join("c/settings.json"),
        form: Form::Settings(
            Language::Json,
            vec![Change {
                at: vec!["locations".to_owned(), project.to_owned()],
                what: What::Add { value: json!("ours"), mark: None },
            }],
        ),
    };
    let cause_of = |project: &'static str| Cause { project: Some(Path::new(project)), ..cause("copilot") };
    desk.write("{\"mine\": 1}\n");
    desk.ledger.put(&piece("/p/one"), cause_of("/p/one"), false).unwrap();
    desk.ledger.put(&piece("/p/two"), cause_of("/p/two"), false).unwrap();
    assert_eq!(state(&piece("/p/one")).unwrap(), FileState::Current);
    assert_eq!(state(&piece("/p/two")).unwrap(), FileState::Current);
    desk.ledger.take_out("copilot", Some(Path::new("/p/one"))).unwrap();
    assert_eq!(state(&piece("/p/one")).unwrap(), FileState::Missing);
    assert_eq!(state(&piece("/p/two")).unwrap(), FileState::Current);
    desk.ledger.take_out("copilot", Some(Path::new("/p/two"))).unwrap();
    assert_eq!(jsonc::value(&desk.text().unwrap()).unwrap(), json!({"mine": 1}));
}
