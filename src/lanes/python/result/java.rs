//! Result values as `JavaSerializer` writes them.

use bytes::Bytes;
use javaser::Catalog;
use javaser::stream::{
    BASE_HANDLE, HEADER, SC_SERIALIZABLE, TC_ARRAY, TC_CLASSDESC, TC_ENDBLOCKDATA, TC_LONGSTRING,
    TC_NULL, TC_OBJECT, TC_REFERENCE, TC_STRING,
};

use super::take;
use crate::cancel::Cancellation;
use crate::python::{Element, Elements};
use crate::task::TaskError;

/// `serialVersionUID` of `byte[]`. Readers do not check those of arrays.
const BYTES_SUID: i64 = -5_984_413_125_824_719_648;

/// A `java.lang.Long`.
pub(super) fn long(value: i64) -> Vec<u8> {
    let mut out = HEADER.to_vec();
    out.push(TC_OBJECT);
    // These two are part of Java's specification.
    desc(&mut out, "java.lang.Long", 4_290_774_380_558_885_855, 1);
    out.push(b'J');
    utf(&mut out, "value");
    out.push(TC_ENDBLOCKDATA);
    desc(&mut out, "java.lang.Number", -8_742_448_824_652_078_965, 0);
    out.extend_from_slice(&[TC_ENDBLOCKDATA, TC_NULL]);
    out.extend_from_slice(&value.to_be_bytes());
    out
}

/// `()`, a `scala.runtime.BoxedUnit`.
pub(super) fn unit() -> Vec<u8> {
    let mut out = HEADER.to_vec();
    out.push(TC_OBJECT);
    // The class declares it.
    desc(
        &mut out,
        "scala.runtime.BoxedUnit",
        8_405_543_498_931_817_370,
        0,
    );
    out.extend_from_slice(&[TC_ENDBLOCKDATA, TC_NULL]);
    out
}

/// An array of at most `limit` elements; `class` is its class. No more elements are taken than needed.
///
/// # Errors
/// Those of the elements; the task is told to stop; there are too many elements.
pub(super) fn array(
    class: &str,
    limit: Option<usize>,
    elements: Elements<'_>,
    catalog: &Catalog,
    cancellation: &Cancellation,
) -> Result<Vec<u8>, TaskError> {
    let mut writer = Writer {
        out: HEADER.to_vec(),
        next_handle: BASE_HANDLE,
        bytes_desc: None,
        tuple_desc: None,
        catalog,
    };
    writer.out.push(TC_ARRAY);
    desc(&mut writer.out, class, 0, 0);
    writer.out.extend_from_slice(&[TC_ENDBLOCKDATA, TC_NULL]);
    // The descriptor and the array itself.
    writer.next_handle += 2;
    let at = writer.out.len();
    writer.out.extend_from_slice(&[0; 4]);
    let count = take(limit, elements, cancellation, |element| {
        writer.element(&element)
    })?;
    if let Some(length) = writer.out.get_mut(at..at + 4) {
        length.copy_from_slice(&count.to_be_bytes());
    }
    Ok(writer.out)
}

struct Writer<'a> {
    out: Vec<u8>,
    next_handle: u32,
    /// Handles of descriptors that are in the stream.
    bytes_desc: Option<u32>,
    tuple_desc: Option<u32>,
    catalog: &'a Catalog,
}

