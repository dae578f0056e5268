//! Lists, maps and structs of files: in the form in which Spark writes them.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray, LargeBinaryBuilder, ListArray, MapArray, StructArray,
    new_null_array,
};
use arrow::datatypes::{DataType as ArrowType, Field, Fields};
use datafusion_common::Result;
use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::schema::types::Type;

use super::columns::{Leaf, has_grown, read_as};
use super::lookup::MISSING;
use catalyst::{DataType, StructField, variant_bytes};
use rows::error::bail_out;
use rows::types::{ToArrow as _, column_name, list_field, map_fields};

/// The parts of a variant.
const VALUE: &str = "value";
const METADATA: &str = "metadata";

/// Finds what is read of a column with parts. Names that are wanted are those of the file.
pub(super) struct Finder {
    /// The number of the next leaf.
    pub(super) next: usize,
    /// The leaves that are read.
    pub(super) leaves: Vec<usize>,
    /// Whether types may have grown since the file was written.
    pub(super) may_grow: bool,
}

impl Finder {
    /// The type that a column is to be read as, all its parts included: of the file's type `of`, which Arrow reads as
    /// `own`, what is `wanted`.
    pub(super) fn find(
        &mut self,
        of: &Type,
        own: &ArrowType,
        wanted: &DataType,
    ) -> Result<ArrowType> {
        let other = || bail_out(format!("a column of {own} in Parquet as {wanted}"));
        match (wanted, own) {
            (DataType::Array { element, .. }, ArrowType::List(field)) => {
                let part = list_element(of).ok_or_else(|| bail_out("lists of another form"))?;
                let found = self.find(part, field.data_type(), element)?;
                Ok(ArrowType::List(retyped(field, found)))
            }
            (DataType::Map { key, value, .. }, ArrowType::Map(entries, sorted)) => {
                let parts = map_entry(of).ok_or_else(|| bail_out("maps of another form"))?;
                let ArrowType::Struct(entry) = entries.data_type() else {
                    return Err(other());
                };
                let mut fields = Vec::new();
                for ((part, field), wanted) in parts.iter().zip(entry).zip([key, value]) {
                    let found = self.find(part, field.data_type(), wanted)?;
                    fields.push(retyped(field, found));
                }
                let entry = ArrowType::Struct(fields.into());
                Ok(ArrowType::Map(retyped(entries, entry), *sorted))
            }
            (DataType::Struct(wanted), ArrowType::Struct(own)) => {
                let parts = match of.is_group() {
                    true => of.get_fields(),
                    false => return Err(other()),
                };
                self.fields(parts, own, wanted).map(ArrowType::Struct)
            }
            (DataType::Variant, ArrowType::Struct(own)) => {
                if !is_variant(of, own) {
                    return Err(bail_out("variants of another form"));
                }
                self.leaves.extend([self.next, self.next + 1]);
                self.next += 2;
                Ok(ArrowType::Struct(own.clone()))
            }
            (
                DataType::Array { .. }
                | DataType::Map { .. }
                | DataType::Struct(_)
                | DataType::Variant,
                _,
            ) => Err(other()),
            _ if of.is_primitive() => {
                self.leaves.push(self.next);
                self.next += 1;
                let grown = || (self.may_grow && has_grown(own, wanted)).then(|| own.clone());
                read_as(of, own, wanted).or_else(grown).ok_or_else(other)
            }
            _ => Err(other()),
        }
    }

    fn fields(
        &mut self,
        parts: &[Arc<Type>],
        own: &Fields,
        wanted: &[StructField],
    ) -> Result<Fields> {
        let (mut fields, mut found) = (Vec::new(), 0);
        if parts.len() != own.len() {
            return Err(bail_out("a struct of another form"));
        }
        for (part, field) in parts.iter().zip(own) {
            let mut same = wanted.iter().filter(|wanted| part.name() == wanted.name);
            match (same.next(), same.next()) {
                (Some(wanted), None) => {
                    found += 1;
                    let of = self.find(part, field.data_type(), &wanted.data_type)?;
                    fields.push(retyped(field, of));
                }
                (None, _) => {
                    self.next += leaves_of(part);
                    fields.push(Arc::clone(field));
                }
                (Some(_), Some(_)) => return Err(bail_out("several fields of one name")),
            }
        }
        let expected = wanted.iter().filter(|field| field.name != MISSING);
        match found == expected.count() {
            true => Ok(fields.into()),
            false => Err(bail_out("a file whose structs have other fields")),
        }
    }
}

