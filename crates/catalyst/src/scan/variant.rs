//! Variants of which a scan reads parts only: `VariantMetadata`.

use javaser::arena::Value;
use javatime::TimeZone;

use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};

/// What tells that a field of a struct is a part of a variant.
const KEY: &str = "__VARIANT_METADATA_KEY";

/// A part of a variant: what it has at a path, as a value of a field's type.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantPart {
    /// The path.
    pub path: String,
    /// Whether a value of another type is an error.
    pub fails: bool,
    /// Time zone of the session.
    pub time_zone: TimeZone,
}

/// For each field of a schema the parts of a variant that are its fields, if it is such a struct.
pub(super) fn parts(
    reader: &Reader<'_>,
    schema: Object<'_>,
) -> Result<Vec<Option<Vec<VariantPart>>>> {
    let fields = schema.elements("fields")?.into_iter();
    let fields = fields.map(|field| {
        let of = reader.expect(field)?.object("dataType")?;
        if of.name() != "StructType" {
            return no_parts(reader, of).map(|()| None);
        }
        let fields = of.elements("fields")?;
        let found = fields.iter().map(|field| part(reader, *field));
        let found = found.collect::<Result<Vec<_>>>()?;
        match found.iter().any(Option::is_some) {
            false => no_parts(reader, of).map(|()| None),
            true => {
                let all: Option<Vec<_>> = found.into_iter().collect();
                let all =
                    all.ok_or_else(|| Unsupported::of_use("parts of variants in a struct"))?;
                Ok(Some(all))
            }
        }
    });
    fields.collect()
}

/// The part of a variant that a field is.
fn part(reader: &Reader<'_>, field: Value) -> Result<Option<VariantPart>> {
    let Some(metadata) = reader.expect(field)?.maybe("metadata") else {
        return Ok(None);
    };
    let graph = reader.graph;
    let pairs = metadata.pairs("map")?;
    let own = pairs
        .iter()
        .find(|(key, _)| graph.str(*key).as_deref() == Some(KEY));
    let Some((_, own)) = own else {
        return Ok(None);
    };
    let missing = || metadata.missing(KEY);
    // What 4.0 reads of them was not looked at.
    if reader.settings.spark < (4, 1) {
        return Err(Unsupported::of_use("parts of variants of Spark 4.0"));
    }
    let (mut path, mut fails, mut zone) = (None, None, None);
    for (key, value) in reader.expect(*own)?.pairs("map")? {
        match graph.str(key).as_deref() {
            Some("path") => path = graph.str(value),
            Some("failOnError") => fails = graph.bool(value),
            Some("timeZoneId") => zone = graph.str(value),
            // Others say that errors are not to end the task.
            _ => {
                return Err(Unsupported::of_use(
                    "parts of variants with another setting",
                ));
            }
        }
    }
    Ok(Some(VariantPart {
        path: path.ok_or_else(missing)?.into_owned(),
        fails: fails.ok_or_else(missing)?,
        time_zone: TimeZone::new(&zone.ok_or_else(missing)?, &reader.settings.zones),
    }))
}

/// Fails if there are parts of variants within a type.
fn no_parts(reader: &Reader<'_>, of: Object<'_>) -> Result<()> {
    reader.nested(|| match of.name() {
        "ArrayType" => no_parts(reader, of.object("elementType")?),
        "MapType" => {
            no_parts(reader, of.object("keyType")?)?;
            no_parts(reader, of.object("valueType")?)
        }
        "StructType" => {
            for field in of.elements("fields")? {
                if part(reader, field)?.is_some() {
                    return Err(Unsupported::of_use("parts of variants in other values"));
                }
                no_parts(reader, reader.expect(field)?.object("dataType")?)?;
            }
            Ok(())
        }
        _ => Ok(()),
    })
}
