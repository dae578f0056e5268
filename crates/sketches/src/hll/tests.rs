#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn of(lg_k: u8, values: i64) -> HllSketch {
    let mut sketch = HllSketch::new(lg_k).unwrap();
    (0..values).for_each(|value| sketch.add_long(value));
    sketch
}

/// Sketches in every mode.
fn all() -> Vec<HllSketch> {
    let sizes = [0, 1, 7, 8, 24, 25, 100, 1000];
    let each = |lg_k| sizes.map(|values| of(lg_k, values));
    [4, 8, 12].into_iter().flat_map(each).collect()
}

#[test]
fn what_is_written_is_read() {
    for sketch in all() {
        let bytes = sketch.to_bytes();
        assert_eq!(HllSketch::read(&bytes), Ok(sketch));
        for length in (0..bytes.len()).step_by(7) {
            HllSketch::read(&bytes[..length]).unwrap_err();
        }
        HllSketch::read(&[&bytes[..], &[0; 4]].concat()).unwrap_err();
    }
    assert_eq!(HllSketch::new(3), None);
    assert_eq!(HllUnion::new(22), None);
}

#[test]
fn changed_bytes_are_refused_or_computed_with() {
    for sketch in all() {
        let bytes = sketch.to_bytes();
        for place in 0..bytes.len().min(400) {
            let mut changed = bytes.clone();
            changed[place] ^= 0x55;
            if let Ok(other) = HllSketch::read(&changed) {
                let mut union = HllUnion::of(other);
                union.add(sketch.clone(), Source::Bytes);
                let _ = union.into_sketch().estimate();
            }
        }
    }
}

#[test]
fn coupons_out_of_their_place_are_refused() {
    let bytes = of(12, 20).to_bytes();
    let (header, places) = bytes.split_at(12);
    let (places, _) = places.as_chunks::<4>();
    let taken: Vec<_> = (0..places.len())
        .filter(|at| places[*at] != [0; 4])
        .collect();
    for [from, to] in [[taken[0], taken[1]], [taken[3], taken[9]]] {
        let mut changed = places.to_vec();
        changed.swap(from, to);
        let changed = [header, changed.as_flattened()].concat();
        HllSketch::read(&changed).unwrap_err();
    }
}

#[test]
fn few_values_are_counted_exactly() {
    for (lg_k, values) in [(4, 7), (12, 7), (12, 300), (21, 5000)] {
        assert_eq!(of(lg_k, values).estimate(), Ok(values), "{lg_k}");
    }
    let mut empty = HllSketch::new(12).unwrap();
    empty.add_bytes(b"");
    assert!(empty.is_empty());
    empty.add_bytes(b"a");
    assert_eq!(empty.estimate(), Ok(1));
}

#[test]
fn unions_take_the_smaller_size() {
    let mut union = HllUnion::of(of(12, 100_000));
    union.add(of(10, 100_000), Source::Bytes);
    assert_eq!(union.lg_k(), 10);
    union.add(of(14, 50_000), Source::Bytes);
    let estimate = union.into_sketch().estimate().unwrap();
    assert!((90_000..110_000).contains(&estimate), "{estimate}");
}
