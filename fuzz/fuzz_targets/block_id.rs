//! Names of blocks: ids keep their text, and none can be a path. And the external forms that hold such names.
#![no_main]

use wire::codec::Reader;
use wire::ids::{BlockId, BlockManagerId};
use wire::map_status::{CompressedMapStatus, HighlyCompressedMapStatus, MergeStatus};

firesteel_fuzz::target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(id) = BlockId::parse(text) {
            assert_eq!(id.to_string(), text);
            assert!(!text.contains('/') && text.len() <= 255);
        }
    }
    let _ = BlockManagerId::read(&mut Reader::new(data));
    let _ = CompressedMapStatus::read(data);
    let _ = HighlyCompressedMapStatus::read(data);
    let _ = MergeStatus::read(data);
});
