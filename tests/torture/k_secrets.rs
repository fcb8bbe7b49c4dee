//! K3: secrets stay where they are. A key in a mail is refused without being repeated; a key in the environment reaches
//! only the agent whose settings name it, and no command line, no other environment, no file of the room and no output.

use std::fs;
use std::path::Path;

use crate::lab::{Findings, Lab, Outcome};
use crate::place::{Place, names_in};

/// Made here and worth nothing; of the shape that is refused in a mail.
const IN_MAIL: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const IN_ENVIRONMENT: &str = "postroom-torture-value-of-a-key-0451";

/// Writes down the command lines of itself and of all above it, and whether it has the key.
const SPY: &str = r#"
cat > /dev/null
pid=$$
while [ "$pid" -gt 1 ] && [ -r "/proc/$pid/cmdline" ]; do
    tr '\0' ' ' < "/proc/$pid/cmdline" >> "$1"; echo >> "$1"
    pid=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f2)
done
if [ "$TORTURE_KEY" = "$(cat "$1.key")" ]; then echo has >> "$1"; else echo lacks >> "$1"; fi
env | grep -c TORTURE_OTHER >> "$1"
echo finished
"#;

pub(crate) fn secrets_stay(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let mut outputs = 0;
    let mut silent = |words: &[&str], wanted: i32| {
        let run =
            place.command(words).env("TORTURE_KEY", IN_ENVIRONMENT).env("TORTURE_OTHER", IN_ENVIRONMENT);
        let ended = run.end();
        findings.check(ended.code == Some(wanted), || format!("{words:?}: {}", ended.shown()));
        let all = ended.stdout() + &ended.stderr();
        let repeats = all.contains(IN_MAIL) || all.contains(IN_ENVIRONMENT);
        findings.check(!repeats, || format!("{words:?} shows the secret: {all}"));
        outputs += 1;
    };
    let body = format!("the key is {IN_MAIL}\n");
    silent(&["--as", "alice", "send", "bob", "-m", &body], 4);
    silent(&["--as", "alice", "send", "bob", "-s", "x", "-m", &body, "--json"], 4);
    fs::write(place.outside().join("letter"), &body).expect("a letter");
    let letter = place.outside().join("letter").display().to_string();
    silent(&["--as", "alice", "send", "bob", "--file", &letter], 4);
    silent(&["--as", "alice", "ask", "bob", "-m", &body, "--timeout", "1"], 4);
    findings.check(holders(&place.root, IN_MAIL).is_empty(), || "a refused mail was kept".to_owned());
    // Agents: one whose settings name the key, one whose settings do not.
    let mut settings = String::new();
    for (name, more) in [("keyed", "env = [\"TORTURE_KEY\"]"), ("bare", "")] {
        place.ok(&["setup", "--child", name]);
        let told = place.outside().join(name);
        settings.push_str(&format!(
            "[agents.{name}]\npreset = \"command\"\n{more}\ncommand = [\"sh\", \"-c\", '''{SPY}''', \"spy\", \"{}\"]\n",
            told.display(),
        ));
        // The spy compares with a file: an argument would stand in a command line.
        fs::write(place.outside().join(format!("{name}.key")), IN_ENVIRONMENT).expect("what to compare with");
    }
    place.settle(&settings);
    for name in ["keyed", "bare"] {
        silent(&["--as", "alice", "send", name, "-m", "work"], 0);
    }
    silent(&["dispatch"], 0);
    for words in [
        &["runs"][..],
        &["runs", "--json"],
        &["agents"],
        &["agents", "--json"],
        &["log"],
        &["names", "--json"],
    ] {
        silent(words, 0);
    }
    for (name, wanted) in [("keyed", "has\n0\n"), ("bare", "lacks\n0\n")] {
        let told = fs::read_to_string(place.outside().join(name)).unwrap_or_default();
        findings.check(told.ends_with(wanted), || format!("{name}: {told}"));
        findings.check(!told.contains(IN_ENVIRONMENT), || {
            format!("{name}: the key is in a command line: {told}")
        });
        findings.check(told.lines().count() >= 4, || format!("{name}: the spy saw too little: {told}"));
    }
    let kept = holders(&place.root, IN_ENVIRONMENT);
    findings.check(kept.is_empty(), || format!("the key was written to {kept:?}"));
    findings.extend("afterwards", place.doctor());
    findings
        .verdict(format!("{outputs} outputs, 2 runs, 0 secrets in outputs, command lines, records or files"))
}

/// The files below a directory that hold a text.
pub(crate) fn holders(directory: &Path, text: &str) -> Vec<String> {
    let mut found = vec![];
    for name in names_in(directory) {
        let path = directory.join(&name);
        if path.is_dir() {
            found.extend(holders(&path, text));
        } else if String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).contains(text) {
            found.push(path.display().to_string());
        }
    }
    found
}
