//! Tests of the command line, through one builder ([`room::TestRoom`]) that lets the doctor look at the room
//! when a test ends.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests arrange files, time and environment as they need, fail by panicking, and say what they skip"
)]

mod adopt;
mod agents_idle;
mod agents_real;
#[allow(unreachable_pub, reason = "it is the library of the fuzz targets")]
#[path = "../../fuzz/src/lib.rs"]
mod any_bytes;
mod archive;
mod ask;
mod attend;
mod bad_disk;
mod bad_files;
mod bad_input;
mod bounce;
mod carried;
mod channels;
mod check;
mod claim;
mod codecs;
mod compose;
mod conversions;
mod crew;
mod demo;
mod dispatch;
mod dispatch_bad;
mod dispatch_batch;
mod dispatch_hostile;
mod dispatch_limits;
mod dispatch_presets;
mod dispatch_real;
mod dispatch_recovery;
mod doctor;
mod doctor_life;
mod drawn;
mod elsewhere;
mod failed;
mod fields;
mod flows;
mod golden;
mod group;
mod hand;
mod help;
mod hook;
mod hook_bind;
mod install;
mod install_again;
mod json;
mod json_life;
mod kinds;
mod kinds_claims;
mod kinds_room;
mod lease;
mod log;
mod mail;
mod mask;
mod matrix;
mod matrix_hand;
mod mcp;
mod mcp_client;
mod mcp_clients;
mod mcp_http;
mod mcp_real;
mod mcp_wait;
mod mcp_who;
mod models;
mod models_real;
mod moving;
mod page;
mod plugins;
mod project;
mod promises;
mod properties;
mod prune;
mod queue;
mod read;
mod reply;
mod roles;
mod room;
mod rooms;
mod rounds;
mod search;
mod seed_room;
mod send;
mod sent;
mod setup;
mod shared_state;
mod shell;
mod shell_mixed;
mod spawn;
mod staffed;
mod stats;
mod taken;
mod takeover;
mod terminal;
mod terminal_life;
mod thread;
mod trace;
mod tree;
mod tree_bad;
mod tree_bytes;
mod tree_claim;
mod tree_crowd;
mod tree_hand;
mod tree_mail;
mod tree_order;
mod tree_setup;
mod tree_status;
mod until;
mod wait;
mod wait_for;
mod who;
mod workflow_check;
mod workflow_check_words;
mod workflow_follow;
mod workflow_gates;
mod workflow_guarded;
mod workflow_real;
mod workflow_resume;
mod workflow_run;
mod workflow_tree;
mod workspace;
mod workspace_bad;
mod workspace_wide;
