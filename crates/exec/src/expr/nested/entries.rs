//! Maps of arrays, of entries and of other maps.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, MapArray, StringViewBuilder, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::SortOptions;
use arrow::datatypes::DataType as ArrowType;
use arrow::row::Rows;
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::super::kernel::{Kernel, pair, single};
use super::super::known;
use super::lookup::values_at;
use super::sets::joined;
use super::text::plain;
use super::{comparable, list, map as map_of, maps, other, range};
use rows::error::bail_out;

type Physical = Arc<dyn PhysicalExpr>;

/// Maps that are made entry by entry. Keys that are null fail, and of keys that are there twice a setting decides.
pub(super) struct Entries {
    keys: ArrayRef,
    values: ArrayRef,
    comparable: Rows,
    /// Places among keys, and among values.
    places: (Vec<u32>, Vec<u32>),
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl Entries {
    pub(super) fn new(keys: ArrayRef, values: ArrayRef) -> RunResult<Self> {
        let comparable = comparable(&keys, SortOptions::default())?;
        Ok(Self {
            keys,
            values,
            comparable,
            places: (Vec::new(), Vec::new()),
            lengths: Vec::new(),
            valid: Vec::new(),
        })
    }

    pub(super) fn push_null(&mut self) {
        self.lengths.push(0);
        self.valid.push(false);
    }

    pub(super) fn push(&mut self, entries: impl Iterator<Item = (usize, usize)>) -> RunResult<()> {
        let mut seen = HashSet::new();
        for (key, value) in entries {
            if self.keys.is_null(key) {
                return Err(bail_out("a map with a null key"));
            }
            if !seen.insert(self.comparable.row(key)) {
                return Err(bail_out("a map with a key that is there twice"));
            }
            // Places among the values of lists have 32 bits.
            self.places.0.push(key as u32);
            self.places.1.push(value as u32);
        }
        self.lengths.push(seen.len());
        self.valid.push(true);
        Ok(())
    }

    /// Rows of so many entries each, in the order in which keys and values are.
    pub(super) fn push_rows(
        &mut self,
        lengths: impl IntoIterator<Item = usize>,
        nulls: Option<&NullBuffer>,
    ) -> RunResult<()> {
        let mut first = 0;
        for (row, length) in lengths.into_iter().enumerate() {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                self.push_null();
                continue;
            }
            self.push((first..first + length).map(|place| (place, place)))?;
            first += length;
        }
        Ok(())
    }

    pub(super) fn finish(self, to: &ArrowType) -> RunResult<ArrayRef> {
        let (keys, values) = self.places;
        let keys = values_at(&self.keys, &UInt32Array::from(keys))?;
        let values = values_at(&self.values, &UInt32Array::from(values))?;
        let nulls = NullBuffer::from(self.valid);
        maps(to, self.lengths, keys, values, Some(&nulls))
    }
}

/// `map_from_arrays(keys, values)`
pub(super) fn of_arrays(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("MapFromArrays", args, to.clone(), move |args, rows| {
        let (keys, values) = pair(args)?;
        let (keys, values) = (list(keys, rows)?, list(values, rows)?);
        let mut made = Entries::new(Arc::clone(keys.values()), Arc::clone(values.values()))?;
        for row in 0..rows {
            if keys.is_null(row) || values.is_null(row) {
                made.push_null();
                continue;
            }
            let own = range(keys.value_offsets(), row);
            let theirs = range(values.value_offsets(), row);
            if own.len() != theirs.len() {
                return Err(bail_out("keys and values of different numbers"));
            }
            made.push(own.zip(theirs))?;
        }
        made.finish(&of)
    })
}

/// `map_from_entries(entries)`: null if one of the entries is.
pub(super) fn of_entries(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("MapFromEntries", args, to.clone(), move |args, rows| {
        let entries = list(single(args)?, rows)?;
        let structs = entries.values().as_struct_opt().ok_or_else(other)?;
        let [keys, values] = structs.columns() else {
            return Err(other());
        };
        let mut made = Entries::new(Arc::clone(keys), Arc::clone(values))?;
        for row in 0..rows {
            let mut all = range(entries.value_offsets(), row);
            if entries.is_null(row) || all.clone().any(|at| structs.is_null(at)) {
                made.push_null();
            } else {
                made.push(all.by_ref().map(|at| (at, at)))?;
            }
        }
        made.finish(&of)
    })
}

/// `map_concat(maps)`
pub(super) fn of_maps(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("MapConcat", args, to.clone(), move |args, rows| {
        let all = args.iter().map(|arg| map_of(arg, rows));
        let all = all.collect::<RunResult<Vec<_>>>()?;
        let keys = joined(&all.iter().map(MapArray::keys).collect::<Vec<_>>())?;
        let values = joined(&all.iter().map(MapArray::values).collect::<Vec<_>>())?;
        let mut made = Entries::new(keys, values)?;
        for row in 0..rows {
            if all.iter().any(|map| map.is_null(row)) {
                made.push_null();
                continue;
            }
            let mut before = 0;
            let mut places = Vec::new();
            for map in &all {
                places.extend(range(map.value_offsets(), row).map(|at| at + before));
                before += map.keys().len();
            }
            made.push(places.into_iter().map(|at| (at, at)))?;
        }
        made.finish(&of)
    })
}

/// `str_to_map(text, pair_delimiter, key_value_delimiter)`, of delimiters that mean themselves as regular expressions;
/// `None` of others.
pub(super) fn of_text(to: &ArrowType, args: Vec<Physical>) -> Option<Physical> {
    let delimiter = |at: usize| match args.get(at).and_then(known)? {
        ScalarValue::Utf8View(Some(regex)) => plain(regex),
        _ => None,
    };
    let (between_pairs, behind_key) = (delimiter(1)?, delimiter(2)?);
    let of = to.clone();
    let name = format!("StringToMap[{between_pairs:?} {behind_key:?}]");
    let texts = args.into_iter().take(1).collect();
    Some(Kernel::strict(name, texts, to.clone(), move |args, _| {
        let texts = single(args)?.string()?;
        let (mut keys, mut values) = (StringViewBuilder::new(), StringViewBuilder::new());
        let mut lengths = Vec::new();
        for text in texts {
            let mut length = 0;
            for pair in text.into_iter().flat_map(|text| text.split(&between_pairs)) {
                length += 1;
                match pair.split_once(&behind_key) {
                    Some((key, value)) => {
                        keys.append_value(key);
                        values.append_value(value);
                    }
                    None => {
                        keys.append_value(pair);
                        values.append_null();
                    }
                }
            }
            lengths.push(length);
        }
        let mut made = Entries::new(Arc::new(keys.finish()), Arc::new(values.finish()))?;
        made.push_rows(lengths, texts.nulls())?;
        made.finish(&of)
    }))
}