impl Writer<'_> {
    fn element(&mut self, element: &Element) -> Result<(), TaskError> {
        match element {
            Element::Bytes(bytes) => self.bytes(bytes)?,
            Element::Text(text) => self.text(text),
            Element::Null => self.out.push(TC_NULL),
            Element::Tuple(pair) => {
                self.tuple()?;
                self.element(&pair.0)?;
                self.element(&pair.1)?;
            }
            Element::Pair(..) => {
                return Err(TaskError::BailOut("keyed records in a result".to_owned()));
            }
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &Bytes) -> Result<(), TaskError> {
        let length = i32::try_from(bytes.len())
            .map_err(|_| TaskError::spark("an element of more than 2 GiB"))?;
        self.out.push(TC_ARRAY);
        match self.bytes_desc {
            Some(handle) => self.reference(handle),
            None => {
                self.bytes_desc = Some(self.handle());
                desc(&mut self.out, "[B", BYTES_SUID, 0);
                self.out.extend_from_slice(&[TC_ENDBLOCKDATA, TC_NULL]);
            }
        }
        self.handle();
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn text(&mut self, text: &[u8]) {
        self.handle();
        let text = modified_utf8(text);
        match u16::try_from(text.len()) {
            Ok(length) => {
                self.out.push(TC_STRING);
                self.out.extend_from_slice(&length.to_be_bytes());
            }
            Err(_) => {
                self.out.push(TC_LONGSTRING);
                self.out
                    .extend_from_slice(&(text.len() as u64).to_be_bytes());
            }
        }
        self.out.extend_from_slice(&text);
    }

    /// The beginning of a `Tuple2`, up to its fields.
    fn tuple(&mut self) -> Result<(), TaskError> {
        self.out.push(TC_OBJECT);
        match self.tuple_desc {
            Some(handle) => self.reference(handle),
            None => {
                let class = self
                    .catalog
                    .lookup("scala.Tuple2")
                    .map_err(TaskError::spark)?;
                self.tuple_desc = Some(self.handle());
                desc(&mut self.out, "scala.Tuple2", class.suid, 2);
                self.out.push(b'L');
                utf(&mut self.out, "_1");
                let object = self.handle();
                self.out.push(TC_STRING);
                utf(&mut self.out, "Ljava/lang/Object;");
                self.out.push(b'L');
                utf(&mut self.out, "_2");
                self.reference(object);
                self.out.extend_from_slice(&[TC_ENDBLOCKDATA, TC_NULL]);
            }
        }
        self.handle();
        Ok(())
    }

    fn handle(&mut self) -> u32 {
        let handle = self.next_handle;
        self.next_handle = self.next_handle.wrapping_add(1);
        handle
    }

    fn reference(&mut self, handle: u32) {
        self.out.push(TC_REFERENCE);
        self.out.extend_from_slice(&handle.to_be_bytes());
    }
}

/// A class descriptor up to its fields.
fn desc(out: &mut Vec<u8>, class: &str, suid: i64, fields: u16) {
    out.push(TC_CLASSDESC);
    utf(out, class);
    out.extend_from_slice(&suid.to_be_bytes());
    out.push(SC_SERIALIZABLE);
    out.extend_from_slice(&fields.to_be_bytes());
}

/// A short name.
fn utf(out: &mut Vec<u8>, text: &str) {
    // Names here are of a few dozen characters.
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Java's own UTF-8: two bytes for U+0000, six for what is beyond U+FFFF.
fn modified_utf8(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !text.iter().any(|byte| *byte == 0 || *byte >= 0xf0) {
        return text.into();
    }
    let mut out = Vec::with_capacity(text.len() + text.len() / 2);
    let mut units = [0; 2];
    let mut utf8 = [0; 4];
    for char in String::from_utf8_lossy(text).chars() {
        match char {
            '\0' => out.extend_from_slice(&[0xc0, 0x80]),
            char if char > '\u{ffff}' => {
                for unit in char.encode_utf16(&mut units) {
                    out.extend_from_slice(&[
                        0xe0 | (*unit >> 12) as u8,
                        0x80 | (*unit >> 6 & 0x3f) as u8,
                        0x80 | (*unit & 0x3f) as u8,
                    ]);
                }
            }
            char => out.extend_from_slice(char.encode_utf8(&mut utf8).as_bytes()),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use javaser::Limits;
    use javaser::arena::Graph;

    use super::*;
    use crate::python::testing;

    fn written(class: &str, limit: Option<usize>, elements: Vec<Element>) -> Graph {
        let elements: Elements<'_> = Box::new(elements.into_iter().map(Ok));
        let bytes = array(
            class,
            limit,
            elements,
            testing::catalog(),
            &Cancellation::default(),
        )
        .unwrap();
        let graph = Graph::parse(&bytes, &Limits::default()).unwrap();
        assert_eq!(graph.to_bytes(), bytes);
        assert_eq!(graph.class_name(graph.root().unwrap()), Some(class));
        graph
    }

    fn bytes(text: &'static str) -> Element {
        Element::Bytes(Bytes::from_static(text.as_bytes()))
    }

    fn text(text: &'static str) -> Element {
        Element::Text(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn longs_are_as_java_writes_them() {
        let graph = Graph::parse(&long(-7), &Limits::default()).unwrap();
        let root = graph.root().unwrap();
        assert_eq!(graph.class_name(root), Some("java.lang.Long"));
        assert_eq!(graph.int(root), Some(-7));
        assert_eq!(graph.to_bytes(), long(-7));
        let graph = Graph::parse(&unit(), &Limits::default()).unwrap();
        let class = graph.class_name(graph.root().unwrap());
        assert_eq!(class, Some("scala.runtime.BoxedUnit"));
    }

    #[test]
    fn arrays_of_batches() {
        let graph = written("[[B", None, vec![bytes("a"), Element::Null, bytes("bc")]);
        let values = graph.array(graph.root().unwrap()).unwrap();
        assert_eq!(values.len(), 3);
        assert_eq!(graph.byte_array(values[0]), Some(&b"a"[..]));
        assert_eq!(graph.byte_array(values[2]), Some(&b"bc"[..]));
        let graph = written("[[B", Some(1), vec![bytes("a"), bytes("b")]);
        assert_eq!(graph.array(graph.root().unwrap()).unwrap().len(), 1);
        written("[Ljava.lang.Object;", None, Vec::new());
    }

    #[test]
    fn arrays_of_strings_and_pairs() {
        let long: &'static str = "x".repeat(70_000).leak();
        let odd = "a\0b\u{1f980}\u{e4}";
        let graph = written("[Ljava.lang.String;", None, vec![text(long), text(odd)]);
        let values = graph.array(graph.root().unwrap()).unwrap();
        assert_eq!(graph.str(values[0]).unwrap(), long);
        assert_eq!(graph.str(values[1]).unwrap(), odd);
        let pair = || Element::tuple(text("k"), Element::tuple(bytes("v"), bytes("w")));
        let graph = written("[Lscala.Tuple2;", None, vec![pair(), pair()]);
        let values = graph.array(graph.root().unwrap()).unwrap();
        let outer = graph.tuple(values[1]).unwrap();
        assert_eq!(graph.str(outer[0]).unwrap(), "k");
        let inner = graph.tuple(outer[1]).unwrap();
        assert_eq!(graph.byte_array(inner[1]), Some(&b"w"[..]));
    }

    #[test]
    fn the_first_error_ends_it() {
        let elements: Elements<'_> =
            Box::new([Ok(Element::Null), Err(TaskError::Python("why".to_owned()))].into_iter());
        let failed = array(
            "[[B",
            None,
            elements,
            testing::catalog(),
            &Cancellation::default(),
        );
        assert_eq!(failed, Err(TaskError::Python("why".to_owned())));
    }
}
