//! Formats of rows against what Spark 3.5.9 and 4.3.0 wrote. `tests/capture/rows` says how it was had.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "formats/golden.rs"]
mod golden;

use arrow::array::types::{Decimal128Type, Float64Type, Int32Type, Int64Type};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use bytes::Bytes;
use catalyst::{CollectResult, DataType, Expr, Literal, Partitioning, SortOrder};
use exec::{Partitioner, RangeSampler, round_robin_order, scatter};
use rows::{
    MatchCursor, Relation, RelationKind, RelationTable, RowChecksums, RowDecoder, RowEncoder,
    Serializer, result,
};

use testkit::from_hex;

use golden::{
    Fixture, assert_rows, attributes, data_type, decode, decode_blocks, encode, ints, renamed,
    stream,
};

#[test]
fn rows_are_written_as_they_were_read() {
    for fixture in Fixture::all() {
        let (types, rows) = (fixture.types(), fixture.rows());
        let batch = fixture.batch();
        assert_eq!(batch.num_rows(), 160);
        assert_rows(&encode(&types, &batch), &rows);
        let mut encoder = RowEncoder::new(&types).unwrap();
        let encoded = encoder.encode(&batch).unwrap();
        assert!(encoded.bytes() == stream(&rows));
        let size: usize = rows.iter().map(Vec::len).sum();
        assert_eq!(encoded.data_size(), size);
        assert_eq!(encoded.records(1, 4), stream(&rows[1..4]));
        // In another order, of a slice.
        let order = [7, 0, 3, 3];
        let encoded = encoder.encode_rows(&batch.slice(20, 8), &order).unwrap();
        let expected: Vec<_> = order
            .iter()
            .map(|row| &rows[20 + *row as usize][..])
            .collect();
        assert_eq!(encoded.rows().collect::<Vec<_>>(), expected);
        assert!(encoder.encode_rows(&batch, &[160]).is_err());
        let other = batch.project(&[0, 1]).unwrap();
        assert!(encoder.encode(&other).is_err());
    }
}

#[test]
fn arrays_maps_and_structs_are_written_as_they_were_read() {
    for fixture in Fixture::all() {
        let (types, names, rows) = fixture.nested();
        assert_eq!((types.len(), rows.len()), (24, 160));
        let batch = decode(&types, &stream(&rows));
        // Each by itself first: to know which one differs.
        for (place, (of, name)) in types.iter().zip(&names).enumerate() {
            let one = renamed(&batch.project(&[place]).unwrap());
            let written = encode(std::slice::from_ref(of), &one);
            let again = decode(std::slice::from_ref(of), &stream(&written));
            assert_eq!(again, one, "{} {name}", fixture.version);
        }
        assert_rows(&encode(&types, &batch), &rows);
        let mut encoder = RowEncoder::new(&types).unwrap();
        // In another order, of a slice: lists begin in the middle of their values.
        let order = [7, 0, 3, 3];
        let encoded = encoder.encode_rows(&batch.slice(20, 8), &order).unwrap();
        let expected: Vec<_> = order
            .iter()
            .map(|row| &rows[20 + *row as usize][..])
            .collect();
        assert_eq!(encoded.rows().collect::<Vec<_>>(), expected);
        // Of a stream in pieces, some columns only.
        let all = stream(&rows);
        let places = [17, 3, 21];
        let decoder = RowDecoder::of_places(&types, &places).unwrap();
        let some = decode_blocks(decoder, all.chunks(777));
        assert_eq!(some, renamed(&batch.project(&places).unwrap()));
        // Taken one by one and put together again.
        let order = UInt32Array::from_iter_values((0..160).rev());
        let turned = take_record_batch(&batch, &order).unwrap();
        let turned = take_record_batch(&turned, &order).unwrap();
        assert_rows(&encode(&types, &turned), &rows);
    }
}

