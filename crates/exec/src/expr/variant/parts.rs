//! Parts of variants that scans read in place of them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::{DataType as ArrowType, Fields};
use catalyst::{DataType, Unsupported, VariantPart};
use datafusion_common::Result;
use rows::error::bail_out;
use rows::types::ToArrow as _;

use super::cast::Caster;
use super::format::{Malformed, Variant};
use super::path::{Step, find, steps};

/// The fields of a struct that are parts of a variant.
#[derive(Debug)]
pub(crate) struct VariantParts {
    parts: Vec<Part>,
    fields: Fields,
}

#[derive(Debug)]
enum Part {
    /// The variant as it is.
    Whole,
    At(Vec<Step>, Caster),
}

impl VariantParts {
    /// # Errors
    /// Values of a type are not made of variants here.
    pub(crate) fn new(
        parts: &[VariantPart],
        of: &DataType,
    ) -> std::result::Result<Self, Unsupported> {
        let wrong = || Unsupported::of_use("parts of variants of other types");
        let (DataType::Struct(own), ArrowType::Struct(fields)) = (of, of.to_arrow()?) else {
            return Err(wrong());
        };
        if own.len() != parts.len() {
            return Err(wrong());
        }
        let parts = parts.iter().zip(own).map(|(part, field)| {
            let unknown = || Unsupported::of_use("such a path in variants");
            let steps = steps(&part.path).ok_or_else(unknown)?;
            if steps.is_empty() && field.data_type == DataType::Variant {
                return Ok(Part::Whole);
            }
            let caster = Caster::new(&field.data_type, part.fails, Some(&part.time_zone))?;
            Ok(Part::At(steps, caster))
        });
        Ok(Self {
            parts: parts.collect::<std::result::Result<_, Unsupported>>()?,
            fields,
        })
    }

    /// The structs of variants; of those that are null they are, too.
    pub(crate) fn of(&self, variants: &ArrayRef) -> Result<ArrayRef> {
        let binary = variants.as_binary_opt::<i64>();
        let binary = binary.ok_or_else(|| bail_out("variants of another type"))?;
        let all = binary
            .iter()
            .map(|bytes| bytes.map(Variant::new).transpose());
        let all = all.collect::<std::result::Result<Vec<_>, Malformed>>()?;
        let columns = self.parts.iter().map(|part| match part {
            Part::Whole => Ok(Arc::clone(variants)),
            Part::At(steps, caster) => {
                let found = all.iter().map(|variant| match variant {
                    Some(variant) => find(*variant, steps),
                    None => Ok(None),
                });
                let found = found.collect::<std::result::Result<Vec<_>, Malformed>>()?;
                caster.cast(&found)
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let nulls = binary.nulls().cloned();
        Ok(Arc::new(StructArray::try_new(
            self.fields.clone(),
            columns,
            nulls,
        )?))
    }
}
