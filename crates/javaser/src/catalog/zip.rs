//! Reading jars: the central directory once, then single entries, all with positioned reads. Nothing is mapped and no
//! name is kept, because the executor's resident memory counts.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use flate2::Crc;
use flate2::read::DeflateDecoder;

/// A class file or resource above this is not read.
const MAX_ENTRY: u64 = 64 << 20;
/// Bytes read at a time from the central directory.
const CHUNK: usize = 64 << 10;

/// An open jar.
#[derive(Debug)]
pub(crate) struct Jar {
    file: File,
    len: u64,
    /// Sorted by hash.
    entries: Vec<Entry>,
}

/// One entry of the central directory; the name is verified against the local header when it is read.
#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    offset: u64,
    compressed: u32,
    size: u32,
    crc: u32,
    method: u16,
}

impl Jar {
    pub(crate) fn open(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let end = End::find(&file, len)?;
        let mut entries = Vec::with_capacity(
            usize::try_from(end.directory_len / 64)
                .unwrap_or(0)
                .min(1 << 16),
        );
        let mut buffer = Vec::new();
        let mut position = end.directory_at;
        let directory_end = end.directory_at + end.directory_len;
        loop {
            let mut rest = buffer.as_slice();
            while let Some((entry, after)) = Entry::parse(rest, end.base)? {
                entries.extend(entry);
                rest = after;
            }
            let used = buffer.len() - rest.len();
            buffer.drain(..used);
            if position >= directory_end {
                break;
            }
            let want = CHUNK.min(usize::try_from(directory_end - position).unwrap_or(CHUNK));
            let old = buffer.len();
            buffer.resize(old + want, 0);
            let Some(space) = buffer.get_mut(old..) else {
                break;
            };
            file.read_exact_at(space, position)?;
            position += want as u64;
        }
        if !buffer.is_empty() {
            return Err(bad("its central directory is cut"));
        }
        entries.sort_unstable_by_key(|e| e.hash);
        entries.shrink_to_fit();
        Ok(Self { file, len, entries })
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.find(name).next().is_some()
    }

    /// Content of the entry, `None` if there is none of this name.
    pub(crate) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        for entry in self.find(name) {
            if let Some(content) = self.read_entry(entry, name)? {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }

    fn find(&self, name: &str) -> impl Iterator<Item = &Entry> {
        let hash = fnv1a(name.as_bytes());
        let first = self.entries.partition_point(|e| e.hash < hash);
        self.entries
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |e| e.hash == hash)
    }

    fn read_entry(&self, entry: &Entry, name: &str) -> io::Result<Option<Vec<u8>>> {
        if u64::from(entry.size) > MAX_ENTRY || u64::from(entry.compressed) > MAX_ENTRY {
            return Err(bad("an entry is too large"));
        }
        // Header, name, extra field and data in one read nearly always; the file may end before.
        const EXTRA_GUESS: usize = 256;
        let wanted = 30 + name.len() + EXTRA_GUESS + entry.compressed as usize;
        let mut raw = self.read_up_to(entry.offset, wanted)?;
        let header = Fields(&raw);
        if header.u32(0) != Some(0x0403_4B50) {
            return Err(bad("an entry has no local header"));
        }
        let (Some(name_len), Some(extra_len)) = (header.u16(26), header.u16(28)) else {
            return Err(bad("an entry's local header is cut"));
        };
        let data_at = 30 + usize::from(name_len) + usize::from(extra_len);
        if raw.get(30..30 + usize::from(name_len)) != Some(name.as_bytes()) {
            return Ok(None);
        }
        let data_end = data_at + entry.compressed as usize;
        if data_end > wanted {
            raw = self.read_up_to(entry.offset, data_end)?;
        }
        let data = raw
            .get(data_at..data_end)
            .ok_or_else(|| bad("an entry is cut"))?;
        let content = match entry.method {
            0 => data.to_vec(),
            8 => {
                // The size is only claimed.
                let mut content = Vec::with_capacity((entry.size as usize).min(CHUNK));
                // One byte more than announced shows a wrong size.
                DeflateDecoder::new(data)
                    .take(u64::from(entry.size) + 1)
                    .read_to_end(&mut content)?;
                content
            }
            _ => return Err(bad("an entry has an unknown compression method")),
        };
        let mut crc = Crc::new();
        crc.update(&content);
        if content.len() != entry.size as usize || crc.sum() != entry.crc {
            return Err(bad("an entry's checksum is wrong"));
        }
        Ok(Some(content))
    }

