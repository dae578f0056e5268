//! Numbers in as few bytes as they need.
//!
//! ```text
//! numbers  := 0 · packed  |  1 · first: signed · packed differences
//!           | 2 · runs: varint · packed values of runs · packed lengths of runs
//!           | 3 · entries: varint · packed entries · packed places in them
//! packed   := smallest: signed · bits of each: u8 · offsets from the smallest one
//! ```

use hashbrown::HashMap;

use crate::bits::{is_width, pack, packed_bytes, unpack, width};
use crate::input::{Damaged, Input, Result, put_signed, put_varint};

const PACKED: u8 = 0;
const DIFFERENCES: u8 = 1;
const RUNS: u8 = 2;
const DICTIONARY: u8 = 3;

/// Numbers of fewer bits are not worth a dictionary.
const WORTH_DICTIONARY: u32 = 24;
/// Entries of a dictionary at most, and those among the first numbers.
const MAX_ENTRIES: usize = 256;
const MAX_OF_SAMPLE: usize = 24;
const SAMPLE: usize = 96;

/// What is known of some numbers.
struct Statistics {
    least: i64,
    most: i64,
    /// Of the differences between neighbours.
    least_step: i64,
    most_step: i64,
    runs: usize,
}

impl Statistics {
    fn of(values: &[i64]) -> Self {
        let first = values.first().copied().unwrap_or(0);
        let mut all = Self {
            least: first,
            most: first,
            least_step: i64::MAX,
            most_step: i64::MIN,
            runs: 1,
        };
        let mut before = first;
        for value in values.iter().skip(1) {
            let step = value.wrapping_sub(before);
            all.least = all.least.min(*value);
            all.most = all.most.max(*value);
            all.least_step = all.least_step.min(step);
            all.most_step = all.most_step.max(step);
            all.runs += usize::from(step != 0);
            before = *value;
        }
        all
    }

    fn width(&self) -> u32 {
        width(self.most.wrapping_sub(self.least) as u64)
    }

    fn step_width(&self) -> u32 {
        width(self.most_step.wrapping_sub(self.least_step) as u64)
    }
}

/// Appends numbers.
pub(crate) fn encode(values: &[i64], out: &mut Vec<u8>) {
    let all = Statistics::of(values);
    let width = all.width();
    let plain = packed_bytes(values.len(), width);
    // Runs have a value and a length each. They and differences are to save an eighth, and more than their heads.
    let of_runs = packed_bytes(all.runs, width) + packed_bytes(all.runs, 12);
    let of_steps = packed_bytes(values.len(), all.step_width());
    let enough = plain - plain / 8;
    let saves = |bytes: usize| bytes + 16 < enough;
    if saves(of_runs) && of_runs <= of_steps {
        return encode_runs(values, out);
    }
    if values.len() > 1 && saves(of_steps) {
        out.push(DIFFERENCES);
        let first = values.first().copied().unwrap_or(0);
        put_signed(first, out);
        let steps = values.iter().zip(values.iter().skip(1));
        let steps = steps.map(|(before, value)| value.wrapping_sub(*before));
        return put_packed(steps, all.least_step, all.step_width(), out);
    }
    if width >= WORTH_DICTIONARY && encode_dictionary(values, plain, out) {
        return;
    }
    out.push(PACKED);
    put_packed(values.iter().copied(), all.least, width, out);
}

fn put_packed(values: impl Iterator<Item = i64>, least: i64, width: u32, out: &mut Vec<u8>) {
    put_signed(least, out);
    out.push(width as u8);
    pack(
        values.map(|value| value.wrapping_sub(least) as u64),
        width,
        out,
    );
}

/// Appends numbers without looking for something shorter.
fn encode_packed(values: &[i64], out: &mut Vec<u8>) {
    let all = Statistics::of(values);
    put_packed(values.iter().copied(), all.least, all.width(), out);
}

fn encode_runs(values: &[i64], out: &mut Vec<u8>) {
    let (mut of_runs, mut lengths) = (Vec::new(), Vec::new());
    for run in values.chunk_by(|before, value| before == value) {
        of_runs.extend(run.first());
        lengths.push(run.len() as i64);
    }
    out.push(RUNS);
    put_varint(of_runs.len() as u64, out);
    encode_packed(&of_runs, out);
    encode_packed(&lengths, out);
}

/// `false` if there are too many different numbers, or it saves too little in place of so many bytes; nothing is
/// appended then.
fn encode_dictionary(values: &[i64], plain: usize, out: &mut Vec<u8>) -> bool {
    let mut places: HashMap<i64, i64> = HashMap::new();
    let mut entries = Vec::new();
    let mut found = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let place = *places.entry(*value).or_insert_with(|| {
            entries.push(*value);
            entries.len() as i64 - 1
        });
        found.push(place);
        if entries.len() > MAX_ENTRIES || (index < SAMPLE && entries.len() > MAX_OF_SAMPLE) {
            return false;
        }
    }
    let bits = width(entries.len() as u64);
    if entries.len() * 8 + packed_bytes(values.len(), bits) + 16 >= plain - plain / 8 {
        return false;
    }
    out.push(DICTIONARY);
    put_varint(entries.len() as u64, out);
    encode_packed(&entries, out);
    encode_packed(&found, out);
    true
}