#[test]
fn hashes_of_arrays_are_sparks() {
    for fixture in Fixture::all() {
        let (types, names, rows) = fixture.nested();
        let batch = decode(&types, &stream(&rows));
        let lines = fixture.lines("nested-hash");
        assert_eq!(lines.len(), 19);
        for line in lines {
            let place = names.iter().position(|name| *name == line[0]).unwrap();
            let columns = [ArrayRef::clone(batch.column(place))];
            let hashes = rows::murmur3::hash_columns(&columns, 160, 42).unwrap();
            assert_eq!(hashes, ints(&line[1]), "{} {}", fixture.version, line[0]);
        }
    }
}

#[test]
fn damaged_arrays_are_refused() {
    let of = data_type("array<array<int>>");
    // One row of an array of 1000 arrays that are all the same.
    let inner = [4_u64.to_le_bytes(), [0; 8], [1; 8], [2; 8]].concat();
    let (header, count) = (8 + 16 * 8, 1000_u64);
    let mut array = count.to_le_bytes().to_vec();
    array.resize(header, 0);
    let place = (header as u64 + count * 8) << 32 | inner.len() as u64;
    array.extend(place.to_le_bytes().repeat(1000));
    array.extend(inner);
    let row = |array: &[u8]| {
        let slot = 16_u64 << 32 | array.len() as u64;
        [&[0; 8][..], &slot.to_le_bytes(), array].concat()
    };
    let read = |bytes: Vec<u8>| {
        let mut decoder = RowDecoder::new(std::slice::from_ref(&of)).unwrap();
        decoder.push(stream(&[bytes]).into());
        decoder.next().and_then(|_| decoder.finish())
    };
    let error = read(row(&array)).unwrap_err().to_string();
    assert!(error.contains("lie in each other"), "{error}");
    for count in [u64::MAX, 1 << 40, 9] {
        let mut array = array.clone();
        array.truncate(64);
        array[..8].copy_from_slice(&count.to_le_bytes());
        assert!(read(row(&array)).is_err(), "{count}");
    }
}

#[test]
fn streams_are_cut_anywhere() {
    for fixture in Fixture::all() {
        let (types, rows) = (fixture.types(), fixture.rows());
        let stream = stream(&rows);
        let whole = fixture.batch();
        for size in [1, 3, 4, 5, 100, 1000, 10_000] {
            let decoder = RowDecoder::new(&types).unwrap();
            assert_eq!(decode_blocks(decoder, stream.chunks(size)), whole, "{size}");
        }
        // Some columns only.
        let places = [11, 0, 20, 18];
        let decoder = RowDecoder::of_places(&types, &places).unwrap();
        let some = decode_blocks(decoder, stream.chunks(5000));
        assert_eq!(some, renamed(&whole.project(&places).unwrap()));
        assert!(RowDecoder::of_places(&types, &[21]).is_err());
        let mut opaque = decode_blocks(RowDecoder::opaque(Some(types.len())), stream.chunks(777));
        assert_eq!(opaque.num_columns(), 1);
        let mut encoder = RowEncoder::opaque(Some(types.len()));
        assert_eq!(encoder.encode(&opaque).unwrap().bytes(), stream);
        opaque = opaque.slice(3, 4);
        let encoded = encoder.encode_rows(&opaque, &[1]).unwrap();
        assert_eq!(encoded.rows().collect::<Vec<_>>(), [&rows[4][..]]);
        // Rows of fewer columns than somebody was promised are neither read nor written.
        let mut promised = RowDecoder::opaque(Some(10_000));
        promised.push(Bytes::copy_from_slice(&stream));
        assert!(promised.next().is_err());
        assert!(RowEncoder::opaque(Some(10_000)).encode(&opaque).is_err());

        let mut decoder = RowDecoder::new(&types).unwrap();
        decoder.push(Bytes::copy_from_slice(&stream[..stream.len() - 1]));
        assert!(decoder.next().unwrap().is_none());
        assert!(decoder.finish().is_err());
    }
}

