//! Broadcast variables of joins: relations and arrays of rows, and the tables made of them.
#![no_main]

use arrow::array::Array;
use rows::{KryoForm, Relation, RelationTable, Serializer};
use catalyst::{DataType, Decimal};

firesteel_fuzz::target!(|data: &[u8]| {
    let wide = DataType::Decimal(Decimal {
        precision: 20,
        scale: 4,
    });
    let kryo = |fixed_width, references| Serializer::Kryo(KryoForm { fixed_width, references });
    let serializers = [Serializer::Java, kryo(true, true), kryo(false, true), kryo(true, false)];
    for (key, serializer) in [DataType::Long, DataType::String].into_iter().flat_map(|key| serializers.map(|of| (key.clone(), of))) {
        let types = [key, DataType::String, wide.clone()];
        let Ok(relation) = Relation::read(data, serializer, &types) else {
            continue;
        };
        let _ = relation.memory_size();
        let (keys, rows) = (
            [relation.batch.column(0).clone()],
            relation.batch.num_rows(),
        );
        let table = RelationTable::new(&keys, rows).expect("keys that can be compared");
        let matches = table.probe(&keys, rows).expect("its own keys");
        let found = (0..rows).filter(|row| matches.is_match(*row)).count();
        assert_eq!(found, rows - keys[0].logical_null_count());
    }
});
