//! Transport frames with everything inside them, as `firesteel decode` shows them.
#![no_main]

firesteel_fuzz::target!(|data: &[u8]| {
    for frame in wire::json::frames(data) {
        assert!(frame.is_object());
    }
});
