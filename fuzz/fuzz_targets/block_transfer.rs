//! Messages of block servers: what is read is written back so that it reads the same.
#![no_main]

use bytes::Bytes;
use wire::block_transfer::BlockTransferMessage;

firesteel_fuzz::target!(|data: &[u8]| {
    let Ok(message) = BlockTransferMessage::read(&Bytes::copy_from_slice(data)) else {
        return;
    };
    let written = message.write().expect("it was short enough to be read");
    assert_eq!(BlockTransferMessage::read(&written.into()), Ok(message));
});
