//! How columns, and fields of structs, are found in a file: by their names, or by ids (`ParquetReadSupport`).

use std::sync::Arc;

use datafusion_common::Result;
use parquet::schema::types::Type;

use super::nested::{list_element, map_entry};
use catalyst::{DataType, StructField};
use rows::error::bail_out;

/// What a field of a struct is called that a file lacks: no field of a file is.
pub(super) const MISSING: &str = "\0";

/// How what is wanted is found in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lookup {
    /// Whether names must be equal in case.
    pub(super) case_sensitive: bool,
    /// Whether fields that have an id are found by it, whatever they are called
    /// (`spark.sql.parquet.fieldId.read.enabled`).
    pub(super) by_id: bool,
    /// Whether a table of Iceberg's is read: types of columns may have grown since a file was written, columns that
    /// are never null are not missing, and there is one calendar.
    pub(super) of_table: bool,
}

impl Lookup {
    /// The place of a field among those of a file; `None` if it is not there.
    pub(super) fn find(self, own: &[Arc<Type>], wanted: &StructField) -> Result<Option<usize>> {
        let id = wanted.field_id.filter(|_| self.by_id);
        let lower = wanted.name.to_lowercase();
        let is_it = |own: &Type| match id {
            Some(id) => {
                let info = own.get_basic_info();
                info.has_id() && i64::from(info.id()) == id
            }
            None if self.case_sensitive => own.name() == wanted.name,
            None => own.name().to_lowercase() == lower,
        };
        let own = own.iter().enumerate();
        let mut found = own.filter(|(_, own)| is_it(own));
        let first = found.next().map(|(place, _)| place);
        match found.next() {
            Some(_) => Err(bail_out("several columns of a file with one name or id")),
            None => Ok(first),
        }
    }

    /// That no column is called as another one is that is wanted: Spark finds columns by their ids, but looks for their
    /// types, and for what filters say of them, by their names in the file.
    pub(super) fn check_names(self, own: &[Arc<Type>], wanted: &[StructField]) -> Result<()> {
        let lower: Vec<_> = own.iter().map(|own| own.name().to_lowercase()).collect();
        for field in wanted {
            let found = self.find(own, field)?;
            let name = field.name.to_lowercase();
            let mut same = (0..).zip(&lower).filter(|(_, own)| **own == name);
            if same.any(|(place, _)| found != Some(place)) {
                return Err(bail_out("a column with the name of another one"));
            }
            let own = found.and_then(|place| own.get(place));
            if let Some(own) = own {
                self.check_parts(own, &field.data_type)?;
            }
        }
        Ok(())
    }

    /// The same of fields of structs.
    fn check_parts(self, of: &Type, wanted: &DataType) -> Result<()> {
        match wanted {
            DataType::Array { element, .. } => match list_element(of) {
                Some(own) => self.check_parts(own, element),
                None => Ok(()),
            },
            DataType::Map { key, value, .. } => match map_entry(of) {
                Some([own_key, own_value]) => {
                    self.check_parts(own_key, key)?;
                    self.check_parts(own_value, value)
                }
                _ => Ok(()),
            },
            DataType::Struct(fields) if of.is_group() => self.check_names(of.get_fields(), fields),
            _ => Ok(()),
        }
    }

    /// The type that is wanted of a column, whose fields are called as in the file: `of` is its type there.
    pub(super) fn named(self, of: &Type, wanted: &DataType) -> Result<DataType> {
        let part = |of: &Type, wanted: &DataType| self.named(of, wanted).map(Box::new);
        Ok(match wanted {
            DataType::Array {
                element,
                contains_null,
            } => {
                let own = list_element(of).ok_or_else(|| bail_out("lists of another form"))?;
                DataType::Array {
                    element: part(own, element)?,
                    contains_null: *contains_null,
                }
            }
            DataType::Map {
                key,
                value,
                value_contains_null,
            } => {
                let Some([own_key, own_value]) = map_entry(of) else {
                    return Err(bail_out("maps of another form"));
                };
                DataType::Map {
                    key: part(own_key, key)?,
                    value: part(own_value, value)?,
                    value_contains_null: *value_contains_null,
                }
            }
            DataType::Struct(fields) if of.is_group() => {
                let fields = fields
                    .iter()
                    .map(|field| self.field(of.get_fields(), field));
                let fields: Vec<_> = fields.collect::<Result<_>>()?;
                // Nothing would say which rows are null.
                if fields.iter().all(|field| field.name == MISSING) {
                    return Err(bail_out("a file whose structs have other fields"));
                }
                DataType::Struct(fields)
            }
            _ => wanted.clone(),
        })
    }

    /// A field of a struct as it is called in the file, which has these.
    fn field(self, own: &[Arc<Type>], field: &StructField) -> Result<StructField> {
        let place = self.find(own, field)?;
        let Some(own) = place.and_then(|place| own.get(place)) else {
            return match self.of_table && field.nullable && field.exists_default.is_none() {
                true => Ok(StructField {
                    name: MISSING.to_owned(),
                    ..field.clone()
                }),
                false => Err(bail_out("a file whose structs have other fields")),
            };
        };
        Ok(StructField {
            name: own.name().to_owned(),
            data_type: self.named(own, &field.data_type)?,
            ..field.clone()
        })
    }
}

/// Whether a schema, or a part of it, has ids (`ParquetUtils.hasFieldIds`, `ParquetReadSupport.containsFieldIds`).
pub(super) trait HasIds {
    /// Whether it has some.
    fn has_ids(&self) -> bool;
}

impl HasIds for [StructField] {
    fn has_ids(&self) -> bool {
        self.iter()
            .any(|field| field.field_id.is_some() || field.data_type.has_ids())
    }
}

impl HasIds for DataType {
    fn has_ids(&self) -> bool {
        match self {
            Self::Array { element, .. } => element.has_ids(),
            Self::Map { key, value, .. } => key.has_ids() || value.has_ids(),
            Self::Struct(fields) => fields.has_ids(),
            _ => false,
        }
    }
}

impl HasIds for Type {
    fn has_ids(&self) -> bool {
        self.get_basic_info().has_id()
            || self.is_group() && self.get_fields().iter().any(|field| field.has_ids())
    }
}
