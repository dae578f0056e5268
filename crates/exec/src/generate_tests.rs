//! Generators over arrays that are longer than a batch.

use arrow::array::{ListArray, MapArray, StringViewArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Int32Type;

use super::*;
use crate::testing::{column, local, operator, reference, run_rows};
use catalyst::{OperatorKind, StructField};
use rows::types::list_field;

fn array_of(element: DataType) -> DataType {
    DataType::Array {
        element: Box::new(element),
        contains_null: true,
    }
}

/// Arrays of no, one, and many elements, and none.
fn arrays() -> ArrayRef {
    let many: Vec<Option<i32>> = (0..150).map(Some).collect();
    let rows = [
        Some(vec![Some(7), None]),
        None,
        Some(Vec::new()),
        Some(many),
        Some(vec![Some(-1)]),
    ];
    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows))
}

fn ids() -> ArrayRef {
    Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5]))
}

fn run(
    generator: Generator,
    outer: bool,
    input: (&[Attribute], Vec<ArrayRef>),
    generated: &[Attribute],
) -> Vec<String> {
    let (columns, arrays) = input;
    let required = vec![columns[0].clone()];
    let output = required.iter().chain(generated).cloned().collect();
    let kind = OperatorKind::Generate {
        generator,
        outer,
        required,
        generated: generated.to_vec(),
        child: local(0, columns),
    };
    run_rows(operator(kind, output), columns, arrays)
}

#[test]
fn elements_come_out_with_their_places_or_nulls_for_none() {
    let columns = [
        column(1, DataType::Integer),
        column(2, array_of(DataType::Integer)),
    ];
    let generated = [column(3, DataType::Integer), column(4, DataType::Integer)];
    let explode = |position| Generator::Explode {
        child: reference(&columns[1]),
        position,
    };
    let input = || (&columns[..], vec![ids(), arrays()]);
    let found = run(explode(true), true, input(), &generated);
    assert_eq!(found.len(), 155);
    let first = ["1 0 7", "1 1 null", "2 null null", "3 null null", "4 0 0"];
    assert_eq!(found[..5], first);
    assert_eq!(found[153..], ["4 149 149", "5 0 -1"]);
    let found = run(explode(false), false, input(), &generated[1..]);
    assert_eq!(found.len(), 153);
    assert_eq!(found[..3], ["1 7", "1 null", "4 0"]);
}

#[test]
fn fields_and_entries_come_out() {
    let texts = StringViewArray::from(vec![Some("a"), None, Some("c")]);
    let numbers = Int32Array::from(vec![1, 2, 3]);
    let field = |of| StructField {
        name: "f".to_owned(),
        data_type: of,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    let of = DataType::Struct(vec![field(DataType::Integer), field(DataType::String)]);
    let ArrowType::Struct(fields) = of.to_arrow().unwrap() else {
        panic!("no struct");
    };
    let columns: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(texts)];
    let nulls = vec![true, false, true].into();
    let structs = StructArray::new(fields, columns.clone(), Some(nulls));
    let offsets = OffsetBuffer::from_lengths([2, 0, 1]);
    let field = list_field(of.to_arrow().unwrap());
    let lists = ListArray::new(field, offsets.clone(), Arc::new(structs), None);
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let input = [column(1, DataType::Integer), column(2, array_of(of))];
    let generated = [column(3, DataType::Integer), column(4, DataType::String)];
    let inline = Generator::Inline(reference(&input[1]));
    let arrays = vec![Arc::clone(&ids), Arc::new(lists) as _];
    let found = run(inline, true, (&input, arrays), &generated);
    assert_eq!(found, ["1 1 a", "1 null null", "2 null null", "3 3 c"]);

    let of = DataType::Map {
        key: Box::new(DataType::Integer),
        value: Box::new(DataType::String),
        value_contains_null: true,
    };
    let ArrowType::Map(entries, _) = of.to_arrow().unwrap() else {
        panic!("no map");
    };
    let ArrowType::Struct(fields) = entries.data_type() else {
        panic!("no entries");
    };
    let structs = StructArray::new(fields.clone(), columns, None);
    let maps = MapArray::new(Arc::clone(&entries), offsets, structs, None, false);
    let input = [column(1, DataType::Integer), column(2, of)];
    let explode = Generator::Explode {
        child: reference(&input[1]),
        position: false,
    };
    let arrays = vec![ids, Arc::new(maps) as _];
    let found = run(explode, false, (&input, arrays), &generated);
    assert_eq!(found, ["1 1 a", "1 2 null", "3 3 c"]);
}

#[test]
fn rows_are_stacked_and_replicated() {
    let input = [column(1, DataType::Integer), column(2, DataType::Long)];
    let counts: ArrayRef = Arc::new(Int64Array::from(vec![
        Some(2),
        None,
        Some(-3),
        Some(0),
        Some(100),
    ]));
    let stack = Generator::Stack {
        rows: 2,
        values: [0, 1, 0].map(|place| reference(&input[place])).to_vec(),
    };
    let generated = [column(3, DataType::Integer), column(4, DataType::Long)];
    let arrays = || vec![ids(), Arc::clone(&counts)];
    let found = run(stack, false, (&input, arrays()), &generated);
    assert_eq!(found[..4], ["1 1 2", "1 1 null", "2 2 null", "2 2 null"]);
    assert_eq!(found.len(), 10);
    let replicate = Generator::ReplicateRows {
        count: reference(&input[1]),
        values: vec![reference(&input[0])],
    };
    let found = run(replicate, false, (&input, arrays()), &generated[..1]);
    assert_eq!(found.len(), 102);
    assert_eq!(found[..3], ["1 1", "1 1", "5 5"]);
}
