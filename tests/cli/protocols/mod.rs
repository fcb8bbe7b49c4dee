//! The promises for each of the three protocols and each pair of them, by command and by hand; and their codecs.

pub(crate) mod carried;
pub(crate) mod codecs;
pub(crate) mod conformance;
pub(crate) mod conformance_answers;
pub(crate) mod conformance_exchange;
pub(crate) mod conformance_hand;
pub(crate) mod conformance_once;
pub(crate) mod conformance_retry;
pub(crate) mod conformance_whole;
pub(crate) mod conversions;
pub(crate) mod edges;
pub(crate) mod edges_chains;
pub(crate) mod edges_errors;
pub(crate) mod edges_failures;
pub(crate) mod edges_tree;
pub(crate) mod edges_tree_state;
pub(crate) mod edges_workspace;
pub(crate) mod faults_carry;
pub(crate) mod fields;
pub(crate) mod golden;
pub(crate) mod liberal;
pub(crate) mod liberal_edges;
pub(crate) mod properties;
