//! Reading a frame from its beginning to its end.

use rows::error::bail_out;

/// A frame that cannot be read: it was damaged, or is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame of columns with {0}")]
pub struct Damaged(pub &'static str);

/// A task that meets one gives up.
impl From<Damaged> for datafusion_common::DataFusionError {
    fn from(why: Damaged) -> Self {
        bail_out(why.to_string())
    }
}

pub(crate) type Result<T> = std::result::Result<T, Damaged>;

/// What is left to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'b>(pub(crate) &'b [u8]);

impl<'b> Input<'b> {
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Damaged("no end"))?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        let (byte, rest) = self.0.split_first().ok_or(Damaged("no end"))?;
        self.0 = rest;
        Ok(*byte)
    }

    /// A number as [`put_varint`] writes it.
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Damaged("a number that is too large"))
    }

    /// A length of at most `most`.
    pub(crate) fn length(&mut self, most: usize) -> Result<usize> {
        let length = usize::try_from(self.varint()?).ok();
        length
            .filter(|length| *length <= most)
            .ok_or(Damaged("a length that is too large"))
    }

    /// A number as [`put_signed`] writes it.
    pub(crate) fn signed(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Fails if something is left.
    pub(crate) fn end(self) -> Result<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Damaged("bytes behind its end")),
        }
    }
}

/// Appends a number, seven bits a byte from the lowest on.
pub(crate) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number that is short if it is near zero.
pub(crate) fn put_signed(value: i64, out: &mut Vec<u8>) {
    put_varint((value << 1 ^ value >> 63) as u64, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, -1, 63, -64, 64, i64::MAX, i64::MIN, 1 << 35] {
            let mut bytes = Vec::new();
            put_signed(value, &mut bytes);
            put_varint(value as u64, &mut bytes);
            let mut input = Input(&bytes);
            assert_eq!(input.signed(), Ok(value));
            assert_eq!(input.varint(), Ok(value as u64));
            assert_eq!(input.end(), Ok(()));
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert!(Input(&[0x80]).varint().is_err());
        assert!(Input(&[0xFF; 11]).varint().is_err());
        let mut too_large = [0x80; 10];
        too_large[9] = 2;
        assert!(Input(&too_large).varint().is_err());
        assert!(Input(&[5]).length(4).is_err());
        assert!(Input(&[0]).end().is_err());
    }
}
