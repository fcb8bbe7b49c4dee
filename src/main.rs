//! The `postroom` command: everything it does is in `postroom::cli`.

use std::process::ExitCode;

#[allow(clippy::disallowed_methods, reason = "the one place that reads the arguments")]
fn main() -> ExitCode {
    postroom::cli::run(std::env::args_os().collect())
}

/// The power of two numbers, for the templates of workflows: the one thing for which a dynamic binary would need `libm.so`, and
/// loading that at every start took `send` from 117 to 127 system calls. Defined here, it is linked instead. A static binary has
/// that of the C library.
#[cfg(not(target_feature = "crt-static"))]
#[allow(
    unsafe_code,
    reason = "a symbol of the C library is given under its own name, as the linker asks for it"
)]
#[unsafe(no_mangle)]
extern "C" fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}