#[test]
fn batches_end_where_they_are_full() {
    let types = [DataType::Long];
    let rows: Vec<_> = (0..20_000_i64)
        .map(|value| [[0; 8], value.to_le_bytes()].concat())
        .collect();
    let mut decoder = RowDecoder::new(&types).unwrap();
    let mut stream = stream(&rows);
    stream.extend_from_slice(&(-1_i32).to_be_bytes());
    decoder.push(stream.into());
    let mut sizes = Vec::new();
    let mut next = 0;
    loop {
        let batch = match decoder.next().unwrap() {
            Some(batch) => batch,
            None => match decoder.finish().unwrap() {
                Some(batch) => batch,
                None => break,
            },
        };
        sizes.push(batch.num_rows());
        for value in batch.column(0).as_primitive::<Int64Type>().values() {
            assert_eq!(*value, next);
            next += 1;
        }
    }
    assert_eq!(sizes, [8192, 8192, 3616]);
    // Rows without columns have no bytes.
    let mut decoder = RowDecoder::new(&[]).unwrap();
    decoder.push(Bytes::from_static(&[0; 20]));
    assert!(decoder.next().unwrap().is_none());
    let batch = decoder.finish().unwrap().unwrap();
    assert_eq!(batch.num_rows(), 5);
    let mut encoder = RowEncoder::new(&[]).unwrap();
    assert_eq!(encoder.encode(&batch).unwrap().bytes(), [0; 20]);
}

#[test]
fn hashes_are_sparks() {
    for fixture in Fixture::all() {
        let batch = fixture.batch();
        assert_eq!(fixture.lines("hash").len(), 21);
        for line in fixture.lines("hash") {
            let columns: Vec<ArrayRef> = line[0]
                .split(',')
                .map(|name| ArrayRef::clone(batch.column(fixture.column(name))))
                .collect();
            let hashes = rows::murmur3::hash_columns(&columns, batch.num_rows(), 42).unwrap();
            assert_eq!(hashes, ints(&line[1]), "{} {}", fixture.version, line[0]);
        }
        // A shuffle by the hash.
        let types = fixture.types();
        let output = attributes(&types);
        let keys = output.iter().cloned().map(Expr::attribute).collect();
        let partitioner = Partitioner::with(&Partitioning::Hash(keys), &output, 200).unwrap();
        let ids = partitioner.task(0).partition_ids(&batch).unwrap();
        let hashes = ints(&fixture.lines("hash").last().unwrap()[1]);
        let expected: Vec<_> = hashes
            .iter()
            .map(|hash| hash.rem_euclid(200) as u32)
            .collect();
        assert_eq!(ids, expected);
    }
}

#[test]
fn checksums_are_sparks() {
    let mut compared = 0;
    for fixture in Fixture::all() {
        for line in fixture.lines("checksum") {
            let mut checksums = RowChecksums::new(3);
            for (index, row) in fixture.rows().iter().enumerate() {
                checksums.update(index % 2, row);
            }
            assert_eq!(checksums.value().to_string(), line[0]);
            compared += 1;
        }
    }
    assert_eq!(compared, 1);
}

/// Columns of the relations.
fn relation_types(fixture: &Fixture, key: &str) -> [DataType; 3] {
    let types = fixture.types();
    let wide = types[fixture.column("w")].clone();
    let key = match key {
        "text" => DataType::String,
        _ => DataType::Long,
    };
    [key, DataType::String, wide]
}

#[test]
fn a_row_that_is_sent_once_is_there_once() {
    for fixture in Fixture::all() {
        let lines = fixture.lines("relation");
        let rows = lines.iter().find(|line| line[0] == "rows").unwrap();
        let mut relation = from_hex(&rows[1]);
        let types = relation_types(&fixture, "rows");
        let whole = Relation::read(&relation, Serializer::Java, &types).unwrap();
        // Behind the array's class are its length and elements, of which more are the first one again: descriptors
        // and objects are numbered.
        let at = relation.windows(2).position(|two| two == b"xp").unwrap() + 2;
        let count = i32::from_be_bytes(relation[at..at + 4].try_into().unwrap());
        assert_eq!(count as usize, whole.batch.num_rows());
        relation[at..at + 4].copy_from_slice(&(count + 10_000).to_be_bytes());
        let first = b"q\0~\0\x04";
        relation.extend_from_slice(&first.repeat(10_000));
        let error = Relation::read(&relation, Serializer::Java, &types)
            .unwrap_err()
            .to_string();
        assert!(error.contains("damaged"), "{error}");
    }
}

