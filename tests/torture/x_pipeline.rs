//! X2: a feature in two repositories at once: plan, three implementers in worktrees, review, fix, a person's approval, merge.
//! Each repository has a room of its own, and both rooms have agents of the same names. Dispatchers, supervisors and agents
//! are killed at random moments. Every run completes, every commit is in the repository that it was asked for and is merged
//! there once, and neither a worktree nor a process is left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fire::{Fire, left_in};
use crate::l_fence::Draws;
use crate::lab::{Findings, Lab, Outcome, need};
use crate::place::{Place, names_in};
use crate::process::Run;
use crate::x_workflow::{once, outcome};

/// How long one round may take under fire.
const LIMIT: Duration = Duration::from_secs(150);

const AGENTS: [&str; 4] = ["planner", "coder", "reviewer", "merger"];
/// What each run changes, and in which step. Each of them is on a branch of its own.
const CHANGES: [(&str, &str); 4] =
    [("lexer", "implement"), ("parser", "implement"), ("printer", "implement"), ("all", "fix")];

/// Plan, three parts, two reviews, a fix, proposal, approval, merge.
const REQUESTS: usize = 10;

const WORKFLOW: &str = r#"
inputs:
  repo: {type: text}
steps:
  plan: {agent: planner, prompt: 'repo={{ inputs.repo }} step=plan', output: json}
  implement:
    agent: coder
    needs: plan
    foreach: steps.plan.json.parts
    prompt: 'repo={{ inputs.repo }} run={{ run }} step=implement part={{ item }}'
  review:
    agent: reviewer
    needs: implement
    prompt: 'repo={{ inputs.repo }} step=review round={{ round }}'
    gate: {verdict: {accept: ACCEPT, reject: FIX}}
    on_failure: {step: fix, rounds: 3}
  fix: {agent: coder, prompt: 'repo={{ inputs.repo }} run={{ run }} step=fix part=all'}
  propose:
    agent: planner
    needs: review
    prompt: 'repo={{ inputs.repo }} step=propose'
    gate: {approval: user, ask: 'Merge?'}
  merge:
    agent: merger
    needs: [propose, implement]
    prompt: 'repo={{ inputs.repo }} step=merge {{ steps.implement.results | join(" ") | safe }}'
"#;

/// What every agent begins with: the facts of its request. It takes a moment, so that it can be killed.
const FACTS: &str = r#"
asked=$(cat)
fact() { grep -o "\b$1=[^ ]*" <<< "$asked" | head -1 | cut -d= -f2-; }
repo=$(fact repo); step=$(fact step)
commit() { git -c user.name="$repo" -c user.email=a@example.org -c gc.auto=0 "$@"; }
sleep 0.0$((RANDOM % 9 + 1))
"#;

const PLANNER: &str = r#"
if [ "$step" = plan ]; then echo '{"parts": ["lexer", "parser", "printer"]}'; else echo "merge it?"; fi
"#;

