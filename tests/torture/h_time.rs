//! H2: what an interrupted command left is cleaned away after 36 hours, not before, and never through a link.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use crate::lab::{Findings, Lab, Outcome};
use crate::place::{Place, ago, set_time};

const HOUR: u64 = 3600;

pub(crate) fn old_litter(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let outside = place.outside();
    fs::create_dir(outside.join("directory")).expect("a directory outside");
    for file in ["file", "directory/inside"] {
        fs::write(outside.join(file), "outside").expect("a file outside");
        set_time(&outside.join(file), ago(100 * HOUR));
    }
    let mailbox = place.mailbox("bob");
    let tomorrow = SystemTime::now() + Duration::from_secs(24 * HOUR);
    // Where commands stage things, what they leave there, when, and whether it is old enough to go.
    let places = ["tmp/m.md.1", ".card.json.2"].map(|name| mailbox.join(name));
    let in_room = [".registry.json.3", ".staging/dave-1.4"].map(|name| place.root.join(name));
    let mut cases = vec![];
    for path in places.into_iter().chain(in_room) {
        for (age, time, goes) in
            [("35h", ago(35 * HOUR), false), ("37h", ago(37 * HOUR), true), ("future", tomorrow, false)]
        {
            let path =
                path.with_file_name(format!("{}{age}", path.file_name().expect("a name").to_string_lossy()));
            fs::create_dir_all(path.parent().expect("a directory")).expect("the directory");
            fs::write(&path, "left over").expect("a left-over file");
            set_time(&path, time);
            cases.push((path, goes));
        }
    }
    for (name, target) in [("link.md.5", "file"), ("link.md.6", "directory"), ("link.md.7", "nowhere")] {
        let link = mailbox.join("tmp").join(name);
        symlink(outside.join(target), &link).expect("a link");
        set_time(&link, ago(37 * HOUR));
    }
    place.run(&["doctor"]);
    let early = cases.iter().filter(|(path, _)| !path.exists()).count();
    findings.check(early == 0, || format!("a look alone removed {early}"));
    let ended = place.run(&["doctor", "--fix"]);
    findings.extend("doctor --fix", ended.crash());
    for (path, goes) in &cases {
        findings.check(path.exists() != *goes, || {
            format!("{} {}", path.display(), if *goes { "is still there" } else { "was removed" })
        });
    }
    for file in ["file", "directory/inside"] {
        let kept = fs::read_to_string(outside.join(file)).is_ok_and(|text| text == "outside");
        findings.check(kept, || format!("{file} outside was touched through a link"));
    }
    findings.verdict(format!("{} files, only those of 37 h went; 3 links not followed", cases.len()))
}