#[test]
fn relations_have_the_rows_that_spark_put_in() {
    for fixture in Fixture::all() {
        let mut kinds = Vec::new();
        for line in fixture.lines("relation") {
            let name = &line[0][..];
            let types = relation_types(&fixture, name);
            let relation = Relation::read(&from_hex(&line[1]), Serializer::Java, &types).unwrap();
            kinds.push((name, relation.kind));
            let rows: Vec<_> = fixture
                .lines("relation-row")
                .iter()
                .filter(|row| row[0] == name)
                .map(|row| from_hex(&row[1]))
                .collect();
            let mut found = encode(&types, &relation.batch);
            let mut expected: Vec<_> = match relation.kind {
                RelationKind::Long | RelationKind::Unsafe => {
                    // Without those that have a null key.
                    rows.into_iter().filter(|row| row[0] & 1 == 0).collect()
                }
                RelationKind::Rows if name == "rows" => {
                    let some = fixture.project(&["id", "t", "w"]);
                    let ids = some.column(0).as_primitive::<Int64Type>();
                    let rows =
                        (0..some.num_rows() as u32).filter(|row| ids.value(*row as usize) < 20);
                    let rows: Vec<_> = rows.collect();
                    let some = take_record_batch(&some, &UInt32Array::from(rows)).unwrap();
                    assert_eq!(encode(&types, &some), found);
                    encode(&types, &some)
                }
                _ => Vec::new(),
            };
            found.sort();
            expected.sort();
            assert_rows(&found, &expected);
            check_table(&relation.batch);
        }
        let expected = [
            ("dense", RelationKind::Long),
            ("sparse", RelationKind::Long),
            ("duplicates", RelationKind::Long),
            ("text", RelationKind::Unsafe),
            ("empty", RelationKind::Empty),
            ("nulls", RelationKind::AllNullKeys),
            ("rows", RelationKind::Rows),
            ("norows", RelationKind::Rows),
        ];
        assert_eq!(kinds, expected);
    }
}

/// Probes a table with its own keys, by each column and by pairs of them.
fn check_table(batch: &RecordBatch) {
    for columns in [&[0][..], &[1], &[2], &[0, 0], &[0, 1], &[2, 1, 0]] {
        let keys: Vec<_> = columns
            .iter()
            .map(|c| ArrayRef::clone(batch.column(*c)))
            .collect();
        let table = RelationTable::new(&keys, batch.num_rows()).unwrap();
        let mut expected = Vec::new();
        let same = |a: usize, b: usize| {
            keys.iter()
                .all(|key| key.is_valid(a) && key.is_valid(b) && key.slice(a, 1) == key.slice(b, 1))
        };
        for a in 0..batch.num_rows() {
            for b in 0..batch.num_rows() {
                if same(a, b) {
                    expected.push((a as u32, b as u32));
                }
            }
        }
        let matches = table.probe(&keys, batch.num_rows()).unwrap();
        for limit in [1, 7, 1000] {
            let mut found = Vec::new();
            let mut cursor = MatchCursor::default();
            loop {
                let (mut streamed, mut build) = (Vec::new(), Vec::new());
                let done = matches.pairs(&table, &mut cursor, limit, &mut streamed, &mut build);
                assert!(streamed.len() <= limit);
                found.extend(streamed.into_iter().zip(build));
                if done {
                    break;
                }
            }
            assert_eq!(found, expected, "{columns:?}");
        }
        let unique = expected.iter().all(|(a, b)| a == b);
        assert_eq!(table.key_is_unique(), unique);
        for row in 0..batch.num_rows() {
            assert_eq!(
                matches.is_match(row),
                expected.iter().any(|pair| pair.0 == row as u32)
            );
        }
    }
}

