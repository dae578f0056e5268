//! Which native function a function of Python stands for.
//!
//! The module of Python that `firesteel functions python` writes pickles its functions as a call of one of its own
//! functions with a text. PySpark pickles the pair of that and the type of the result. The command is read only if it
//! is just that: whatever else calls the function, or is called by it, is Python's.

use serde::{Deserialize, Serialize};

use super::library;

/// What the text begins with.
const PREFIX: &str = "firesteel-function:";

/// The function that unpickles: its version is that of the text.
const UNPICKLES: &[u8] = b"_native_function_v1";

/// Longest text.
const MAX_TEXT: usize = 4096;

/// Which function of which library.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// Name of the function.
    pub function: String,
    /// File name of the library.
    pub library: String,
    /// Name that the library gives itself.
    pub module: String,
    /// Number of the function's signature.
    pub signature: usize,
    /// Version of the library.
    pub version: String,
}

impl Marker {
    /// What the function is called in messages.
    pub(super) fn title(&self) -> String {
        let of = format!("{} ({} {})", self.library, self.module, self.version);
        library::title(&self.function, &of)
    }

    /// The marker of a pickled command; `None` if it is another function.
    pub fn of_command(command: &[u8]) -> Option<Self> {
        let mut pickle = Pickle { bytes: command };
        let text = pickle.marked()?;
        pickle.rest_is_a_type()?;
        serde_json::from_str(text.strip_prefix(PREFIX)?).ok()
    }
}

/// A pickle, from where it was not read yet.
struct Pickle<'a> {
    bytes: &'a [u8],
}

/// Opcodes of pickles, by the names that `pickletools` has for them.
mod op {
    pub(super) const PROTO: u8 = 0x80;
    pub(super) const FRAME: u8 = 0x95;
    pub(super) const MEMOIZE: u8 = 0x94;
    pub(super) const SHORT_BINUNICODE: u8 = 0x8c;
    pub(super) const BINUNICODE: u8 = b'X';
    pub(super) const STACK_GLOBAL: u8 = 0x93;
    pub(super) const TUPLE1: u8 = 0x85;
    pub(super) const TUPLE2: u8 = 0x86;
    pub(super) const TUPLE3: u8 = 0x87;
    pub(super) const TUPLE: u8 = b't';
    pub(super) const REDUCE: u8 = b'R';
    pub(super) const STOP: u8 = b'.';
    pub(super) const EMPTY_TUPLE: u8 = b')';
    pub(super) const EMPTY_DICT: u8 = b'}';
    pub(super) const EMPTY_LIST: u8 = b']';
    pub(super) const NEWOBJ: u8 = 0x81;
    pub(super) const NONE: u8 = b'N';
    pub(super) const NEWTRUE: u8 = 0x88;
    pub(super) const NEWFALSE: u8 = 0x89;
    pub(super) const BINGET: u8 = b'h';
    pub(super) const LONG_BINGET: u8 = b'j';
    pub(super) const BININT: u8 = b'J';
    pub(super) const BININT1: u8 = b'K';
    pub(super) const BININT2: u8 = b'M';
    pub(super) const MARK: u8 = b'(';
    pub(super) const APPEND: u8 = b'a';
    pub(super) const APPENDS: u8 = b'e';
    pub(super) const SETITEM: u8 = b's';
    pub(super) const SETITEMS: u8 = b'u';
    pub(super) const BUILD: u8 = b'b';
}

