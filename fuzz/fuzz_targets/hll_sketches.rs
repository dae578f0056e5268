//! HLL sketches out of tables: read, written again, united with others, and estimated.
#![no_main]

use sketches::hll::{HllSketch, HllUnion, Source};

firesteel_fuzz::target!(|data: &[u8]| {
    // Where one sketch ends and the next begins.
    let (at, data) = match data.split_first_chunk() {
        Some((at, data)) => (usize::from(u16::from_le_bytes(*at)), data),
        None => return,
    };
    let (first, second) = data.split_at(at.min(data.len()));
    let sketches = [first, second, data].map(HllSketch::read);
    let mut sketches = sketches.into_iter().filter_map(Result::ok);
    let Some(mut sketch) = sketches.next() else {
        return;
    };
    let bytes = sketch.to_bytes();
    assert!(HllSketch::read(&bytes).is_ok_and(|again| again.to_bytes() == bytes));
    let _ = sketch.estimate();
    let mut union = HllUnion::of(sketch.clone());
    for value in 0..50 {
        sketch.add_long(value);
    }
    for other in sketches.chain([sketch]) {
        union.add(other, Source::Bytes);
        let _ = union.finish().estimate();
    }
    let mut smaller = HllUnion::new(4).expect("a union of that size");
    smaller.add(union.into_sketch(), Source::Object);
    let _ = smaller.into_sketch().to_bytes();
});