/// A value as a plan has it.
fn literal(array: &ArrayRef, row: usize, of: &DataType) -> Literal {
    if array.is_null(row) {
        return Literal::Null;
    }
    match of {
        DataType::Integer => Literal::Integer(array.as_primitive::<Int32Type>().value(row)),
        DataType::Double => Literal::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal(_) => Literal::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::String => Literal::String(array.as_string_view().value(row).into()),
        other => panic!("{other}"),
    }
}

#[test]
fn rows_are_sent_between_the_bounds_that_spark_sends_them_between() {
    for fixture in Fixture::all() {
        assert_eq!(fixture.lines("range").len(), 4);
        for line in fixture.lines("range") {
            let types = [fixture.types()[fixture.column(&line[0])].clone()];
            let bounds: Vec<_> = line[3].split(',').map(from_hex).collect();
            let bounds = decode(&types, &stream(&bounds));
            let bounds = (0..bounds.num_rows())
                .map(|row| vec![literal(bounds.column(0), row, &types[0])])
                .collect();
            let output = attributes(&types);
            let order = vec![SortOrder {
                child: Expr::attribute(output[0].clone()),
                ascending: line[1] == "true",
                nulls_first: line[2] == "true",
            }];
            let partitioning = Partitioning::Range { order, bounds };
            let partitioner = Partitioner::with(&partitioning, &output, 7).unwrap();
            let keys = fixture.project(&[&line[0]]);
            let ids = partitioner.task(0).partition_ids(&keys).unwrap();
            let ids: Vec<_> = ids.into_iter().map(|id| id as i32).collect();
            assert_eq!(ids, ints(&line[4]), "{} {}", fixture.version, line[0]);
        }
    }
}

/// Rows of `names` in a partition, in their order.
fn partition(fixture: &Fixture, names: &[&str], number: usize) -> RecordBatch {
    let lines = fixture.lines("partition").iter().enumerate();
    let rows: Vec<_> = lines
        .filter(|(_, line)| line[0].parse::<usize>().unwrap() == number)
        .map(|(row, _)| row as u32)
        .collect();
    take_record_batch(&fixture.project(names), &UInt32Array::from(rows)).unwrap()
}

#[test]
fn samples_are_those_that_spark_takes() {
    for fixture in Fixture::all() {
        let catalog = fixture.catalog();
        assert_eq!(fixture.lines("sample").len(), 9);
        for line in fixture.lines("sample") {
            let output = attributes(&[DataType::Long, DataType::String]);
            let order: Vec<_> = output
                .iter()
                .map(|attribute| SortOrder {
                    child: Expr::attribute(attribute.clone()),
                    ascending: true,
                    nulls_first: true,
                })
                .collect();
            let [size, rdd, index] = [0, 1, 2].map(|i| line[i].parse::<i32>().unwrap());
            let sampler = RangeSampler::new(&order, size, rdd, &output).unwrap();
            let mut sample = sampler.task(index).unwrap();
            let rows = partition(&fixture, &["id", "t"], index as usize);
            // In batches of any size.
            let first = rows.num_rows().min(9);
            sample.push(&rows.slice(0, first)).unwrap();
            sample.push(&rows.slice(first, 0)).unwrap();
            sample
                .push(&rows.slice(first, rows.num_rows() - first))
                .unwrap();
            let sample = sample.finish();
            let rows = sample.rows.iter().map(|row| &**row);
            let (partition, count) = (sample.partition_id, sample.count);
            let written = result::sketch(&catalog, partition, count, sample.columns, rows).unwrap();
            assert_eq!(written, from_hex(&line[3]), "{} {line:?}", fixture.version);
        }
    }
}

