//! Names of blocks: no text is lost. And the external forms that hold such names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::codec::Reader;
use wire::ids::{BlockId, BlockManagerId};
use wire::map_status::{CompressedMapStatus, HighlyCompressedMapStatus, MergeStatus};

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        assert_eq!(BlockId::parse(text).to_string(), text);
    }
    let _ = BlockManagerId::read(&mut Reader::new(data));
    let _ = CompressedMapStatus::read(data);
    let _ = HighlyCompressedMapStatus::read(data);
    let _ = MergeStatus::read(data);
});
