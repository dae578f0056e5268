//! What the lanes run, as a table for `qualify`: the same that `firesteel capabilities` prints.

use std::collections::BTreeMap;

use catalyst::{BuildSide, FILE_FORMATS};
use exec::capabilities as plans;
use exec::expr;
use javatime::{TimeZone, Zones};
use qualify::{Cast, Function, Join, Native, Off, Table, Type};

use crate::config::{self, LaneName, SparkProperties, apply_version_defaults, unknown_part};
use crate::files;
use crate::lanes::python;

/// The lanes of this program.
#[derive(Debug)]
pub(super) struct Lanes {
    /// Those that executors on this machine would know.
    pub(super) zones: Zones,
}

impl Native for Lanes {
    fn table(&self, time_zone: &str) -> Table {
        let time_zone = TimeZone::new(time_zone, &self.zones);
        let owned = |names: Vec<&'static str>| names.into_iter().map(str::to_owned).collect();
        Table {
            operators: owned(plans::operators()),
            joins: plans::joins().into_iter().map(join).collect(),
            aggregates: plans::aggregates()
                .into_iter()
                .map(|of| function(of.name, of.arguments))
                .collect(),
            windows: owned(plans::window_functions()),
            types: plans::types_of_columns().into_iter().map(of_type).collect(),
            formats: FILE_FORMATS
                .iter()
                .map(|(name, _)| (*name).to_owned())
                .collect(),
            schemes: files::schemes()
                .map(|(scheme, _)| scheme.to_owned())
                .collect(),
            written_formats: owned(exec::write::FORMATS.to_vec()),
            written_schemes: owned(files::written_schemes().collect()),
            rdds: python::recognised()
                .into_iter()
                .map(|(name, _)| name)
                .collect(),
            expressions: expr::functions_in(&time_zone)
                .into_iter()
                .map(|of| function(of.name, of.arguments))
                .collect(),
            casts: expr::casts_in(&time_zone)
                .into_iter()
                .filter(|cast| !cast.modes.is_empty())
                .map(|cast| Cast {
                    from: cast.from,
                    to: cast.to,
                })
                .collect(),
            // As `spark.firesteel.sql.jvmExpressions` is if nobody sets it.
            not_in_jvm: Some(owned(catalyst::NOT_OF_A_ROW.to_vec())),
        }
    }

    fn off(&self, version: &str, properties: &BTreeMap<String, String>) -> Off {
        let pairs = properties
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        let mut properties = SparkProperties::from_launch(pairs, []);
        apply_version_defaults(&mut properties, version);
        config::forget_unknown(&mut properties, config::declared::version_of(version));
        Off {
            refused: config::refuse_unsupported(&properties)
                .err()
                .map(|problem| problem.to_string()),
            sql: unknown_part(&properties, LaneName::Sql),
            python: unknown_part(&properties, LaneName::Python),
        }
    }
}

fn function(name: &str, arguments: Vec<String>) -> Function {
    Function {
        name: name.to_owned(),
        arguments,
    }
}

fn join(of: plans::JoinCapability) -> Join {
    let side = of.build_side.map(|side| match side {
        BuildSide::Left => "BuildLeft",
        BuildSide::Right => "BuildRight",
    });
    Join {
        operator: of.operator.to_owned(),
        build_side: side.map(str::to_owned),
        types: of.types,
    }
}

fn of_type(of: plans::TypeCapability) -> Type {
    Type {
        name: of.name,
        scanned: of.scanned,
        rows: of.rows,
        sort_key: of.sort_key,
        group_key: of.group_key,
        broadcast_key: of.broadcast_key,
        shuffled_key: of.shuffled_key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes() -> Lanes {
        Lanes {
            zones: Zones::default(),
        }
    }

    #[test]
    fn the_table_is_what_capabilities_are() {
        let table = lanes().table("UTC");
        assert!(table.operators.iter().any(|name| name == "FilterExec"));
        assert!(table.windows.iter().any(|name| name == "RowNumber"));
        assert!(table.rdds.iter().any(|name| name == "PythonRDD"));
        assert!(table.casts.len() > 100 && table.expressions.len() > 300);
        assert_ne!(table, lanes().table(""));
    }

    #[test]
    fn settings_turn_lanes_off() {
        let off = |key: &str, value: &str| {
            lanes().off(
                "4.3.0",
                &BTreeMap::from([(key.to_owned(), value.to_owned())]),
            )
        };
        assert_eq!(off("spark.app.name", "a"), Off::default());
        let kryo = "org.apache.spark.serializer.KryoSerializer";
        assert_eq!(off("spark.serializer", kryo), Off::default());
        let other = off("spark.serializer", "org.example.Other");
        assert!(other.sql.unwrap().contains("spark.serializer"));
        let sasl = "spark.authenticate.enableSaslEncryption";
        assert!(off(sasl, "true").refused.is_some());
        let tls = "spark.ssl.rpc.enabled";
        assert_eq!(off(tls, "true"), Off::default());
        let wrong = BTreeMap::from([
            (tls.to_owned(), "true".to_owned()),
            ("spark.ssl.rpc.protocol".to_owned(), "SSLv3".to_owned()),
        ]);
        assert!(lanes().off("4.0.5", &wrong).refused.is_some());
        // It means nothing there.
        assert_eq!(lanes().off("3.5.9", &wrong), Off::default());
    }
}