#[test]
fn rows_go_round_robin_as_spark_sends_them() {
    for fixture in Fixture::all() {
        let types = [DataType::Integer, DataType::Long];
        for sorted in ["true", "false"] {
            for n in [3, 4, 7] {
                let lines = fixture.lines("robin").iter();
                let mut expected: Vec<_> = lines
                    .filter(|line| line[0] == sorted && line[1] == n.to_string())
                    .map(|line| [2, 3, 4].map(|i| line[i].parse::<i64>().unwrap()))
                    .collect();
                assert_eq!(expected.len(), 160);
                let mut found = Vec::new();
                for map in 0..3 {
                    let ids = partition(&fixture, &["id"], map);
                    let maps = arrow::array::Int32Array::from(vec![map as i32; ids.num_rows()]);
                    let columns: Vec<ArrayRef> =
                        vec![std::sync::Arc::new(maps), ids.column(0).clone()];
                    let schema = RowDecoder::new(&types).unwrap().schema();
                    let mut rows = RecordBatch::try_new(schema, columns).unwrap();
                    let partitioning = Partitioning::RoundRobin {
                        sorted: sorted == "true",
                    };
                    let partitioner =
                        Partitioner::with(&partitioning, &attributes(&types), n).unwrap();
                    let mut task = partitioner.task(map as i32);
                    assert_eq!(task.needs_sorted_rows(), sorted == "true");
                    if task.needs_sorted_rows() {
                        let mut encoder = RowEncoder::new(&types).unwrap();
                        let order = round_robin_order(&encoder.encode(&rows).unwrap());
                        rows = take_record_batch(&rows, &UInt32Array::from(order)).unwrap();
                    }
                    let targets = task.partition_ids(&rows).unwrap();
                    let ids = rows.column(1).as_primitive::<Int64Type>().values();
                    for (target, id) in targets.iter().zip(ids) {
                        found.push([i64::from(*target), map as i64, *id]);
                    }
                }
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{} {sorted} {n}", fixture.version);
            }
        }
    }
}

#[test]
fn rows_are_put_together_by_partition() {
    let scattered = scatter(&[2, 0, 2, 3, 0], 5);
    assert_eq!(scattered.rows, [1, 4, 0, 2, 3]);
    assert_eq!(scattered.starts, [0, 2, 2, 4, 5, 5]);
}

#[test]
fn results_are_written_as_spark_writes_them() {
    for fixture in Fixture::all() {
        let catalog = fixture.catalog();
        let large: Vec<u8> = (0..2500).map(|i| (i * 7) as u8).collect();
        let rows = fixture.project(&["id", "t"]);
        let types = [DataType::Long, DataType::String];
        let ids = rows.column(0).as_primitive::<Int64Type>().values().to_vec();
        let encoded: Vec<_> = encode(&types, &rows)
            .into_iter()
            .zip(ids)
            .filter(|(_, id)| *id < 9)
            .map(|(row, _)| row)
            .collect();
        let rows = || encoded.iter().map(Vec::as_slice);
        for line in fixture.lines("result") {
            let written = match &line[0][..] {
                "pair" => result::collect(&catalog, CollectResult::Pair, 5, &large),
                "array" => result::collect(&catalog, CollectResult::Array, 5, &large),
                "some" => result::take_ordered(&catalog, 3, 2, rows()),
                "none" => result::take_ordered(&catalog, 3, 2, std::iter::empty()),
                "empty" => result::take_ordered(&catalog, 0, 2, std::iter::empty()),
                other => panic!("{other}"),
            };
            assert_eq!(
                written.unwrap(),
                from_hex(&line[1]),
                "{} {}",
                fixture.version,
                line[0]
            );
        }
    }
}

