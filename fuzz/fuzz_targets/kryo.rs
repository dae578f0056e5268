//! Kryo's values, and the rows in collections of them.
#![no_main]

use javaser::kryo::{KryoForm, last_unsafe_rows, length_of_sequence};

firesteel_fuzz::target!(|data: &[u8]| {
    firesteel::fuzzing::kryo(data);
    for (fixed_width, references) in [(true, true), (false, true), (true, false)] {
        let form = KryoForm {
            fixed_width,
            references,
        };
        let _ = length_of_sequence(data, form);
        if let Some(rows) = last_unsafe_rows(data, form) {
            let size: usize = rows.iter().map(|(row, _)| row.len()).sum();
            assert!(size <= data.len());
        }
    }
});