/// Appends `count` numbers of the input to `out`.
pub(crate) fn decode(input: &mut Input<'_>, count: usize, out: &mut Vec<i64>) -> Result<()> {
    match input.byte()? {
        PACKED => decode_packed(input, count, out),
        DIFFERENCES => {
            let first = input.signed()?;
            let start = out.len();
            out.push(first);
            let steps = count.checked_sub(1).ok_or(Damaged("too many numbers"))?;
            decode_packed(input, steps, out)?;
            let mut last = first;
            for value in out.iter_mut().skip(start + 1) {
                last = last.wrapping_add(*value);
                *value = last;
            }
            Ok(())
        }
        RUNS => {
            let runs = input.length(count)?;
            let (mut values, mut lengths) = (Vec::new(), Vec::new());
            decode_packed(input, runs, &mut values)?;
            decode_packed(input, runs, &mut lengths)?;
            let mut left = count;
            for (value, length) in values.into_iter().zip(lengths) {
                let length = usize::try_from(length).ok();
                let length = length.filter(|length| *length <= left);
                let length = length.ok_or(Damaged("runs of another length"))?;
                left -= length;
                out.extend(std::iter::repeat_n(value, length));
            }
            match left {
                0 => Ok(()),
                _ => Err(Damaged("runs of another length")),
            }
        }
        DICTIONARY => {
            let entries = input.length(count)?;
            let mut values = Vec::new();
            decode_packed(input, entries, &mut values)?;
            let start = out.len();
            decode_packed(input, count, out)?;
            for place in out.iter_mut().skip(start) {
                let entry = usize::try_from(*place).ok();
                let entry = entry.and_then(|entry| values.get(entry));
                *place = *entry.ok_or(Damaged("a place outside of its dictionary"))?;
            }
            Ok(())
        }
        _ => Err(Damaged("numbers of an unknown form")),
    }
}

fn decode_packed(input: &mut Input<'_>, count: usize, out: &mut Vec<i64>) -> Result<()> {
    let least = input.signed()?;
    let width = u32::from(input.byte()?);
    if !is_width(width) {
        return Err(Damaged("numbers of an unknown width"));
    }
    let bytes = input.bytes(packed_bytes(count, width))?;
    match width {
        0 => out.extend(std::iter::repeat_n(least, count)),
        _ => {
            out.extend(unpack(bytes, count, width).map(|offset| least.wrapping_add(offset as i64)))
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(values: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(values, &mut bytes);
        bytes
    }

    fn assert_back(values: &[i64]) -> Vec<u8> {
        let bytes = encoded(values);
        let mut input = Input(&bytes);
        let mut read = vec![42];
        decode(&mut input, values.len(), &mut read).unwrap();
        input.end().unwrap();
        assert_eq!(read.get(1..), Some(values));
        bytes
    }

    #[test]
    fn each_form_is_used_where_it_is_short() {
        let keys: Vec<i64> = (0..4000).map(|n| n * 32 + n % 3).collect();
        let bytes = assert_back(&keys);
        assert_eq!(bytes.first(), Some(&DIFFERENCES));
        assert!(bytes.len() < 1100, "{}", bytes.len());
        let runs: Vec<i64> = (0..4000).map(|n| (n / 100) * 7_919 % 1000).collect();
        let bytes = assert_back(&runs);
        assert_eq!(bytes.first(), Some(&RUNS));
        assert!(bytes.len() < 200, "{}", bytes.len());
        let prices = [0.05_f64, 12.5, -0.0, f64::NAN, 1e300];
        let prices = (0..4000_usize).map(|n| prices[n * n % 7 % 5].to_bits() as i64);
        let bytes = assert_back(&prices.collect::<Vec<_>>());
        assert_eq!(bytes.first(), Some(&DICTIONARY));
        assert!(bytes.len() < 1700, "{}", bytes.len());
        let small: Vec<i64> = (0..4000).map(|n| 1_000_000 + n * 7_919 % 50).collect();
        let bytes = assert_back(&small);
        assert_eq!(bytes.first(), Some(&PACKED));
        assert!(bytes.len() < 3020, "{}", bytes.len());
        assert!(assert_back(&[7; 4000]).len() < 10);
    }

    #[test]
    fn edges_come_back() {
        for values in [
            vec![],
            vec![i64::MIN],
            vec![i64::MIN, i64::MAX],
            vec![i64::MAX, i64::MIN, 0, i64::MIN],
            vec![0, -1, 1 << 57],
        ] {
            assert_back(&values);
        }
    }

    #[test]
    fn damage_is_seen() {
        let mut bytes = Vec::new();
        encode_runs(&[5, 5, 5, 6], &mut bytes);
        for count in [0, 1, 3, 5] {
            assert!(decode(&mut Input(&bytes), count, &mut Vec::new()).is_err());
        }
        for bytes in [
            &[9][..],
            &[PACKED, 0, 57, 0],
            &[PACKED, 0, 8],
            &[DICTIONARY, 1, 0, 0, 2, 0],
        ] {
            assert!(
                decode(&mut Input(bytes), 2, &mut Vec::new()).is_err(),
                "{bytes:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn all_numbers_come_back(values in proptest::collection::vec(any::<i64>(), 0..300)) {
            assert_back(&values);
        }

        #[test]
        fn repeated_numbers_come_back(
            few in proptest::collection::vec(any::<i64>(), 1..5),
            places in proptest::collection::vec((0..5_usize, 1..40_usize), 0..100),
        ) {
            let values = places.iter().flat_map(|(at, times)| {
                std::iter::repeat_n(few[at % few.len()], *times)
            });
            assert_back(&values.collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60), count in 0..300_usize) {
            let mut read = Vec::new();
            if decode(&mut Input(&bytes), count, &mut read).is_ok() {
                prop_assert_eq!(read.len(), count);
            }
        }
    }
}
