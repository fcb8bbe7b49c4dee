//! Rooms and names: who is who, where mail is, what only a person may say, what is pruned and brought back.

pub(crate) mod above;
pub(crate) mod adopt;
pub(crate) mod bad_disk;
pub(crate) mod bad_files;
pub(crate) mod bad_input;
pub(crate) mod doctor;
pub(crate) mod doctor_life;
pub(crate) mod elsewhere;
pub(crate) mod everywhere;
pub(crate) mod faults_claims;
pub(crate) mod faults_disk;
pub(crate) mod group;
pub(crate) mod person;
pub(crate) mod prune;
pub(crate) mod prune_races;
pub(crate) mod readme;
pub(crate) mod rename;
pub(crate) mod repositories;
pub(crate) mod seed_room;
pub(crate) mod setup;
pub(crate) mod takeover;
pub(crate) mod terminal_bound;
pub(crate) mod undo;
pub(crate) mod which_room;
pub(crate) mod who;
