//! Task descriptions of all versions: what is read is written back so that it reads the same.
#![no_main]

use bytes::Bytes;
use wire::WireVersion;
use wire::task_description::TaskDescription;

firesteel_fuzz::target!(|data: &[u8]| {
    let data = Bytes::copy_from_slice(data);
    for version in [WireVersion::oldest(), WireVersion::newest()] {
        if let Ok(task) = TaskDescription::read(&data, &version) {
            let written = task.write(&version).expect("it was read in this version");
            assert_eq!(TaskDescription::read(&written.into(), &version), Ok(task));
        }
    }
});
