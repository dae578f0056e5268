//! Event logs of Spark.
#![no_main]

use std::collections::BTreeMap;

use qualify::{Columns, Function, Log, Native, Off, Table, Type};

struct Little;

impl Native for Little {
    fn table(&self, time_zone: &str) -> Table {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let function = |name: &str, of: &str| Function {
            name: name.to_owned(),
            arguments: vec![of.to_owned()],
        };
        let zoned = (time_zone == "UTC").then(|| function("Hour", "timestamp"));
        let bigint = Type {
            name: "bigint".to_owned(),
            scanned: true,
            rows: true,
            sort_key: true,
            group_key: true,
            broadcast_key: true,
            shuffled_key: false,
        };
        Table {
            operators: owned(&["FileSourceScanExec", "ShuffledRowRDD", "ProjectExec", "HashAggregateExec", "SortExec", "WindowExec"]),
            aggregates: vec![function("Sum", "bigint")],
            windows: owned(&["Rank"]),
            types: vec![bigint],
            formats: owned(&["Parquet"]),
            schemes: owned(&["file"]),
            rdds: owned(&["PythonRDD", "MapPartitionsRDD of RDD.coalesce"]),
            expressions: zoned.into_iter().chain([function("Add", "bigint")]).collect(),
            ..Table::default()
        }
    }

    fn off(&self, _: &str, properties: &BTreeMap<String, String>) -> Off {
        Off {
            python: properties.get("spark.serializer").cloned(),
            ..Off::default()
        }
    }
}

fn event_log(data: &[u8]) {
    let mut log = Log::new(&Little);
    log.read(data).expect("a slice can be read");
    let application = log.finish();
    let all = |of: &qualify::Summary| of.tasks.all();
    let counted: u64 = application.queries.iter().map(|query| all(&query.with_jar)).sum();
    assert_eq!(all(&application.with_jar), counted);
    assert_eq!(all(&application.with_jar), all(&application.without_jar));
    assert!(application.with_jar.tasks.all() <= application.lines.read);
    // Less is native without the jar, never more.
    assert!(application.without_jar.tasks.native <= application.with_jar.tasks.native);
    let columns = Columns {
        without_jar: data.len() % 2 == 1,
        queries: 5,
    };
    let text = qualify::text(&application, columns);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
    assert!(serde_json::to_string(&application).is_ok());
}

firesteel_fuzz::target!(event_log);