#[test]
fn collects_take_the_first_rows_or_the_last() {
    let fixture = Fixture::all().next().unwrap();
    let (types, rows) = (fixture.types(), fixture.rows());
    let batch = fixture.batch();
    let end = (-1_i32).to_be_bytes();
    for (limit, from_end, expected) in [
        (-1, false, &rows[..]),
        (-1, true, &rows[..]),
        (0, false, &[]),
        (0, true, &[]),
        (50, false, &rows[..50]),
        (50, true, &rows[110..]),
        (3, true, &rows[157..]),
        (500, true, &rows[..]),
    ] {
        let mut collect = result::CollectRows::new(Vec::new(), limit, from_end);
        let mut encoder = RowEncoder::new(&types).unwrap();
        for start in (0..160).step_by(40) {
            if collect.is_full() {
                break;
            }
            let part = batch.slice(start, 40);
            collect.push(&encoder.encode(&part).unwrap()).unwrap();
        }
        let (count, bytes) = collect.finish().unwrap();
        assert_eq!(count as usize, expected.len());
        assert!(bytes == [&stream(expected)[..], &end].concat());
    }
}

#[test]
fn text_that_is_no_utf_8_is_left_to_the_jvm() {
    for text in [&b"\xff"[..], b"longer than twelve \xc3"] {
        let mut row = vec![0; 8];
        row.extend_from_slice(&((16_u64 << 32) | text.len() as u64).to_le_bytes());
        row.extend_from_slice(text);
        row.resize(row.len().next_multiple_of(8), 0);
        let stream = stream(&[row]);
        let mut decoder = RowDecoder::new(&[DataType::String]).unwrap();
        decoder.push(stream.clone().into());
        assert!(decoder.next().unwrap().is_none());
        assert!(decoder.finish().is_err());
        let bytes = decode(&[DataType::Binary], &stream);
        assert_eq!(bytes.column(0).as_binary_view().value(0), text);
    }
}

#[test]
fn text_that_is_little_of_its_blocks_is_copied() {
    let types = [DataType::String, DataType::Binary];
    let text = "more than twelve bytes";
    let rows: Vec<_> = (0..100)
        .map(|_| {
            let mut row = vec![0; 8];
            for (at, length) in [(24_u64, text.len()), (48, 500)] {
                row.extend_from_slice(&(at << 32 | length as u64).to_le_bytes());
            }
            row.extend_from_slice(text.as_bytes());
            row.resize(48, 0);
            row.resize(48 + 504, 7);
            row
        })
        .collect();
    let batch = decode(&types, &stream(&rows));
    let strings = batch.column(0).as_string_view();
    assert!(strings.iter().all(|value| value == Some(text)));
    let kept: usize = strings
        .data_buffers()
        .iter()
        .map(|buffer| buffer.len())
        .sum();
    assert_eq!(kept, 100 * text.len());
    let binary = batch.column(1).as_binary_view();
    assert!(binary.iter().all(|value| value == Some(&[7; 500])));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_readers_panic(mut bytes: Vec<u8>, at: proptest::sample::Index, version: bool) {
        use proptest::prelude::*;
        let types = [
            DataType::Long,
            DataType::String,
            data_type("decimal(38,2)"),
            data_type("struct<a:int,b:struct<c:string>>"),
            data_type("array<struct<a:array<string>,b:map<int,decimal(38,2)>>>"),
        ];
        let read = |bytes: &[u8]| {
            let mut decoder = RowDecoder::new(&types).unwrap();
            decoder.push(Bytes::copy_from_slice(bytes));
            while let Ok(Some(_)) = decoder.next() {}
            let _ = decoder.finish();
        };
        read(&bytes);
        // As one row.
        bytes.resize(bytes.len().max(48), 0);
        read(&stream(std::slice::from_ref(&bytes)));
        // A relation with other bytes in the middle.
        let fixture = Fixture::all().nth(version.into()).unwrap();
        for line in fixture.lines("relation") {
            let mut relation = from_hex(&line[1]);
            let at = at.index(relation.len());
            for (place, byte) in relation[at..].iter_mut().zip(&bytes) {
                *place = *byte;
            }
            let types = relation_types(&fixture, &line[0]);
            let _ = Relation::read(&relation, Serializer::Java, &types);
        }
        prop_assert!(true);
    }
}