impl<'a> Pickle<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    /// The next opcode that does something.
    fn op(&mut self) -> Option<u8> {
        loop {
            let [op] = self.take(1)? else {
                return None;
            };
            match *op {
                op::MEMOIZE => {}
                op::FRAME => drop(self.take(8)?),
                op::PROTO => drop(self.take(1)?),
                op => return Some(op),
            }
        }
    }

    fn expect(&mut self, op: u8) -> Option<()> {
        (self.op()? == op).then_some(())
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        let mut number = 0;
        for (place, byte) in self.take(bytes)?.iter().enumerate() {
            number |= usize::from(*byte) << (8 * place);
        }
        Some(number)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let bytes = match self.op()? {
            op::SHORT_BINUNICODE => self.number(1)?,
            op::BINUNICODE => self.number(4)?,
            _ => return None,
        };
        self.take(bytes)
    }

    /// The text of an object that is unpickled of nothing else.
    fn marked(&mut self) -> Option<&'a str> {
        // The module's name is its author's.
        self.text()?;
        let name = self.text()?;
        self.expect(op::STACK_GLOBAL)?;
        let text = self.text()?;
        self.expect(op::TUPLE1)?;
        self.expect(op::REDUCE)?;
        let fits = name == UNPICKLES && text.len() <= MAX_TEXT;
        std::str::from_utf8(text).ok().filter(|_| fits)
    }

    /// Whether what follows makes one more object, leaves the first one alone, and ends with the pair of the two.
    fn rest_is_a_type(&mut self) -> Option<()> {
        // How many objects are on the stack above the first one, and how many there were at marks.
        let (mut objects, mut marks) = (0_usize, Vec::new());
        loop {
            let (taken, given) = match self.op()? {
                op::TUPLE2 if objects == 1 && marks.is_empty() => break,
                op::SHORT_BINUNICODE => (0, self.skip(1)?),
                op::BINUNICODE => (0, self.skip(4)?),
                op::BINGET | op::BININT1 => (0, self.take(1).map(|_| 1)?),
                op::BININT2 => (0, self.take(2).map(|_| 1)?),
                op::LONG_BINGET | op::BININT => (0, self.take(4).map(|_| 1)?),
                op::NONE | op::NEWTRUE | op::NEWFALSE => (0, 1),
                op::EMPTY_TUPLE | op::EMPTY_DICT | op::EMPTY_LIST => (0, 1),
                op::TUPLE1 => (1, 1),
                op::TUPLE2 | op::STACK_GLOBAL | op::NEWOBJ | op::REDUCE => (2, 1),
                // What they change stays where it is.
                op::APPEND | op::BUILD => (2, 1),
                op::TUPLE3 | op::SETITEM => (3, 1),
                op::MARK => {
                    marks.push(objects);
                    continue;
                }
                op::TUPLE => (objects.checked_sub(marks.pop()?)?, 1),
                op::APPENDS | op::SETITEMS => (objects.checked_sub(marks.pop()?)? + 1, 1),
                _ => return None,
            };
            let below = objects.checked_sub(taken)?;
            // Nothing below a mark is taken but by what ends it.
            if marks.last().is_some_and(|mark| below < *mark) {
                return None;
            }
            objects = below + given;
        }
        self.expect(op::STOP)?;
        self.bytes.is_empty().then_some(())
    }

    /// Passes over a text, which is one object.
    fn skip(&mut self, length_bytes: usize) -> Option<usize> {
        let bytes = self.number(length_bytes)?;
        self.take(bytes).map(|_| 1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TEXT: &str = r#"firesteel-function:{"function":"haversine","library":"libgeo.so","module":"geo","signature":0,"version":"1.0"}"#;

    /// `DoubleType()`
    const DOUBLE: &[u8] = b"\x8c\x11pyspark.sql.types\x94\x8c\nDoubleType\x94\x93\x94)R\x94";

    /// `StructType([StructField("key", StringType())])`, more or less as `cloudpickle` writes it.
    const STRUCT: &[u8] = b"\x8c\x11pyspark.sql.types\x94\x8c\nStructType\x94\x93\x94)\x81\x94}\x94(\x8c\x06fields\x94]\x94h\x05\x8c\x0bStructField\x94\x93\x94)\x81\x94}\x94(\x8c\x04name\x94\x8c\x03key\x94\x8c\x08nullable\x94\x88\x8c\x08metadata\x94}\x94uba\x8c\x05names\x94]\x94\x8c\x03key\x94aub";

    fn text(of: &str) -> Vec<u8> {
        let length = u8::try_from(of.len()).unwrap();
        [
            &[op::SHORT_BINUNICODE, length],
            of.as_bytes(),
            &[op::MEMOIZE],
        ]
        .concat()
    }

    /// The call of a function of `firesteel_geo` with a text, and what follows.
    fn command(function: &str, of: &str, rest: &[&[u8]]) -> Vec<u8> {
        let start = b"\x80\x05\x95\x00\x00\x00\x00\x00\x00\x00\x00".to_vec();
        let call = [
            text("firesteel_geo"),
            text(function),
            b"\x93\x94".to_vec(),
            text(of),
        ];
        [
            start,
            call.concat(),
            b"\x85\x94R\x94".to_vec(),
            rest.concat(),
        ]
        .concat()
    }

    fn marked(rest: &[&[u8]]) -> Option<Marker> {
        Marker::of_command(&command("_native_function_v1", TEXT, rest))
    }

    #[test]
    fn a_function_and_the_type_of_its_result_are_read() {
        for of_result in [
            DOUBLE,
            STRUCT,
            b"K\x01",
            b"N",
            b"(K\x01K\x02t",
            b"h\x00h\x01\x86",
        ] {
            let marker = marked(&[of_result, b"\x86\x94."]).unwrap();
            assert_eq!(marker.function, "haversine");
            assert_eq!(marker.library, "libgeo.so");
            assert_eq!(
                (marker.module.as_str(), marker.version.as_str()),
                ("geo", "1.0")
            );
            assert_eq!(marker.signature, 0);
        }
    }

    #[test]
    fn functions_around_the_marked_one_are_pythons() {
        for rest in [
            // Not a pair, one that does not end, and one with something behind it.
            &b"."[..],
            b"\x86.",
            b"N\x86",
            b"N\x86..",
            b"NN\x87.",
            // A list with the function in it.
            b"]\x86\x94h\x00\x86.",
            // The function is called, changed, or put into something else.
            b")RN\x86.",
            b"}bN\x86.",
            b"\x85N\x86.",
            b"(K\x01\x93N\x86.",
            // Opcodes that types do not need.
            b"0N\x86.",
            b"cposix\nsystem\nN\x86.",
        ] {
            assert_eq!(marked(&[rest]), None, "{rest:?}");
        }
        let rest: [&[u8]; 2] = [DOUBLE, b"\x86\x94."];
        let of = |function, text| Marker::of_command(&command(function, text, &rest));
        assert_eq!(of("_native_function_v2", TEXT), None);
        assert_eq!(of("_native_function_v1", "firesteel-function:{}"), None);
        assert_eq!(of("_native_function_v1", "other"), None);
        assert_eq!(Marker::of_command(b""), None);
    }

    #[test]
    fn no_bytes_are_a_panic() {
        let whole = command("_native_function_v1", TEXT, &[STRUCT, b"\x86\x94."]);
        for end in 0..whole.len() {
            assert_eq!(Marker::of_command(whole.get(..end).unwrap()), None);
        }
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                *changed.get_mut(place).unwrap() ^= 1 << bit;
                let _ = Marker::of_command(&changed);
            }
        }
    }
}
