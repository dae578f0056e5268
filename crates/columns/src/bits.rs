//! Numbers of a few bits each, one behind the other from the low bits of the first byte on.

/// Wider numbers take all 64 bits, so that each lies within 8 bytes.
const WIDEST: u32 = 56;

/// Bits that numbers up to `largest` take: 0 to 56, or 64.
pub(crate) fn width(largest: u64) -> u32 {
    match u64::BITS - largest.leading_zeros() {
        width @ 0..=WIDEST => width,
        _ => u64::BITS,
    }
}

/// Whether numbers have this width.
pub(crate) fn is_width(width: u32) -> bool {
    width <= WIDEST || width == u64::BITS
}

/// Bytes of `count` numbers of that width.
pub(crate) fn packed_bytes(count: usize, width: u32) -> usize {
    // Counts are those of rows in a frame.
    (count * width as usize).div_ceil(8)
}

/// Appends numbers; each has at most `width` bits.
pub(crate) fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut waiting, mut bits) = (0_u128, 0);
    for value in values {
        waiting |= u128::from(value) << bits;
        bits += width;
        if bits >= u64::BITS {
            out.extend_from_slice(&(waiting as u64).to_le_bytes());
            waiting >>= u64::BITS;
            bits -= u64::BITS;
        }
    }
    let rest = waiting.to_le_bytes();
    out.extend(rest.iter().take(bits.div_ceil(8) as usize));
}

/// The first `count` numbers in `bytes`; what is not there is 0.
pub(crate) fn unpack(bytes: &[u8], count: usize, width: u32) -> impl Iterator<Item = u64> {
    let mask = match width {
        u64::BITS => u64::MAX,
        width => (1 << width) - 1,
    };
    (0..count).map(move |index| {
        let at = index * width as usize;
        (eight_bytes(bytes, at / 8) >> (at % 8)) & mask
    })
}

#[inline]
fn eight_bytes(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or(&[]);
    match rest.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => (0..)
            .step_by(8)
            .zip(rest)
            .fold(0, |value, (shift, byte)| value | u64::from(*byte) << shift),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_widths_come_back() {
        for bits in 0..=u64::BITS {
            let largest = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
            let width = width(largest);
            assert!(width >= bits && is_width(width), "{bits}");
            for count in [0, 1, 2, 7, 8, 9, 63, 64, 65, 300_usize] {
                let numbers = (0..count as u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                let numbers: Vec<u64> = numbers.map(|number| number & largest).collect();
                let mut packed = vec![7];
                pack(numbers.iter().copied(), width, &mut packed);
                assert_eq!(packed.len() - 1, packed_bytes(count, width));
                let read: Vec<u64> = unpack(&packed[1..], count, width).collect();
                assert_eq!(read, numbers, "{bits} bits, {count} numbers");
            }
        }
        assert!(!is_width(57) && !is_width(65));
    }

    #[test]
    fn what_is_not_there_is_zero() {
        assert_eq!(unpack(&[255], 3, 6).collect::<Vec<_>>(), [63, 3, 0]);
    }
}
