//! Links the binary at a fixed address: ten thousand relocations at every start would cost more than a `check`.

#[allow(clippy::disallowed_methods, reason = "a build script is told everything by its environment")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
