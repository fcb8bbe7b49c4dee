//! Agent programs at home: installation, hooks, wake-ups; the real programs against a stand-in for their models.

pub(crate) mod hook;
pub(crate) mod hook_bind;
pub(crate) mod hook_bodies;
pub(crate) mod hook_odd;
pub(crate) mod identity_real;
pub(crate) mod idle;
pub(crate) mod install;
pub(crate) mod install_again;
pub(crate) mod install_honest;
pub(crate) mod install_path;
pub(crate) mod install_real;
pub(crate) mod install_session;
pub(crate) mod install_struck;
pub(crate) mod launch;
pub(crate) mod launch_real;
pub(crate) mod matrix;
pub(crate) mod models_real;
pub(crate) mod namespaces;
pub(crate) mod plugin_orders;
pub(crate) mod plugins;
pub(crate) mod real;
pub(crate) mod spawn;
pub(crate) mod typed_start;
pub(crate) mod waker;
