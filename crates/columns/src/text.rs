//! Text and bytes.
//!
//! ```text
//! text := 0 · numbers: lengths · bytes: varint · bytes
//!       | 1 · entries: varint · numbers: lengths of entries · bytes: varint · bytes of entries · numbers: places
//! ```

use arrow::array::builder::make_view;
use hashbrown::HashMap;

use crate::input::{Damaged, Input, Result, put_varint};
use crate::numbers;

const PLAIN: u8 = 0;
const DICTIONARY: u8 = 1;

/// Values by which it is judged whether a dictionary is worth it: if more than half of them differ it is not.
const SAMPLE: usize = 256;

/// Text one behind the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Texts<'t> {
    pub(crate) bytes: &'t [u8],
    /// Where each ends.
    pub(crate) ends: &'t [u32],
    /// Where the first starts.
    pub(crate) start: u32,
}

impl<'t> Texts<'t> {
    fn lengths(self) -> impl Iterator<Item = usize> + use<'t> {
        let starts = std::iter::once(self.start).chain(self.ends.iter().copied());
        let lengths = self.ends.iter().zip(starts);
        lengths.map(|(end, start)| end.saturating_sub(start) as usize)
    }

    fn all(self) -> impl Iterator<Item = &'t [u8]> {
        let mut rest = self.content();
        self.lengths().map(move |length| {
            let (text, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            rest = behind;
            text
        })
    }

    fn content(self) -> &'t [u8] {
        let end = self.ends.last().copied().unwrap_or(self.start);
        let within = self.bytes.get(self.start as usize..end as usize);
        within.unwrap_or(&[])
    }
}

/// Appends text.
pub(crate) fn encode(texts: Texts<'_>, out: &mut Vec<u8>) {
    if encode_dictionary(texts, out) {
        return;
    }
    out.push(PLAIN);
    put_all(texts.lengths(), out);
    put_bytes(texts.content(), out);
}

fn put_all(lengths: impl Iterator<Item = usize>, out: &mut Vec<u8>) {
    let lengths: Vec<i64> = lengths.map(|length| length as i64).collect();
    numbers::encode(&lengths, out);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// `false` if it is not worth it; nothing is appended then.
fn encode_dictionary(texts: Texts<'_>, out: &mut Vec<u8>) -> bool {
    let mut places: HashMap<&[u8], i64> = HashMap::new();
    let mut entries = Vec::new();
    let mut found = Vec::with_capacity(texts.ends.len());
    let mut kept = 0;
    // Every entry is to save the bytes that a place takes, and more.
    let most = texts.content().len() / 2;
    for (index, text) in texts.all().enumerate() {
        let place = *places.entry(text).or_insert_with(|| {
            entries.push(text);
            kept += text.len();
            entries.len() as i64 - 1
        });
        found.push(place);
        let too_many = index + 1 == SAMPLE && entries.len() > SAMPLE / 2;
        if kept > most || too_many {
            return false;
        }
    }
    if entries.len() * 2 > found.len() {
        return false;
    }
    out.push(DICTIONARY);
    put_varint(entries.len() as u64, out);
    put_all(entries.iter().map(|entry| entry.len()), out);
    put_varint(kept as u64, out);
    entries
        .iter()
        .for_each(|entry| out.extend_from_slice(entry));
    numbers::encode(&found, out);
    true
}

/// Text of some frames, as Arrow's views into one buffer.
#[derive(Debug, Default)]
pub(crate) struct Views {
    pub(crate) views: Vec<u128>,
    pub(crate) bytes: Vec<u8>,
}

impl Views {
    /// Appends `count` of an input.
    pub(crate) fn decode(&mut self, input: &mut Input<'_>, count: usize) -> Result<()> {
        match input.byte()? {
            PLAIN => self.read(input, count),
            DICTIONARY => {
                let entries = input.length(count)?;
                let start = self.views.len();
                self.read(input, entries)?;
                let entries = self.views.split_off(start);
                let mut places = Vec::with_capacity(count);
                numbers::decode(input, count, &mut places)?;
                for place in places {
                    let entry = usize::try_from(place).ok();
                    let entry = entry.and_then(|entry| entries.get(entry));
                    let entry = entry.ok_or(Damaged("a place outside of its dictionary"))?;
                    self.views.push(*entry);
                }
                Ok(())
            }
            _ => Err(Damaged("text of an unknown form")),
        }
    }

    /// Appends nulls.
    pub(crate) fn nulls(&mut self, count: usize) {
        self.views.extend(std::iter::repeat_n(0, count));
    }

    fn read(&mut self, input: &mut Input<'_>, count: usize) -> Result<()> {
        let mut lengths = Vec::with_capacity(count);
        numbers::decode(input, count, &mut lengths)?;
        let size = input.length(usize::MAX)?;
        let mut rest = input.bytes(size)?;
        let start = self.bytes.len();
        if u32::try_from(start + size).is_err() {
            return Err(Damaged("more than 4 GiB of text"));
        }
        self.bytes.extend_from_slice(rest);
        let mut at = start;
        for length in lengths {
            let length = usize::try_from(length).ok();
            let split = length.and_then(|length| rest.split_at_checked(length));
            let (text, behind) = split.ok_or(Damaged("text beyond its end"))?;
            rest = behind;
            // Below 4 GiB, see above.
            self.views.push(make_view(text, 0, at as u32));
            at += text.len();
        }
        match rest.is_empty() {
            true => Ok(()),
            false => Err(Damaged("text that nothing points to")),
        }
    }
}
