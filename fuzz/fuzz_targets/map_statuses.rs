//! Where map outputs are: what is read of a status is written back so that it reads the same.
#![no_main]

use bytes::Bytes;
use javaser::Limits;
use wire::WireVersion;
use wire::map_status::{CompressedMapStatus, HighlyCompressedMapStatus, MapStatus, MergeStatus};
use wire::messages::{GetMapOutputStatuses, MapOutputs};

firesteel_fuzz::target!(|data: &[u8]| {
    let newest = WireVersion::newest();
    if let Ok(status) = CompressedMapStatus::read(data) {
        let written = status.write(&newest).expect("it was read");
        assert_eq!(CompressedMapStatus::read(&written), Ok(status));
    }
    if let Ok(status) = HighlyCompressedMapStatus::read(data) {
        let written = status.write(&newest).expect("it was read");
        assert_eq!(HighlyCompressedMapStatus::read(&written), Ok(status));
    }
    if let Ok(status) = MergeStatus::read(data) {
        let written = status.write().expect("it was read");
        assert_eq!(MergeStatus::read(&written), Ok(status));
    }
    for status in MapStatus::decode_array(data, &Limits::default())
        .into_iter()
        .flatten()
        .flatten()
    {
        for reducer in [0, 1, 1000, u32::MAX] {
            assert!(
                status.size_for_block(reducer) >= 0
                    || matches!(status, MapStatus::HighlyCompressed(_))
            );
        }
        let _ = (status.location(), status.map_id());
    }
    if let Ok(reply) = GetMapOutputStatuses::read_reply(data) {
        let _ = MapOutputs::read(&reply);
    }
    let _ = MapOutputs::read(&Bytes::copy_from_slice(data));
    firesteel::fuzzing::chunks_of_statuses(data);
});
