//! Class files, and what the catalog computes from them.
#![no_main]

use javaser::ClassFile;

firesteel_fuzz::target!(|data: &[u8]| {
    if let Ok(class) = ClassFile::parse(data) {
        let _ = class.name();
        let _ = class.serial_version_uid();
        let _ = class.serial_fields();
        let _ = class.has_write_object();
    }
});
