//! `lib/tzdb.dat` of a JDK, as `java.time.zone.TzdbZoneRulesProvider` reads it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::error::InvalidTable;
use crate::rules::Rules;
use crate::zone::{UnknownZone, Zone};

/// The file of a JDK has 100 KB.
const MAX_BYTES: usize = 4 << 20;

/// The zones that are known. Those of fixed offsets are at all times.
#[derive(Clone, Default)]
pub struct Zones {
    table: Option<Arc<Table>>,
}

struct Table {
    bytes: Vec<u8>,
    version: String,
    /// Where each region's rules are.
    regions: HashMap<String, Range<usize>>,
}

impl Zones {
    /// The zones of a JDK's `tzdb.dat`.
    ///
    /// # Errors
    /// The bytes are none.
    pub fn read(bytes: Vec<u8>) -> Result<Self, InvalidTable> {
        if bytes.len() > MAX_BYTES {
            return Err(InvalidTable::Invalid("size"));
        }
        let (version, regions) = regions(&mut Input::new(&bytes))?;
        let table = Table {
            bytes,
            version,
            regions,
        };
        Ok(Self {
            table: Some(Arc::new(table)),
        })
    }

    /// Version of the rules, such as `2025a`.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.table.as_ref().map(|table| table.version.as_str())
    }

    /// Names of all regions, sorted.
    #[must_use]
    pub fn regions(&self) -> Vec<&str> {
        let table = self.table.iter();
        let mut names: Vec<_> = table
            .flat_map(|table| table.regions.keys().map(String::as_str))
            .collect();
        names.sort_unstable();
        names
    }

    /// `ZoneRegion.ofId`.
    pub(crate) fn region(&self, id: &str) -> Result<Zone, UnknownZone> {
        let table = self.table.as_ref().ok_or(UnknownZone::NoTable)?;
        let place = table.regions.get(id).ok_or(UnknownZone::NotThere)?;
        let bytes = table.bytes.get(place.clone()).unwrap_or_default();
        let rules = Rules::read(&mut Input::new(bytes)).map_err(|_| UnknownZone::Invalid)?;
        Ok(Zone::with_rules(rules))
    }
}

impl fmt::Debug for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zones({})", self.version().unwrap_or("none"))
    }
}

fn count(input: &mut Input<'_>) -> Result<usize, InvalidTable> {
    usize::try_from(input.i16()?).map_err(|_| InvalidTable::Invalid("number"))
}

fn regions(input: &mut Input<'_>) -> Result<(String, HashMap<String, Range<usize>>), InvalidTable> {
    if input.u8()? != 1 || input.text()? != "TZDB" {
        return Err(InvalidTable::Invalid("format"));
    }
    // Of several, Java takes the last one's regions and the first one's version or the other way round, by its own.
    if count(input)? != 1 {
        return Err(InvalidTable::Invalid("number of versions"));
    }
    let version = input.text()?.to_owned();
    let mut names = Vec::new();
    for _ in 0..count(input)? {
        names.push(input.text()?);
    }
    let mut rules = Vec::new();
    for _ in 0..count(input)? {
        let length = count(input)?;
        let start = input.at;
        input.take(length)?;
        rules.push(start..input.at);
    }
    let mut regions = HashMap::new();
    for _ in 0..count(input)? {
        let name = names.get(count(input)?);
        let place = rules.get(usize::from(input.i16()?.cast_unsigned()));
        let (Some(name), Some(place)) = (name, place) else {
            return Err(InvalidTable::Invalid("place"));
        };
        regions.insert((*name).to_owned(), place.clone());
    }
    Ok((version, regions))
}

/// Java's `DataInput`.
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], InvalidTable> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..count).ok_or(InvalidTable::CutOff)?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], InvalidTable> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| InvalidTable::CutOff)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, InvalidTable> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn i8(&mut self) -> Result<i8, InvalidTable> {
        self.array().map(i8::from_be_bytes)
    }

    fn i16(&mut self) -> Result<i16, InvalidTable> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, InvalidTable> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, InvalidTable> {
        self.array().map(i64::from_be_bytes)
    }

    /// `readUTF`. Names of zones are ASCII.
    fn text(&mut self) -> Result<&'a str, InvalidTable> {
        let length = usize::from(self.i16()?.cast_unsigned());
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes)
            .ok()
            .filter(|text| text.is_ascii());
        text.ok_or(InvalidTable::Invalid("name"))
    }
}
