//! What is said of a block that is uploaded.
#![no_main]

use wire::messages::BlockReplicationMetadata;

firesteel_fuzz::target!(|data: &[u8]| {
    if let Ok(metadata) = BlockReplicationMetadata::decode(data) {
        let _ = metadata.level.is_valid();
        assert!(
            metadata
                .class_tag
                .is_none_or(|class| class.len() <= 3 * data.len())
        );
    }
});
