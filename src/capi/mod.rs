//! The C ABI: `extern "C"` only, nothing else.
