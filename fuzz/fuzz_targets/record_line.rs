//! Lines of files of CSV and JSON.
#![no_main]

use exec::fuzzing::record_line;

firesteel_fuzz::target!(|data: &[u8]| record_line(data));
