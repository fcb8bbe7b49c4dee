//! The web page in a real browser: what an operator does there, and how every view looks.

pub(crate) mod driver;
pub(crate) mod looks;
pub(crate) mod operator;
pub(crate) mod relay;
pub(crate) mod site;
pub(crate) mod staying;
