//! What goes to evaluators and what comes back, as bytes. The other side is `org.firesteel.bridge.EvaluatorLoop`.
//! Numbers are big-endian.

use bytes::{Buf, BufMut, Bytes};
use catalyst::{ExprId, JvmExpression, JvmRest, ObjectsAnswer, ObjectsCall, ObjectsInput};
use wire::messages::{Accumulator, Raw};

use crate::task::{Evaluated, RestAnswer, TaskError};

/// What a message asks for: its first byte.
const EVALUATE: u8 = 0;
const NEXT: u8 = 1;
const ROWS: u8 = 2;
const END: u8 = 3;
const FINISH: u8 = 4;
const REST: u8 = 5;

/// What operators on objects say: the first byte of an answer.
const WANTED: u8 = 0;
const MADE: u8 = 1;
const LAST: u8 = 2;

/// What the rest of a task says besides [`WANTED`].
const DONE: u8 = 3;
const FAILED: u8 = 4;

/// Number of the rest of a task, which has one at most.
const REST_NUMBER: u64 = u64::MAX;

/// Most filters in a chain of operators.
const MAX_FILTERS: usize = 1 << 10;

/// The number of an expression; the length of what describes it, if it is new, or 0; rows.
pub(super) fn evaluate(number: u64, new: Option<&JvmExpression>, rows: &[u8]) -> Vec<u8> {
    let mut definition = Vec::new();
    if let Some(new) = new {
        put_ids(&mut definition, new.columns.iter().copied());
        definition.put_slice(&new.stream);
    }
    let mut out = defined(EVALUATE, number, &definition);
    out.put_slice(rows);
    out
}

/// The number of a partition's operators; to go on: the length of what describes them, if they are new, or 0; or rows.
pub(super) fn objects(call: &ObjectsCall, is_new: bool, input: ObjectsInput<'_>) -> Vec<u8> {
    let number = call.number;
    match input {
        ObjectsInput::Next => {
            let mut definition = Vec::new();
            if is_new {
                let new = &call.objects;
                put_length(&mut definition, new.chain.len());
                definition.extend(new.chain.iter().map(|operator| operator.number()));
                put_length(&mut definition, new.inputs.len());
                for columns in &new.inputs {
                    put_ids(&mut definition, columns.iter().map(|column| column.id));
                }
                if let Some(scan) = &call.scan {
                    for part in [scan.schema.as_bytes(), &scan.partition] {
                        put_length(&mut definition, part.len());
                        definition.put_slice(part);
                    }
                }
                definition.put_slice(&new.stream);
            }
            defined(NEXT, number, &definition)
        }
        input => input_rows(number, input),
    }
}

/// Rows that were asked for, or that there are no more.
fn input_rows(number: u64, input: ObjectsInput<'_>) -> Vec<u8> {
    let (kind, rows) = match input {
        ObjectsInput::Rows(rows) => (ROWS, rows),
        ObjectsInput::Next | ObjectsInput::End => (END, &[][..]),
    };
    let mut out = Vec::with_capacity(9 + rows.len());
    out.put_u8(kind);
    out.put_u64(number);
    out.put_slice(rows);
    out
}

/// To begin with the rest of a task: its id, the columns of its rows, the task behind its length, and the stage's
/// binary; or rows.
pub(super) fn rest(task: (i64, &[u8]), rest: &JvmRest, input: ObjectsInput<'_>) -> Vec<u8> {
    if input != ObjectsInput::Next {
        return input_rows(REST_NUMBER, input);
    }
    let (id, task) = task;
    let mut definition = Vec::with_capacity(16 + task.len() + rest.binary.len());
    definition.put_i64(id);
    put_length(&mut definition, rest.num_fields);
    put_length(&mut definition, task.len());
    definition.put_slice(task);
    definition.put_slice(&rest.binary);
    defined(REST, REST_NUMBER, &definition)
}

/// What the rest of a task says: that rows are wanted; what the task returns; or, behind whether it is killed, why it
/// failed.
pub(super) fn rest_answer(bytes: Vec<u8>) -> Option<Result<RestAnswer, TaskError>> {
    let mut bytes = Bytes::from(bytes);
    match bytes.try_get_u8().ok()? {
        WANTED => Some(Ok(RestAnswer::Wanted)),
        DONE => Some(Ok(RestAnswer::Done(bytes))),
        FAILED => {
            let killed = bytes.try_get_u8().ok()? != 0;
            let reason = bytes;
            Some(Err(TaskError::InSpark { killed, reason }))
        }
        _ => None,
    }
}

