//! Variants of any bytes, for the fuzz target.

use arrow::array::{ArrayRef, LargeBinaryArray};
use catalyst::{DataType, StructField};
use javatime::{TimeZone, Zone, Zones};
use std::sync::Arc;

use super::build::{Builder, Fault};
use super::cast::Caster;
use super::format::Variant;
use super::parse::{Rules, parse};
use super::{exploded, path, schema, text};

/// Reads bytes as a variant in all ways, and as JSON, of which the variant has to be one.
pub fn read(bytes: &[u8]) {
    let zone = TimeZone::new("UTC", &Zones::default());
    if let Ok(variant) = Variant::new(bytes) {
        let _ = text::write(variant, &Zone::UTC, &mut String::new());
        let _ = schema::write(variant, &mut String::new());
        let mut builder = Builder::default();
        let _ = builder.variant(variant).and_then(|()| builder.finish());
        for path in ["$.a[0]", "$[1].b", "$"] {
            let steps = path::steps(path).unwrap_or_default();
            let found = path::find(variant, &steps);
            for of in targets() {
                let caster = Caster::new(&of, false, Some(&zone));
                if let (Ok(found), Ok(caster)) = (found, caster) {
                    let _ = caster.cast(&[found]);
                }
            }
        }
    }
    let column: ArrayRef = Arc::new(LargeBinaryArray::from_iter_values([bytes]));
    let _ = exploded(&column);
    let Ok(json) = std::str::from_utf8(bytes) else {
        return;
    };
    let rules = Rules {
        repeated: true,
        unicode: true,
    };
    if let Ok(made) = parse(json, rules, &mut Builder::default()) {
        // Not its schema: that of names which differ in the case of letters only is left to Spark.
        let mut again = Builder::default();
        let read = Variant::new(&made)
            .map_err(Fault::from)
            .and_then(|variant| again.variant(variant));
        assert!(
            read.is_ok_and(|()| again.finish().is_ok()),
            "a variant that was made cannot be read"
        );
    }
}

fn targets() -> Vec<DataType> {
    let array = |element| DataType::Array {
        element: Box::new(element),
        contains_null: true,
    };
    let field = StructField {
        name: "a".to_owned(),
        data_type: DataType::Long,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    vec![
        DataType::Variant,
        DataType::String,
        DataType::Timestamp,
        array(DataType::Double),
        DataType::Struct(vec![field]),
        DataType::Map {
            key: Box::new(DataType::String),
            value: Box::new(DataType::Date),
            value_contains_null: true,
        },
    ]
}
