//! `postroom --version`, which is one line, and `postroom --version --verbose`: what a report of a bug should contain.

/// The version alone.
pub(super) const LINE: &str = concat!("postroom ", env!("CARGO_PKG_VERSION"), "\n");

const FEATURES: &[(&str, bool)] = &[
    ("mcp", cfg!(feature = "mcp")),
    ("web", cfg!(feature = "web")),
    ("tui", cfg!(feature = "tui")),
    ("courier", cfg!(feature = "courier")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_told() {
        let manifest: toml::Table = toml::from_str(include_str!("../../Cargo.toml")).unwrap();
        let mut features: Vec<&str> =
            manifest["features"].as_table().unwrap().keys().map(String::as_str).collect();
        features.retain(|name| *name != "default");
        features.sort_unstable();
        let mut told: Vec<&str> = FEATURES.iter().map(|(name, _)| *name).collect();
        told.sort_unstable();
        assert_eq!(told, features);
    }
}
