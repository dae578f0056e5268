//! Headers of RPC messages: what is read is written back to the same bytes.
#![no_main]

use bytes::Bytes;
use wire::envelope::RequestEnvelope;

firesteel_fuzz::target!(|data: &[u8]| {
    let body = Bytes::copy_from_slice(data);
    if let Ok(envelope) = RequestEnvelope::read(&body) {
        let written = envelope.write().expect("it was short enough to be read");
        assert_eq!(RequestEnvelope::read(&written), Ok(envelope));
    }
});
