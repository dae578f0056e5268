use functions::abi::firesteel_str;

/// Version of this interface. It grows when a function, field or code is added; existing ones keep their meaning.
pub const FIRESTEEL_ABI_VERSION: u32 = 1;

/// The version of the interface that the loaded library has. A program built against a header with a larger
/// `FIRESTEEL_ABI_VERSION` must not go on.
///
/// # Safety
/// None needed: may be called at any time, from any thread.
#[unsafe(no_mangle)]
pub extern "C" fn firesteel_abi_version() -> u32 {
    FIRESTEEL_ABI_VERSION
}

/// The version of the library, such as `0.1.0`. The text is static: it is never freed.
///
/// # Safety
/// None needed: may be called at any time, from any thread.
#[unsafe(no_mangle)]
pub extern "C" fn firesteel_version() -> firesteel_str {
    firesteel_str::of(env!("CARGO_PKG_VERSION"))
}
