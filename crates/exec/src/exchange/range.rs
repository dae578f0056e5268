//! Range partitioning: between which bounds a key lies.

use arrow::array::ArrayRef;
use arrow::compute::SortOptions;
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion_common::Result;

use catalyst::Literal;
use catalyst::SortOrder;
use catalyst::Unsupported;
use rows::error::bail_out;
use rows::types::ToArrow as _;
use rows::{array_of, is_ordered, key_type, order_key};

/// Bounds of a `RangePartitioner`, each larger than the one before.
#[derive(Debug)]
pub(super) struct RangeBounds {
    converter: RowConverter,
    bounds: Vec<OwnedRow>,
}

impl RangeBounds {
    pub(super) fn new(
        order: &[SortOrder],
        bounds: &[Vec<Literal>],
    ) -> std::result::Result<Self, Unsupported> {
        let wrong = || Unsupported::of_use("range bounds of other columns");
        let mut fields = Vec::with_capacity(order.len());
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(order.len());
        for (index, by) in order.iter().enumerate() {
            let data_type = &by.child.data_type;
            let arrow = data_type.to_arrow()?;
            if !is_ordered(&arrow) && !arrow.is_null() {
                return Err(Unsupported::of_use(format!("a range of {data_type}")));
            }
            let options = SortOptions {
                descending: !by.ascending,
                nulls_first: by.nulls_first,
            };
            fields.push(SortField::new_with_options(key_type(&arrow), options));
            let values = bounds
                .iter()
                .map(|bound| bound.get(index))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(wrong)?;
            columns.push(order_key(&array_of(data_type, values)?).map_err(|_| wrong())?);
        }
        let converter = RowConverter::new(fields).map_err(|_| wrong())?;
        let bounds = if order.is_empty() || bounds.is_empty() {
            Vec::new()
        } else {
            let rows = converter.convert_columns(&columns).map_err(|_| wrong())?;
            rows.iter().map(|row| row.owned()).collect()
        };
        Ok(Self { converter, bounds })
    }

    /// How many bounds are less than each key.
    pub(super) fn partition_ids(&self, keys: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        if self.bounds.is_empty() {
            return Ok(vec![0; rows]);
        }
        let keys = keys.iter().map(order_key).collect::<Result<Vec<_>>>()?;
        let keys = self.converter.convert_columns(&keys)?;
        if keys.num_rows() != rows {
            return Err(bail_out("columns of different lengths"));
        }
        Ok(keys
            .iter()
            .map(|key| self.bounds.partition_point(|bound| bound.row() < key) as u32)
            .collect())
    }
}
