//! Bits in the making.

use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};

use super::RowSpan;

/// Bits in the making.
pub(crate) struct Bits {
    words: Vec<u64>,
    pub(super) len: usize,
}

impl Bits {
    /// These bits.
    pub(crate) fn of(bits: impl IntoIterator<Item = bool>) -> Self {
        let bits = bits.into_iter();
        let mut of = Self::with_capacity(bits.size_hint().0);
        for bit in bits {
            of.push(bit.into(), 1);
        }
        of
    }

    pub(super) fn with_capacity(bits: usize) -> Self {
        Self {
            words: Vec::with_capacity(bits.div_ceil(64) + 1),
            len: 0,
        }
    }

    #[inline]
    pub(super) fn extend(&mut self, spans: &[RowSpan], bit: impl Fn(&RowSpan) -> bool) {
        for chunk in spans.chunks(64) {
            let mut word = 0;
            for (shift, span) in chunk.iter().enumerate() {
                word |= u64::from(bit(span)) << shift;
            }
            self.push(word, chunk.len());
        }
    }

    /// Whether so many elements of an array are not null, by its bit set of nulls, which is whole words.
    pub(super) fn extend_valid(&mut self, nulls: &[u8], count: usize) {
        let (words, _) = nulls.as_chunks::<8>();
        for (start, word) in (0..count).step_by(64).zip(words) {
            let here = (count - start).min(64);
            let mask = u64::MAX >> (64 - here);
            self.push(!u64::from_le_bytes(*word) & mask, here);
        }
    }

    /// The low `count` bits of a word, 1 to 64.
    #[inline]
    pub(super) fn push(&mut self, word: u64, count: usize) {
        let used = self.len % 64;
        if let (1.., Some(last)) = (used, self.words.last_mut()) {
            *last |= word << used;
            if used + count > 64 {
                self.words.push(word >> (64 - used));
            }
        } else {
            self.words.push(word);
        }
        self.len += count;
    }

    pub(super) fn finish(self) -> BooleanBuffer {
        BooleanBuffer::new(Buffer::from_vec(self.words), 0, self.len)
    }

    pub(super) fn finish_nulls(self) -> Option<NullBuffer> {
        Some(NullBuffer::new(self.finish())).filter(|nulls| nulls.null_count() > 0)
    }
}
