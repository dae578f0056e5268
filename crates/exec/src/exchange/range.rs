//! Range partitioning: between which bounds a key lies.

use arrow::array::ArrayRef;
use arrow::compute::SortOptions;
use arrow::datatypes::DataType as ArrowType;
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion_common::Result;

use catalyst::Literal;
use catalyst::SortOrder;
use catalyst::Unsupported;
use rows::array_of;
use rows::error::bail_out;
use rows::normalized;
use rows::types::ToArrow as _;

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
            if !is_ordered(&data_type.to_arrow()?) {
                return Err(Unsupported::of_use(format!("a range of {data_type}")));
            }
            let options = SortOptions {
                descending: !by.ascending,
                nulls_first: by.nulls_first,
            };
            fields.push(SortField::new_with_options(data_type.to_arrow()?, options));
            let values = bounds
                .iter()
                .map(|bound| bound.get(index))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(wrong)?;
            columns.push(normalized(&array_of(data_type, values)?));
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
        let keys: Vec<_> = keys.iter().map(normalized).collect();
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

/// Whether Arrow's order of rows is Spark's, of [`normalized`] columns. That of structs in descending order is not.
fn is_ordered(data_type: &ArrowType) -> bool {
    !data_type.is_nested()
}