/// It does what is not done yet, commits a part of it, and leaves the rest to the dispatcher.
const CODER: &str = r#"
part=$(fact part); place=work/$(fact run)
branch=$(grep -o 'on the branch [^ ]*' <<< "$asked" | head -1); branch=${branch##* }
mkdir -p "$place"
echo "$repo $part $step" > "$place/$part-$step"
sleep 0.0$((RANDOM % 9 + 1))
commit add -A && commit commit -qm "$repo: $step $part" >&2
sleep 0.0$((RANDOM % 9 + 1))
echo "$repo $part $step" > "$place/$part-$step.left"
echo "${branch%.}"
"#;

const REVIEWER: &str = r#"
if [ "$(fact round)" = 1 ]; then echo 'VERDICT: FIX'; else echo 'VERDICT: ACCEPT'; fi
"#;

/// It may have been killed before: whatever is not merged yet is merged, and its worktree and branch are removed.
const MERGER: &str = r#"
rm -f .git/*.lock .git/refs/heads/*.lock
commit merge --abort 2> /dev/null
commit reset -q --hard >&2
of_run=refs/heads/$(grep -o 'feature/[0-9a-f]*' <<< "$asked" | head -1)
for branch in $(commit for-each-ref --format='%(refname:short)' "$of_run" "$of_run-*"); do
    commit merge-base --is-ancestor "$branch" HEAD || commit merge -q --no-ff -m "$repo: merge $branch" "$branch" >&2 || exit 1
    path=$(commit worktree list --porcelain | sed -n "/^worktree /h;/^branch refs\/heads\/${branch//\//\\/}\$/{g;s/^worktree //p}")
    [ -z "$path" ] || rm -rf "$path"
    commit worktree prune
    commit branch -q -D "$branch" >&2
done
echo merged
"#;

/// One repository, and its room.
struct Repository {
    name: &'static str,
    dir: PathBuf,
    place: Place,
    runs: Vec<String>,
}

pub(crate) fn killed_pipelines(lab: &Lab) -> Outcome {
    for program in ["bash", "git"] {
        need(program)?;
    }
    // So many kills, and so many of them in one round.
    let (wanted, each) = if lab.tier == 0 { (20, 20) } else { (200, 40) };
    let dir = lab.fast_dir();
    let base = dir.path().canonicalize().expect("its path");
    let mut repositories = ["one", "two"].map(|name| Repository::new(lab, &base, name));
    let findings = Findings::default();
    let fire = Fire::new(&findings);
    let mut draws = Draws::new(u64::from(std::process::id()));
    let (start, mut rounds) = (Instant::now(), 0);
    while fire.kills() < wanted && rounds < 40 {
        for repository in &mut repositories {
            repository.begin();
        }
        rounds += 1;
        let most = wanted.min(fire.kills() + each);
        if !under_fire(&repositories, &base, most, &mut draws, &findings, &fire) {
            break;
        }
    }
    let took = start.elapsed().as_secs_f64();
    findings.check(fire.kills() >= wanted, || format!("only {} kills in {rounds} rounds", fire.kills()));
    let commits: Vec<usize> =
        repositories.iter().map(|repository| repository.judge(&base, &findings)).collect();
    findings.extend("at the end", left_in(&base));
    let (kills, commits) = (fire.told(), commits.iter().sum::<usize>());
    findings.verdict(format!(
        "{kills}, {rounds} runs of {REQUESTS} requests in each of 2 repositories, {commits} commits in their own, {took:.1} s"
    ))
}

/// Lets dispatchers of both rooms work, and kills until there were so many, until both runs are over. `false` if they do not come to an end.
fn under_fire(
    repositories: &[Repository; 2],
    base: &Path,
    most: usize,
    draws: &mut Draws,
    findings: &Findings,
    fire: &Fire<'_>,
) -> bool {
    fire.begin();
    let roots = repositories.each_ref().map(|repository| repository.place.root.as_path());
    std::thread::scope(|scope| {
        for repository in repositories {
            for _ in 0..2 {
                scope.spawn(move || fire.keep(&repository.command(&["dispatch", "--watch", "-q"])));
            }
            scope.spawn(move || {
                while fire.goes_on() {
                    repository.approve();
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
        }
        let end = Instant::now() + LIMIT;
        let open = || repositories.iter().any(Repository::is_open);
        while Instant::now() < end && open() {
            std::thread::sleep(Duration::from_micros(500 + draws.next() % 60_000));
            if fire.kills() < most {
                fire.kill_one(&roots, draws);
            }
        }
        let is_over = !open();
        for repository in repositories.iter().filter(|repository| repository.is_open()) {
            let why = repository.last_reason();
            findings.add(format!("{} is not over after {LIMIT:?}: {why}", repository.name));
        }
        // What was killed last is still to be recovered.
        let quiet = Instant::now() + Duration::from_secs(20);
        let left = || roots.iter().any(|root| !names_in(&root.join(".dispatch/open")).is_empty());
        while Instant::now() < quiet && (left() || !left_in(base).is_empty()) {
            std::thread::sleep(Duration::from_millis(50));
        }
        fire.end();
        is_over
    })
}

impl Repository {
    fn new(lab: &Lab, base: &Path, name: &'static str) -> Self {
        let mut place = Place::new(lab, base);
        let dir = base.join(name);
        place.root = base.join("home/state/postroom/rooms").join(name);
        fs::create_dir_all(dir.join(".postroom/workflows")).expect("a directory for workflows");
        fs::write(dir.join(".postroom/workflows/feature.yaml"), WORKFLOW).expect("the workflow");
        fs::write(dir.join("postroom.toml"), settings()).expect("the settings");
        let repository = Self { name, dir, place, runs: vec![] };
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-qm", &format!("{name}: first")]);
        for child in AGENTS.iter().chain(&["user"]) {
            let ended = repository.command(&["setup", "--child", child]).end();
            assert!(ended.ok(), "{child}: {}", ended.shown());
        }
        assert!(repository.place.root.is_dir(), "{name} has no room of its own");
        let trusted = repository.command(&["trust", ".", "-q"]).by_person();
        assert!(trusted.ok(), "{}", trusted.shown());
        repository
    }

    /// A command in the repository, which has to find its room by itself.
    fn command(&self, words: &[&str]) -> Run {
        self.place.bare(words.iter().copied()).within(&self.dir)
    }

    fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=p", "-c", "user.email=p@example.org", "-C"]).arg(&self.dir).args(words);
        let out = git.env("HOME", self.place.base.join("home")).output().expect("git");
        assert!(out.status.success(), "{words:?}: {out:?}");
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn begin(&mut self) {
        let ended =
            self.command(&["workflow", "run", "feature", "--input", &format!("repo={}", self.name)]).end();
        let out = ended.stdout();
        let run = out.trim().strip_prefix("run ").unwrap_or_else(|| panic!("no run: {}", ended.shown()));
        self.runs.push(run.to_owned());
    }

    fn is_open(&self) -> bool {
        let run = self.runs.last().expect("a run");
        self.place.root.join(".workflows/open").join(run).exists()
    }

    /// Why the last run of an agent did not lead to an answer.
    fn last_reason(&self) -> String {
        let told = self.place.run(&["runs", "--failed", "--limit", "1", "--json"]);
        let told: Value = serde_json::from_slice(&told.out).unwrap_or_default();
        told["runs"][0]["why"].to_string()
    }

    /// The person approves what waits.
    fn approve(&self) {
        if let Some(run) = self.runs.last().filter(|_| !self.place.messages("user", "inbox").is_empty()) {
            // The run may not wait for it yet, or no longer.
            self.command(&["approve", run, "--yes", "-q"]).by_person();
        }
    }

    /// Every run was completed, and its work is here, once. Returns how many commits there are.
    fn judge(&self, base: &Path, findings: &Findings) -> usize {
        let name = self.name;
        let names: Vec<&str> = AGENTS.iter().chain(&["user"]).copied().collect();
        for run in &self.runs {
            let ended = outcome(&self.place, run);
            findings.check(ended.0 == "completed", || format!("{name}: {run}: {ended:?}"));
            once(&self.place, run, &names, (REQUESTS, REQUESTS), findings);
        }
        let commits = self.commits(findings);
        let mut wanted = BTreeMap::new();
        for run in &self.runs {
            for (part, step) in CHANGES {
                for left in ["", ".left"] {
                    wanted
                        .insert(format!("work/{run}/{part}-{step}{left}"), format!("{name} {part} {step}\n"));
                }
            }
        }
        let listed = self.git(&["ls-tree", "-r", "--name-only", "main", "work"]);
        let files: BTreeSet<&str> = listed.lines().collect();
        findings.check(files.iter().copied().eq(wanted.keys().map(String::as_str)), || {
            format!("{name}: {files:?} are merged, not {:?}", wanted.keys())
        });
        for (file, text) in wanted.iter().filter(|(file, _)| files.contains(file.as_str())) {
            let found = self.git(&["show", &format!("main:{file}")]);
            findings.check(found == *text, || format!("{name}: {file} is {found:?}, not {text:?}"));
        }
        let branches = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        findings.check(branches == "main\n", || format!("{name}: branches are left: {branches:?}"));
        let worktrees = self.git(&["worktree", "list"]);
        findings.check(worktrees.lines().count() == 1, || format!("{name}: worktrees are left: {worktrees}"));
        let home = base.join("home/state/postroom/worktrees");
        for around in names_in(&home).iter().filter(|around| around.starts_with(&format!("{name}-"))) {
            let left = names_in(&home.join(around)).into_iter().map(|left| home.join(around).join(left));
            let left: Vec<PathBuf> = left.filter(|left| left.is_dir()).collect();
            findings.check(left.is_empty(), || format!("{name}: {left:?} are left"));
        }
        findings.extend(name, self.place.doctor());
        commits
    }

    /// Every commit was asked for by this repository, and none was made or merged twice.
    fn commits(&self, findings: &Findings) -> usize {
        let name = self.name;
        let own: BTreeSet<String> = names_in(&self.place.root.join(".dispatch/runs")).into_iter().collect();
        let log = self.git(&["log", "--all", "--format=%s%x1f%(trailers:key=Postroom-Run,valueonly)%x1e"]);
        let mut subjects: BTreeMap<&str, usize> = BTreeMap::new();
        let mut commits = 0;
        for commit in log.split('\x1e').map(str::trim).filter(|commit| !commit.is_empty()) {
            commits += 1;
            let (subject, run) = commit.split_once('\x1f').unwrap_or((commit, ""));
            match run.trim() {
                "" => {
                    findings.check(subject.starts_with(&format!("{name}: ")), || {
                        format!("{name} has the commit `{subject}`")
                    });
                    *subjects.entry(subject).or_default() += 1;
                }
                run => findings.check(own.contains(run), || {
                    format!("{name} has a commit of the run {run}, which is none of its room")
                }),
            }
        }
        let merges = subjects.iter().filter(|(subject, _)| subject.contains(": merge feature/"));
        let merges: Vec<usize> = merges.map(|(_, count)| *count).collect();
        findings.check(merges == vec![1; CHANGES.len() * self.runs.len()], || {
            format!("{name}: {} runs gave these merges: {subjects:?}", self.runs.len())
        });
        for (subject, count) in subjects {
            let most =
                if subject.contains(" merge ") || subject.ends_with(": first") { 1 } else { self.runs.len() };
            findings.check(count <= most, || format!("{name}: `{subject}` was committed {count} times"));
        }
        commits
    }
}

fn settings() -> String {
    let mut text = String::from(
        "[dispatch]\nback_off = \"0s\"\nhour_runs = 1000000\nthread_runs = 1000000\nparallel = 6\n",
    );
    for (name, script) in AGENTS.into_iter().zip([PLANNER, CODER, REVIEWER, MERGER]) {
        let more = if name == "coder" { "concurrency = 3\nworktree = \"feature/{item}\"\n" } else { "" };
        text.push_str(&format!(
            "[agents.{name}]\npreset = \"command\"\nretries = 100000\n{more}\
             command = [\"bash\", \"-c\", '''{FACTS}{script}''']\n"
        ));
    }
    text
}