/// That nothing more will be asked.
pub(super) fn finish() -> Vec<u8> {
    vec![FINISH]
}

/// What operators on objects say: that rows of an input are wanted, by its number; or, of each filter, how many objects
/// it has let pass, behind their number, and rows.
pub(super) fn answer(bytes: Vec<u8>) -> Option<ObjectsAnswer> {
    let mut bytes = Bytes::from(bytes);
    match bytes.try_get_u8().ok()? {
        WANTED => {
            let place = usize::try_from(bytes.try_get_i32().ok()?).ok()?;
            Some(ObjectsAnswer::Wanted(place))
        }
        kind @ (MADE | LAST) => {
            let filters = usize::try_from(bytes.try_get_i32().ok()?).ok()?;
            if filters > MAX_FILTERS {
                return None;
            }
            let passed = (0..filters).map(|_| bytes.try_get_u64().ok());
            let passed = passed.collect::<Option<_>>()?;
            Some(ObjectsAnswer::Made {
                rows: bytes,
                passed,
                last: kind == LAST,
            })
        }
        _ => None,
    }
}

/// What was counted: behind their number Spark's own numbers, each a name behind its length and a value; then the
/// accumulators that functions and operators have added to, each a stream of objects behind its length.
pub(super) fn evaluated(bytes: Vec<u8>) -> Option<Evaluated> {
    let mut bytes = Bytes::from(bytes);
    let mut all = Evaluated::default();
    for _ in 0..bytes.try_get_i32().ok()? {
        let length = usize::from(bytes.try_get_u16().ok()?);
        let name = String::from_utf8(taken(&mut bytes, length)?.into()).ok()?;
        all.metrics.push((name, bytes.try_get_i64().ok()?));
    }
    while bytes.has_remaining() {
        let length = usize::try_from(bytes.try_get_i32().ok()?).ok()?;
        let stream = taken(&mut bytes, length)?;
        all.accumulators.push(Accumulator::Raw(Raw(stream.into())));
    }
    Some(all)
}

fn taken(bytes: &mut Bytes, length: usize) -> Option<Bytes> {
    (length <= bytes.remaining()).then(|| bytes.split_to(length))
}

fn defined(kind: u8, number: u64, definition: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(13 + definition.len());
    out.put_u8(kind);
    out.put_u64(number);
    put_length(&mut out, definition.len());
    out.put_slice(definition);
    out
}

fn put_ids(out: &mut Vec<u8>, ids: impl ExactSizeIterator<Item = ExprId>) {
    put_length(out, ids.len());
    for id in ids {
        out.put_i64(id.id);
        out.put_u128(id.jvm_id);
    }
}

