//! `postroom --version`, which is one line, and `postroom --version --verbose`: what a report of a bug should contain.

/// The version alone.
pub(super) const LINE: &str = concat!("postroom ", env!("CARGO_PKG_VERSION"), "\n");

const FEATURES: [(&str, bool); 3] = [
    ("mcp", cfg!(feature = "mcp")),
    ("mutations", cfg!(feature = "mutations")),
    ("portable", cfg!(feature = "portable")),
];

/// The version, and how this binary was built (`build.rs`).
pub(super) fn verbose() -> String {
    let features: Vec<&str> = FEATURES.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    // Some tools compile without the build script.
    let said = |value: Option<&'static str>| value.unwrap_or("unknown");
    let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    format!(
        "{LINE}commit: {}\nprofile: {}\nfeatures: {features}\nplatform layer: {}\ntarget: {}, {linked}\n",
        said(option_env!("POSTROOM_COMMIT")),
        said(option_env!("POSTROOM_PROFILE")),
        crate::os::LAYER,
        said(option_env!("POSTROOM_TARGET")),
    )
}
