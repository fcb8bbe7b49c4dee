//! Hosts in a static binary: nobody looks them up by the C library, which even in a static binary loads whatever the machine has
//! for that. The courier resolves names in Rust, and hands addresses to its connection; other code takes addresses alone. Crates
//! still contain a call, so the two functions behind it are here. They find nothing, and the C library's are not linked.

use std::ffi::{c_char, c_int, c_void};

/// `EAI_FAIL`: the name cannot be resolved.
const FAIL: c_int = -4;

#[allow(
    unsafe_code,
    reason = "a symbol of the C library is given under its own name, as the linker asks for it"
)]
#[unsafe(no_mangle)]
extern "C" fn getaddrinfo(
    _: *const c_char,
    _: *const c_char,
    _: *const c_void,
    _: *mut *mut c_void,
) -> c_int {
    FAIL
}

/// Nothing was found, so there is nothing to free.
#[allow(
    unsafe_code,
    reason = "a symbol of the C library is given under its own name, as the linker asks for it"
)]
#[unsafe(no_mangle)]
extern "C" fn freeaddrinfo(_: *mut c_void) {}