/// Of something that a stage has, of which at most 16 MiB go to the JVM.
fn put_length(out: &mut Vec<u8>, length: usize) {
    out.put_i32(i32::try_from(length).unwrap_or(i32::MAX));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use catalyst::{Attribute, DataType, ObjectOperator, Objects, ScanCall};

    use super::*;

    const ID: ExprId = ExprId {
        id: 5,
        jvm_id: 1 << 64 | 2,
    };

    fn ids() -> Vec<u8> {
        let mut out = Vec::new();
        out.put_i32(1);
        for part in [5, 1, 2] {
            out.put_i64(part);
        }
        out
    }

    #[test]
    fn expressions_are_described_once() {
        let expression = JvmExpression {
            class: "ScalaUDF".to_owned(),
            stream: vec![0xac, 0xed],
            columns: vec![ID],
        };
        let mut expected = vec![0, 0, 0, 0, 0, 0, 0, 0, 3];
        expected.put_i32(4 + 24 + 2);
        expected.extend(ids());
        expected.extend([0xac, 0xed, 9]);
        assert_eq!(evaluate(3, Some(&expression), &[9]), expected);
        assert_eq!(
            evaluate(3, None, &[9]),
            [0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 9]
        );
    }

    #[test]
    fn operators_on_objects_are_described_once() {
        let column = Attribute {
            name: "x".to_owned(),
            data_type: DataType::Long,
            nullable: true,
            id: ID,
        };
        let operators = Objects {
            chain: vec![
                ObjectOperator::DeserializeToObject,
                ObjectOperator::SerializeFromObject,
            ],
            stream: vec![0xac, 0xed],
            leaf: None,
            inputs: vec![vec![column]],
            made: Vec::new(),
            appends: false,
            filters: 0,
            accumulates: false,
            parts: Vec::new(),
        };
        let mut call = ObjectsCall {
            number: 7,
            objects: Arc::new(operators),
            scan: None,
        };
        let mut expected = vec![1, 0, 0, 0, 0, 0, 0, 0, 7];
        expected.put_i32(4 + 2 + 4 + 28 + 2);
        expected.put_i32(2);
        expected.extend([0, 4]);
        expected.put_i32(1);
        expected.extend(ids());
        expected.extend([0xac, 0xed]);
        assert_eq!(objects(&call, true, ObjectsInput::Next), expected);
        let again = objects(&call, false, ObjectsInput::Next);
        assert_eq!(again, [1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0]);
        let rows = objects(&call, false, ObjectsInput::Rows(&[1, 2]));
        assert_eq!(rows, [2, 0, 0, 0, 0, 0, 0, 0, 7, 1, 2]);
        let end = objects(&call, false, ObjectsInput::End);
        assert_eq!(end, [3, 0, 0, 0, 0, 0, 0, 0, 7]);
        call.scan = Some(ScanCall {
            partition: vec![5],
            schema: "{}".to_owned(),
        });
        let scan = objects(&call, true, ObjectsInput::Next);
        let end = [0, 0, 0, 2, b'{', b'}', 0, 0, 0, 1, 5, 0xac, 0xed];
        assert!(scan.ends_with(&end), "{scan:?}");
    }

    #[test]
    fn the_rest_of_a_task_is_described_once() {
        let of_stage = JvmRest {
            binary: vec![0xac, 0xed],
            num_fields: 3,
        };
        let mut expected = vec![5];
        expected.put_u64(u64::MAX);
        expected.put_i32(8 + 4 + 4 + 1 + 2);
        expected.put_i64(70);
        expected.put_i32(3);
        expected.put_i32(1);
        expected.extend([9, 0xac, 0xed]);
        let message = |input| rest((70, &[9]), &of_stage, input);
        assert_eq!(message(ObjectsInput::Next), expected);
        let number = [255; 8];
        let rows = [&[2][..], &number, &[1, 2]].concat();
        assert_eq!(message(ObjectsInput::Rows(&[1, 2])), rows);
        assert_eq!(message(ObjectsInput::End), [&[3][..], &number].concat());
        let wanted = rest_answer(vec![0, 0, 0, 0, 0]);
        assert_eq!(wanted, Some(Ok(RestAnswer::Wanted)));
        let done = RestAnswer::Done(Bytes::from_static(&[7]));
        assert_eq!(rest_answer(vec![3, 7]), Some(Ok(done)));
        let failed = TaskError::InSpark {
            killed: true,
            reason: Bytes::from_static(&[7]),
        };
        assert_eq!(rest_answer(vec![4, 1, 7]), Some(Err(failed)));
        for other in [&[][..], &[1, 0], &[4]] {
            assert_eq!(rest_answer(other.to_vec()), None);
        }
    }

    #[test]
    fn answers_are_read() {
        let wanted = answer(vec![0, 0, 0, 0, 1]);
        assert_eq!(wanted, Some(ObjectsAnswer::Wanted(1)));
        let mut made = vec![2, 0, 0, 0, 1];
        made.put_u64(300);
        made.extend([7, 8]);
        let expected = ObjectsAnswer::Made {
            rows: Bytes::from_static(&[7, 8]),
            passed: vec![300],
            last: true,
        };
        assert_eq!(answer(made), Some(expected));
        for short in [
            &[][..],
            &[0, 0],
            &[3, 0, 0, 0, 0],
            &[1, 0, 0, 0, 1, 0],
            &[1, 127, 0, 0, 0],
        ] {
            assert_eq!(answer(short.to_vec()), None);
        }
    }

    #[test]
    fn what_was_counted_is_told_apart() {
        let mut bytes = vec![0, 0, 0, 1, 0, 1, b'n'];
        bytes.put_i64(-2);
        let two = [&bytes[..], &[0, 0, 0, 1, 9, 0, 0, 0, 0]].concat();
        let two = evaluated(two).unwrap();
        assert_eq!(two.metrics, [("n".to_owned(), -2)]);
        let streams: Vec<_> = two
            .accumulators
            .into_iter()
            .map(|one| match one {
                Accumulator::Raw(Raw(stream)) => stream,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(streams, [vec![9], vec![]]);
        assert!(evaluated([&bytes[..], &[0, 0, 0, 2, 9]].concat()).is_none());
        assert!(evaluated(bytes[..9].to_vec()).is_none());
        assert!(evaluated(vec![0, 0, 0, 1, 9, 9, b'n']).is_none());
        assert!(evaluated(vec![0, 0, 0, 0, 255, 255, 255, 255]).is_none());
    }
}
