//! Result values as `KryoSerializer` writes them.

use super::take;
use crate::cancel::Cancellation;
use crate::python::{Element, Elements};
use crate::task::TaskError;
use javaser::kryo::{KryoForm, KryoGraph};

/// A `java.lang.Long`.
pub(super) fn long(kryo: KryoForm, value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    kryo.write_long(&mut out, value);
    out
}

/// `()`, a `scala.runtime.BoxedUnit`.
pub(super) fn unit(kryo: KryoForm) -> Vec<u8> {
    let mut graph = KryoGraph::new(kryo);
    graph.object("scala.runtime.BoxedUnit");
    graph.finish()
}

/// What an array's class says of its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Bytes,
    Text,
    /// Each has its class before it.
    Any,
}

/// The classes of arrays that result tasks of this lane have.
const ARRAYS: [(&str, Of); 4] = [
    ("[[B", Of::Bytes),
    ("[Ljava.lang.String;", Of::Text),
    ("[Ljava.lang.Object;", Of::Any),
    ("[Lscala.Tuple2;", Of::Any),
];

/// See [`super::ResultFormat::array`].
pub(super) fn array(
    kryo: KryoForm,
    class: &str,
    limit: Option<usize>,
    elements: Elements<'_>,
    cancellation: &Cancellation,
) -> Result<Vec<u8>, TaskError> {
    let (class, of) = ARRAYS
        .into_iter()
        .find(|(known, _)| *known == class)
        .ok_or_else(|| TaskError::BailOut(format!("a result of class {class} with Kryo")))?;
    let mut graph = KryoGraph::new(kryo);
    let length = graph.array(class);
    let count = take(limit, elements, cancellation, |element| {
        match (of, &element) {
            (Of::Bytes, Element::Bytes(bytes)) => graph.bytes(bytes),
            (Of::Text, Element::Text(text)) => graph.text(text),
            (Of::Text, Element::Null) => graph.null_text(),
            (Of::Bytes | Of::Any, Element::Null) => graph.null(),
            (Of::Any, element) => any(&mut graph, element)?,
            _ => return Err(unexpected()),
        }
        Ok(())
    })?;
    // Counted from 0 up.
    graph.set_length(length, count.cast_unsigned());
    Ok(graph.finish())
}

fn any(graph: &mut KryoGraph, element: &Element) -> Result<(), TaskError> {
    match element {
        Element::Bytes(bytes) => graph.any_bytes(bytes),
        Element::Text(text) => graph.any_text(text),
        Element::Null => graph.null(),
        Element::Tuple(pair) => {
            graph.object("scala.Tuple2");
            any(graph, &pair.0)?;
            any(graph, &pair.1)?;
        }
        Element::Pair(..) => return Err(unexpected()),
    }
    Ok(())
}

fn unexpected() -> TaskError {
    TaskError::BailOut("other elements in a result than its class says".to_owned())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const PLAIN: KryoForm = KryoForm {
        fixed_width: true,
        references: false,
    };

    fn bytes(value: &'static [u8]) -> Element {
        Element::Bytes(Bytes::from_static(value))
    }

    fn text(value: &'static str) -> Element {
        Element::Text(Bytes::from_static(value.as_bytes()))
    }

    fn written(kryo: KryoForm, class: &str, elements: Vec<Element>) -> Result<String, TaskError> {
        let elements: Elements<'_> = Box::new(elements.into_iter().map(Ok));
        let out = array(kryo, class, None, elements, &Cancellation::default())?;
        // Behind the class's name and the number of elements, all of five bytes.
        let prefix = 2 + class.len() + usize::from(kryo.references) + 5;
        Ok(out[prefix..]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    }

    /// Element by element what Spark's own serializer writes.
    #[test]
    fn arrays_are_as_spark_writes_them() {
        let with = KryoForm::default();
        let batches = || vec![bytes(&[1]), Element::Null, bytes(&[1, 2, 3])];
        assert_eq!(
            written(with, "[[B", batches()).unwrap(),
            "010201000104010203"
        );
        assert_eq!(written(PLAIN, "[[B", batches()).unwrap(), "02010004010203");
        let texts = || {
            vec![
                text(""),
                text("a"),
                text("ab"),
                text("h\u{e9}\u{20ac}"),
                Element::Null,
                text("\u{1f600}"),
            ]
        };
        let class = "[Ljava.lang.String;";
        let expected = "01810182610161e2018468c3a9e282ac000183eda0bdedb880";
        assert_eq!(written(with, class, texts()).unwrap(), expected);
        let expected = "81826161e28468c3a9e282ac8083eda0bdedb880";
        assert_eq!(written(PLAIN, class, texts()).unwrap(), expected);
        let any = || {
            vec![
                bytes(&[1]),
                Element::Null,
                text("a"),
                Element::tuple(text("k"), bytes(&[2])),
            ]
        };
        let expected = "150102010003018261".to_owned()
            // The second name of the stream.
            + "01017363616c612e5475706c65b201"
            + "0301826b15010202";
        assert_eq!(
            written(with, "[Ljava.lang.Object;", any()).unwrap(),
            expected
        );
    }

    #[test]
    fn lengths_are_filled_in() {
        let elements: Elements<'_> = Box::new((0..300).map(|_| Ok(Element::Null)));
        let out = array(PLAIN, "[[B", Some(200), elements, &Cancellation::default()).unwrap();
        assert_eq!(
            out[..10],
            [
                1,
                0,
                b'[',
                b'[',
                b'B' | 0x80,
                201 | 0x80,
                0x81,
                0x80,
                0x80,
                0
            ]
        );
        assert_eq!(out.len(), 10 + 200);
        assert_eq!(long(KryoForm::default(), 5), [9, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(unit(PLAIN), *b"\x01\0scala.runtime.BoxedUni\xf4");
    }

    #[test]
    fn other_classes_are_left_to_the_jvm() {
        for class in ["[I", "[[[B"] {
            let failed = written(PLAIN, class, Vec::new());
            assert!(matches!(failed, Err(TaskError::BailOut(_))), "{failed:?}");
        }
        let failed = written(PLAIN, "[[B", vec![text("a")]);
        assert!(matches!(failed, Err(TaskError::BailOut(_))), "{failed:?}");
    }
}
