//! Transport frames with everything inside them, as `firesteel decode` shows them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for frame in wire::json::frames(data) {
        assert!(frame.is_object());
    }
});
