//! Broadcast variables of joins: relations and arrays of rows, and the tables made of them.
#![no_main]

use arrow::array::Array;
use rows::{Relation, RelationTable};
use catalyst::{DataType, Decimal};

firesteel_fuzz::target!(|data: &[u8]| {
    let wide = DataType::Decimal(Decimal {
        precision: 20,
        scale: 4,
    });
    for key in [DataType::Long, DataType::String] {
        let types = [key, DataType::String, wide.clone()];
        let Ok(relation) = Relation::read(data, &types) else {
            continue;
        };
        let _ = relation.memory_size();
        let (keys, rows) = (
            [relation.batch.column(0).clone()],
            relation.batch.num_rows(),
        );
        let table = RelationTable::new(&keys, rows).expect("keys that can be compared");
        let matches = table.probe(&keys, rows).expect("its own keys");
        let found = matches.first().filter(Option::is_some).count();
        assert_eq!(found, rows - keys[0].logical_null_count());
    }
});