    fn read_up_to(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let available = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut buffer = vec![0; len.min(available)];
        let mut filled = 0;
        while let Some(space) = buffer.get_mut(filled..).filter(|s| !s.is_empty()) {
            match self
                .file
                .read_at(space, offset.saturating_add(filled as u64))
            {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        buffer.truncate(filled);
        Ok(buffer)
    }
}

impl Entry {
    /// The next entry of the central directory and what follows it; an outer `None` if `bytes` ends before. Directories
    /// and encrypted entries are left out.
    fn parse(bytes: &[u8], base: u64) -> io::Result<Option<(Option<Self>, &[u8])>> {
        let header = Fields(bytes);
        let (Some(signature), Some(_)) = (header.u32(0), header.u32(42)) else {
            return Ok(None);
        };
        if signature != 0x0201_4B50 {
            return Err(bad("its central directory is damaged"));
        }
        let len = |at| usize::from(header.u16(at).unwrap_or(0));
        let (name_len, extra_len, comment_len) = (len(28), len(30), len(32));
        let Some((entry, rest)) = bytes.split_at_checked(46 + name_len + extra_len + comment_len)
        else {
            return Ok(None);
        };
        let name = entry.get(46..46 + name_len).unwrap_or_default();
        let field = |at| header.u32(at).unwrap_or(0);
        let (compressed, size, mut offset) = (field(20), field(24), u64::from(field(42)));
        if offset == u64::from(u32::MAX) {
            let extra = entry
                .get(46 + name_len..46 + name_len + extra_len)
                .unwrap_or_default();
            offset = zip64_offset(extra, compressed, size)
                .ok_or_else(|| bad("an entry has no offset"))?;
        }
        let encrypted = header.u16(8).unwrap_or(0) & 1 != 0;
        if encrypted || name.ends_with(b"/") || name.is_empty() {
            return Ok(Some((None, rest)));
        }
        let entry = Self {
            hash: fnv1a(name),
            offset: offset.saturating_add(base),
            compressed,
            size,
            crc: field(16),
            method: header.u16(10).unwrap_or(0),
        };
        Ok(Some((Some(entry), rest)))
    }
}

/// The offset in a Zip64 extra field: it lists, in this order, those of size, compressed size and offset that did not
/// fit.
fn zip64_offset(mut extra: &[u8], compressed: u32, size: u32) -> Option<u64> {
    loop {
        let (id, len) = (Fields(extra).u16(0)?, Fields(extra).u16(2)?);
        let body = extra.get(4..4 + usize::from(len))?;
        if id == 1 {
            let before = [size, compressed]
                .iter()
                .filter(|&&v| v == u32::MAX)
                .count();
            return Fields(body).u64(before * 8);
        }
        extra = extra.get(4 + usize::from(len)..)?;
    }
}

/// The end record.
struct End {
    directory_at: u64,
    directory_len: u64,
    /// What to add to offsets: bytes in front of the archive.
    base: u64,
}

impl End {
    fn find(file: &File, len: u64) -> io::Result<Self> {
        // The record has 22 bytes and a comment of 65535 bytes at most; comments are rare.
        for tail_len in [1024, 22 + 0xFFFF] {
            let tail_at = len.saturating_sub(tail_len);
            let mut tail = vec![0; usize::try_from(len - tail_at).unwrap_or(0)];
            file.read_exact_at(&mut tail, tail_at)?;
            for at in (0..tail.len().saturating_sub(21)).rev() {
                let record = tail.get(at..).unwrap_or_default();
                let fields = Fields(record);
                if fields.u32(0) == Some(0x0605_4B50)
                    && fields
                        .u16(20)
                        .is_some_and(|c| usize::from(c) + 22 == record.len())
                {
                    return Self::parse(file, fields, tail_at + at as u64);
                }
            }
        }
        Err(bad("it is no zip file"))
    }

    fn parse(file: &File, record: Fields<'_>, record_at: u64) -> io::Result<Self> {
        let cut = || bad("its end record is damaged");
        let mut directory_len = u64::from(record.u32(12).ok_or_else(cut)?);
        let mut offset = u64::from(record.u32(16).ok_or_else(cut)?);
        let mut end_at = record_at;
        let mut locator = [0; 20];
        if let Some(at) = record_at.checked_sub(20)
            && file.read_exact_at(&mut locator, at).is_ok()
            && Fields(&locator).u32(0) == Some(0x0706_4B50)
        {
            let mut record = [0; 56];
            let record64_at = Fields(&locator).u64(8).ok_or_else(cut)?;
            file.read_exact_at(&mut record, record64_at)?;
            if Fields(&record).u32(0) != Some(0x0606_4B50) {
                return Err(cut());
            }
            directory_len = Fields(&record).u64(40).ok_or_else(cut)?;
            offset = Fields(&record).u64(48).ok_or_else(cut)?;
            end_at = record64_at;
        }
        let directory_at = end_at.checked_sub(directory_len).ok_or_else(cut)?;
        let base = directory_at.checked_sub(offset).ok_or_else(cut)?;
        Ok(Self {
            directory_at,
            directory_len,
            base,
        })
    }
}

/// Little-endian fields at fixed places.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    fn u16(self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    fn u32(self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    fn u64(self, at: usize) -> Option<u64> {
        self.bytes(at).map(u64::from_le_bytes)
    }
}

fn bad(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3)
    })
}
