//! Transcripts of what the five programs printed against a stand-in for their models.

use super::*;

/// A transcript as lines, for comparison.
fn lines(preset: &str, output: &str) -> (Vec<String>, Transcript) {
    let mut transcript = Transcript::of(preset);
    // In pieces that cut lines anywhere.
    let mut events: Vec<Event> =
        output.as_bytes().chunks(11).flat_map(|piece| transcript.take(piece)).collect();
    events.extend(transcript.end());
    let line = |event: &Event| match event {
        Event::Began { session, model } => format!(
            "began {} {}",
            session.as_deref().map_or("-", |_| "session"),
            model.as_deref().unwrap_or("-")
        ),
        Event::Said { text } => format!("said {text}"),
        Event::Thought { text } => format!("thought {text}"),
        Event::Called { tool, input, .. } => format!("called {}", shown_call(tool, input)),
        Event::Returned { tool, outcome, output, .. } => {
            format!("{outcome:?} {tool} {}", output.lines().next().unwrap_or_default())
        }
        Event::Remarked { text } => format!("remarked {text}"),
        Event::Ended { is_ok, text } => format!("ended {is_ok} {}", text.as_deref().unwrap_or("-")),
    };
    (events.iter().map(line).collect(), transcript)
}

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../tests/golden/transcripts/", $name, ".jsonl"))
    };
}

#[test]
fn claude_as_it_was_recorded() {
    let (lines, transcript) = lines("claude", recorded!("claude"));
    assert_eq!(
        lines,
        [
            "began session claude-opus-5-5",
            "said I look first.",
            "called Bash: echo hello",
            "Done Bash hello",
            "called Bash: curl http://127.0.0.1:1/",
            "Denied Bash This command requires approval",
            "said Two things are done.",
            "ended true Two things are done.",
        ]
    );
    assert_eq!(transcript.tokens(), Some(Tokens { input: 30, cached: 0, output: 30 }));
    assert_eq!((transcript.cost(), transcript.skipped()), (Some(0.00072), 0));
    assert_eq!(transcript.denied().collect::<Vec<_>>(), ["Bash"]);
}

#[test]
fn codex_as_it_was_recorded() {
    let (lines, transcript) = lines("codex", recorded!("codex"));
    assert_eq!(
        lines,
        [
            "began session -",
            "said I look first.",
            "called shell: /bin/bash -c 'echo hello'",
            "Done shell hello",
            "called shell: /bin/bash -c 'curl http://127.0.0.1:1/'",
            "Failed shell curl: (7) Failed to connect",
            "called edit: a.txt",
            "Done edit ",
            "said Two things are done.",
            "ended true -",
        ]
    );
    assert_eq!(transcript.tokens(), Some(Tokens { input: 30, cached: 0, output: 30 }));
    assert_eq!((transcript.cost(), transcript.skipped()), (None, 0));
}

#[test]
fn gemini_as_it_was_recorded() {
    let (lines, transcript) = lines("gemini", recorded!("gemini"));
    assert_eq!(
        lines,
        [
            "began session gemini-2.5-flash",
            "said I look first.",
            "called run_shell_command: echo hello",
            "Done run_shell_command hello",
            "called run_shell_command: curl http://127.0.0.1:1/",
            "Denied run_shell_command Tool execution denied by policy.",
            "said Two things are done.",
            "ended true -",
        ]
    );
    assert_eq!(transcript.tokens(), Some(Tokens { input: 30, cached: 0, output: 30 }));
    assert_eq!((transcript.skipped(), transcript.denied().count()), (0, 1));
}

#[test]
fn opencode_as_it_was_recorded() {
    let (lines, transcript) = lines("opencode", recorded!("opencode"));
    assert_eq!(
        lines,
        [
            "began session -",
            "said I look first.",
            "called bash: echo hello",
            "Done bash hello",
            "called bash: curl http://127.0.0.1:1/",
            "Denied bash The user rejected permission to use this specific tool call.",
        ]
    );
    assert_eq!(transcript.tokens(), Some(Tokens { input: 20, cached: 0, output: 20 }));
    assert_eq!((transcript.skipped(), transcript.denied().count()), (0, 1));
}

#[test]
fn copilot_as_it_was_recorded() {
    let (lines, transcript) = lines("copilot", recorded!("copilot"));
    assert_eq!(
        lines,
        [
            "said I look first.",
            "called bash: echo hello",
            "Done bash hello",
            "called bash: curl http://127.0.0.1:1/",
            "Denied bash Permission denied because no interactive user response was available. Retry in an \
             interactive session so the user can approve it, or try an alternative that does not require this \
             permission.",
            "said Two things are done.",
            "ended true -",
        ]
    );
    assert_eq!((transcript.skipped(), transcript.denied().count()), (0, 1));
}

#[test]
fn a_model_that_refuses_is_seen_in_every_stream() {
    for (preset, output) in [
        ("claude", recorded!("claude-failed")),
        ("codex", recorded!("codex-failed")),
        ("gemini", recorded!("gemini-failed")),
        ("opencode", recorded!("opencode-failed")),
        ("copilot", recorded!("copilot-failed")),
    ] {
        let (lines, transcript) = lines(preset, output);
        assert!(lines.iter().any(|line| line.contains("no such thing")), "{preset}: {lines:?}");
        assert!(lines.last().unwrap().starts_with("ended false"), "{preset}: {lines:?}");
        assert_eq!(transcript.skipped(), 0, "{preset}");
    }
}

#[test]
fn what_is_not_understood_is_counted_and_nothing_else_is_lost() {
    let output = "warning: no colour\n{\"type\":\"novelty\"}\n[1]\n\n{\"type\":\"text\",\"part\":{\"text\":\"x\"}}\n{\"type\":\"te";
    let (lines, transcript) = lines("opencode", output);
    assert_eq!((lines, transcript.skipped()), (vec!["said x".to_owned()], 4));
    let mut long = Transcript::of("claude");
    (0..10).for_each(|_| assert!(long.take(&vec![b'x'; 1024 * 1024]).is_empty()));
    assert!(long.line.capacity() <= LINE * 2);
    long.take(b"\n");
    assert_eq!(long.skipped(), 1);
}

#[test]
fn a_program_that_prints_text_says_it() {
    let (lines, _) = lines("command", "one\ntwo");
    assert_eq!(lines.concat().replace("said ", ""), "one\ntwo");
}

#[test]
fn the_call_in_progress_is_known() {
    let mut transcript = Transcript::of("gemini");
    transcript.take(b"{\"type\":\"tool_use\",\"tool_name\":\"sh\",\"tool_id\":\"1\",\"parameters\":{\"command\":\"make\"}}\n");
    assert_eq!(transcript.in_progress().as_deref(), Some("sh: make"));
    transcript.take(b"{\"type\":\"tool_result\",\"tool_id\":\"1\",\"status\":\"success\"}\n");
    assert_eq!(transcript.in_progress(), None);
}
