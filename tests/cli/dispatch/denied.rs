//! A run that was denied a tool says so.

use crate::support::staffed::{dispatch, inbox, program, runs, staffed};

/// What each program prints about a refused call, as the real ones of November 2026 did, and the name of the tool.
const REFUSALS: [(&str, &str, &str); 5] = [
    (
        "claude",
        r#"{"type":"result","is_error":false,"result":"fine","permission_denials":[{"tool_name":"Bash"},{"tool_name":"Write"},{"tool_name":"Bash"}]}"#,
        "3 denied: Bash, Write",
    ),
    (
        "gemini",
        r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"t1"}
{"type":"tool_result","tool_id":"t1","status":"error","error":{"type":"policy_violation","message":"Tool execution denied by policy."}}
{"type":"message","role":"assistant","content":"fine"}"#,
        "1 denied: run_shell_command",
    ),
    (
        "opencode",
        r#"{"type":"tool_use","part":{"tool":"bash","state":{"status":"error","error":"The user rejected permission to use this specific tool call."}}}
{"type":"tool_use","part":{"tool":"bash","state":{"status":"error","error":"exit 1"}}}
{"type":"text","part":{"text":"fine"}}"#,
        "1 denied: bash",
    ),
    (
        "copilot",
        r#"{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash"}}
{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":false,"error":{"message":"Permission denied","code":"denied"}}}
{"type":"assistant.message","data":{"messageId":"m","content":"fine"}}"#,
        "1 denied: bash",
    ),
    // By its own list of states: it was not seen without a terminal (real.rs).
    (
        "codex",
        r#"{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"x","status":"declined"}}
{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"fine"}}"#,
        "1 denied: command_execution",
    ),
];

#[test]
fn a_refused_tool_is_shown_and_fails_the_run_where_that_is_wanted() {
    for (name, lines, wanted) in REFUSALS {
        for fails in [false, true] {
            let more = if fails { "on_denied = \"fail\"\nretries = 0" } else { "" };
            let room = staffed(&["worker"], &format!("[agents.worker]\npreset = \"{name}\"\n{more}\n"));
            program(&room, name, &format!("cat > /dev/null; cat <<'EOF'\n{lines}\nEOF"));
            room.send("alice", "worker", "x");
            let ran = dispatch(&room, []).exits(if fails { 5 } else { 0 });
            let state = if fails { "failed" } else { "done" };
            assert!(ran.out.contains(&format!("alice → worker {state}, {wanted} ")), "{}", ran.out);
            assert!(!runs(&room)[0]["denied"].as_array().unwrap().is_empty());
            match fails {
                true => assert!(inbox(&room, "alice")[0].contains(&format!("Reason: {wanted}"))),
                false => assert_eq!(inbox(&room, "alice"), ["fine\n"]),
            }
        }
    }
}