/// Whether a group has a value and metadata and nothing else: values may be in other columns otherwise.
fn is_variant(of: &Type, own: &Fields) -> bool {
    let parts = match of.is_group() {
        true => of.get_fields(),
        false => return false,
    };
    let is_part = |part: &Arc<Type>, name: &str| {
        let info = part.get_basic_info();
        part.name() == name
            && part.is_primitive()
            && part.get_physical_type() == Physical::BYTE_ARRAY
            && info.converted_type() == ConvertedType::NONE
            && info.logical_type_ref().is_none()
            && info.has_repetition()
            && info.repetition() == Repetition::REQUIRED
    };
    let is_binary = |field: &Arc<Field>| *field.data_type() == ArrowType::Binary;
    match parts {
        [first, second] => {
            let (value, metadata) = match first.name() == VALUE {
                true => (first, second),
                false => (second, first),
            };
            is_part(value, VALUE) && is_part(metadata, METADATA) && own.iter().all(is_binary)
        }
        _ => false,
    }
}

fn retyped(field: &Arc<Field>, of: ArrowType) -> Arc<Field> {
    Arc::new(field.as_ref().clone().with_data_type(of))
}

/// How many leaves a part of a schema has.
pub(super) fn leaves_of(of: &Type) -> usize {
    match of.is_group() {
        true => of.get_fields().iter().map(|part| leaves_of(part)).sum(),
        false => 1,
    }
}

/// The parts of the only part of a group, which is repeated and has this name.
fn repeated<'t>(of: &'t Type, converted: ConvertedType, name: &str) -> Option<&'t [Arc<Type>]> {
    let info = of.get_basic_info();
    if !of.is_group() || info.converted_type() != converted {
        return None;
    }
    let [only] = of.get_fields() else {
        return None;
    };
    let own = only.get_basic_info();
    let is_it = only.is_group()
        && only.name() == name
        && own.has_repetition()
        && own.repetition() == Repetition::REPEATED;
    is_it.then(|| only.get_fields())
}

pub(super) fn list_element(of: &Type) -> Option<&Type> {
    match repeated(of, ConvertedType::LIST, "list")? {
        [element] if element.name() == "element" => Some(element),
        _ => None,
    }
}

pub(super) fn map_entry(of: &Type) -> Option<&[Arc<Type>]> {
    match repeated(of, ConvertedType::MAP, "key_value")? {
        entry @ [key, value]
            if key.name() == "key"
                && value.name() == "value"
                && key.get_basic_info().repetition() == Repetition::REQUIRED =>
        {
            Some(entry)
        }
        _ => None,
    }
}

/// What was read as Spark's columns are: parts in Spark's order, with the types that all columns have. Names that are
/// wanted are those of the file.
pub(super) fn arranged(read: &ArrayRef, wanted: &DataType, check_old: bool) -> Result<ArrayRef> {
    let other = || bail_out("a column that was read as another type");
    let part = |read: &ArrayRef, of: &DataType| arranged(read, of, check_old);
    let arrow = |of: &DataType| of.to_arrow().map_err(|reason| bail_out(reason.to_string()));
    Ok(match wanted {
        DataType::Array { element, .. } => {
            let list = read.as_list_opt::<i32>().ok_or_else(other)?;
            let values = part(list.values(), element)?;
            let field = list_field(arrow(element)?);
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Arc::new(ListArray::try_new(field, offsets, values, nulls)?)
        }
        DataType::Map { key, value, .. } => {
            let map = read.as_map_opt().ok_or_else(other)?;
            let ArrowType::Map(field, sorted) = arrow(wanted)? else {
                return Err(other());
            };
            let columns = vec![part(map.keys(), key)?, part(map.values(), value)?];
            let entry = map_fields(arrow(key)?, arrow(value)?);
            let entries = StructArray::try_new(entry, columns, None)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(field, offsets, entries, nulls, sorted)?)
        }
        DataType::Struct(fields) => {
            let structs = read.as_struct_opt().ok_or_else(other)?;
            let (mut names, mut columns) = (Vec::new(), Vec::new());
            for (place, field) in fields.iter().enumerate() {
                let of = arrow(&field.data_type)?;
                if field.name == MISSING {
                    columns.push(new_null_array(&of, structs.len()));
                } else {
                    let mut own = structs.fields().iter();
                    let own = own.position(|own| *own.name() == field.name);
                    let own = own.and_then(|own| structs.columns().get(own));
                    columns.push(part(own.ok_or_else(other)?, &field.data_type)?);
                }
                names.push(Field::new(column_name(place), of, true));
            }
            let nulls = structs.nulls().cloned();
            Arc::new(StructArray::try_new(names.into(), columns, nulls)?)
        }
        DataType::Variant => {
            let structs = read.as_struct_opt().ok_or_else(other)?;
            let part = |name| structs.column_by_name(name)?.as_binary_opt::<i32>();
            let (value, metadata) = part(VALUE).zip(part(METADATA)).ok_or_else(other)?;
            let mut variants = LargeBinaryBuilder::new();
            for row in 0..structs.len() {
                if structs.is_null(row) {
                    variants.append_null();
                    continue;
                }
                let bytes = variant_bytes(value.value(row), metadata.value(row));
                variants.append_value(bytes.ok_or_else(|| bail_out("a variant that is too long"))?);
            }
            Arc::new(variants.finish())
        }
        _ => Leaf::of(wanted, check_old)?.arranged(read)?,
    })
}
