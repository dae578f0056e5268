//! Reading what `firesteel_pyfunc` writes: JSON, an array of parts of which the last is the whole expression.
//!
//! A part refers to others by their indices, which are smaller than its own, so that a deep expression is not deep JSON
//! and one that is used twice is written once:
//!
//! * `["argument", index]`, `["constant", value]`, `["tuple", [parts]]`, `["list", [parts]]`
//! * `["element", part, index, length or null]`, `["slice", part, start or null, stop or null]`
//! * `["call", operation, [parts]]`, `["if", condition, part, part]`
//! * `["read", "item", "get" or "in", table, [parts]]`, of a part `["table", [[key, value], ...]]`
//!
//! A value is a JSON null, boolean, integer or string, `{"float": "the 64 bits in hexadecimal digits"}`,
//! `{"tuple": [values]}` or `{"list": [values]}`.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::expression::{Expression, Read};
use crate::operation::Operation;
use crate::table::{MAX_ENTRIES, Table};
use crate::value::Value;

/// Parts of an expression, counted as often as they are used.
const MAX_PARTS: usize = 256;
/// Bytes of an encoded expression.
const MAX_ENCODED: usize = 1 << 20;
/// Bytes of all constants, counted as often as they are used.
const MAX_CONSTANTS: usize = 8 << 20;

/// An encoded expression is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an encoded expression with an unknown {0}")]
pub struct MalformedExpression(&'static str);

type Decoded<T> = Result<T, MalformedExpression>;

impl Expression {
    /// Reads an encoded expression of a function with so many arguments.
    ///
    /// # Errors
    /// It is none, or larger than the compiler makes any.
    pub fn decode(encoded: &str, arguments: usize) -> Result<Self, MalformedExpression> {
        if encoded.len() > MAX_ENCODED {
            return Err(MalformedExpression("size"));
        }
        let parts: Vec<Json> =
            serde_json::from_str(encoded).map_err(|_| MalformedExpression("format"))?;
        let last = parts.len().checked_sub(1);
        let last = last.ok_or(MalformedExpression("part"))?;
        let mut decoder = Decoder {
            parts: &parts,
            arguments,
            parts_left: MAX_PARTS,
            bytes_left: MAX_CONSTANTS,
            tables: HashMap::new(),
        };
        decoder.expression(parts.len(), &Json::from(last))
    }
}

struct Decoder<'p> {
    parts: &'p [Json],
    arguments: usize,
    /// Parts that may still be used.
    parts_left: usize,
    /// Bytes of constants that may still be used.
    bytes_left: usize,
    /// Tables by the indices of their parts.
    tables: HashMap<usize, Arc<Table>>,
}

impl<'p> Decoder<'p> {
    /// The index of a part that is less than `before`, its kind, and its fields.
    fn part(&self, before: usize, index: &Json) -> Decoded<(usize, &'p str, &'p [Json])> {
        let index = read_usize(index)
            .filter(|index| *index < before)
            .ok_or(MalformedExpression("part"))?;
        let part = self.parts.get(index).and_then(Json::as_array);
        let part = part.ok_or(MalformedExpression("part"))?;
        let (kind, fields) = part.split_first().ok_or(MalformedExpression("part"))?;
        let kind = kind.as_str().ok_or(MalformedExpression("kind"))?;
        Ok((index, kind, fields))
    }

    fn expression(&mut self, before: usize, index: &Json) -> Decoded<Expression> {
        let left = self.parts_left.checked_sub(1);
        self.parts_left = left.ok_or(MalformedExpression("size"))?;
        let (index, kind, fields) = self.part(before, index)?;
        match (kind, fields) {
            ("argument", [index]) => read_usize(index)
                .filter(|index| *index < self.arguments)
                .map(Expression::Argument)
                .ok_or(MalformedExpression("argument")),
            ("constant", [value]) => self.constant(value).map(Expression::Constant),
            ("tuple", [inner]) => Ok(Expression::Tuple(self.all(index, inner)?)),
            ("list", [inner]) => Ok(Expression::List(self.all(index, inner)?)),
            ("element", [of, at, len]) => Ok(Expression::Element {
                of: Box::new(self.expression(index, of)?),
                at: at.as_i64().ok_or(MalformedExpression("index"))?,
                len: optional(len, read_usize)?,
            }),
            ("slice", [of, start, stop]) => Ok(Expression::Slice {
                of: Box::new(self.expression(index, of)?),
                start: optional(start, Json::as_i64)?,
                stop: optional(stop, Json::as_i64)?,
            }),
            ("if", [condition, yes, no]) => Ok(Expression::If(Box::new([
                self.expression(index, condition)?,
                self.expression(index, yes)?,
                self.expression(index, no)?,
            ]))),
            ("read", [read, table, inner]) => {
                let (read, most) = match read.as_str() {
                    Some("item") => (Read::Item, 1),
                    Some("get") => (Read::Get, 2),
                    Some("in") => (Read::Contains, 1),
                    _ => return Err(MalformedExpression("operation")),
                };
                let table = self.table(index, table)?;
                let inner = self.all(index, inner)?;
                check_count(inner.len(), 1, most)?;
                Ok(Expression::Read { table, read, inner })
            }
            ("call", [name, inner]) => {
                let known = name.as_str().and_then(Operation::named);
                let (operation, fewest, most) = known.ok_or(MalformedExpression("operation"))?;
                let inner = self.all(index, inner)?;
                check_count(inner.len(), fewest, most)?;
                Ok(Expression::Call(operation, inner))
            }
            _ => Err(MalformedExpression("kind")),
        }
    }

    fn all(&mut self, before: usize, inner: &Json) -> Decoded<Vec<Expression>> {
        let inner = inner.as_array().ok_or(MalformedExpression("part"))?;
        let read = inner.iter().map(|index| self.expression(before, index));
        read.collect()
    }

    fn constant(&mut self, encoded: &Json) -> Decoded<Value<'static>> {
        let value = Value::decode(encoded)?;
        let left = self.bytes_left.checked_sub(value.size());
        self.bytes_left = left.ok_or(MalformedExpression("size"))?;
        Ok(value)
    }

    /// The table of a part whose index is less than `before`.
    fn table(&mut self, before: usize, index: &Json) -> Decoded<Arc<Table>> {
        let (index, kind, fields) = self.part(before, index)?;
        if let Some(known) = self.tables.get(&index) {
            return Ok(known.clone());
        }
        let ("table", [Json::Array(entries)]) = (kind, fields) else {
            return Err(MalformedExpression("table"));
        };
        if entries.len() > MAX_ENTRIES {
            return Err(MalformedExpression("size"));
        }
        let mut table = Table::default();
        for entry in entries {
            let Some([key, value]) = entry.as_array().map(Vec::as_slice) else {
                return Err(MalformedExpression("table"));
            };
            let (key, value) = (self.constant(key)?, self.constant(value)?);
            if !table.insert(&key, value) {
                return Err(MalformedExpression("table"));
            }
        }
        let table = Arc::new(table);
        self.tables.insert(index, table.clone());
        Ok(table)
    }
}

fn check_count(found: usize, fewest: usize, most: usize) -> Decoded<()> {
    match (fewest..=most).contains(&found) {
        true => Ok(()),
        false => Err(MalformedExpression("number of arguments")),
    }
}

impl Value<'static> {
    /// Reads an encoded value.
    ///
    /// # Errors
    /// It is none.
    pub fn decode(encoded: &Json) -> Result<Self, MalformedExpression> {
        let unknown = MalformedExpression("value");
        Ok(match encoded {
            Json::Null => Self::None,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::Int(number.as_i64().ok_or(unknown)?),
            Json::String(text) => Self::Str(text.clone().into()),
            Json::Array(_) => return Err(unknown),
            Json::Object(fields) => {
                let mut fields = fields.iter();
                let (Some((kind, content)), None) = (fields.next(), fields.next()) else {
                    return Err(unknown);
                };
                let all = || {
                    let values = content.as_array().ok_or(unknown)?.iter();
                    values.map(Self::decode).collect::<Decoded<Vec<_>>>()
                };
                match kind.as_str() {
                    "float" => {
                        let digits = content.as_str().filter(|digits| {
                            digits.len() == 16 && digits.bytes().all(|one| one.is_ascii_hexdigit())
                        });
                        let bits = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                        Self::Float(f64::from_bits(bits.ok_or(unknown)?))
                    }
                    "tuple" => Self::Tuple(all()?),
                    "list" => Self::List(all()?),
                    _ => return Err(unknown),
                }
            }
        })
    }
}

fn read_usize(found: &Json) -> Option<usize> {
    found
        .as_u64()
        .and_then(|number| usize::try_from(number).ok())
}

fn optional<T>(found: &Json, read: impl Fn(&Json) -> Option<T>) -> Decoded<Option<T>> {
    match found {
        Json::Null => Ok(None),
        found => read(found).map(Some).ok_or(MalformedExpression("number")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_put_together_and_may_be_used_twice() {
        let encoded = r#"[["argument",0],["constant",{"tuple":[1,{"float":"8000000000000000"},"ä",null,true]}],
            ["call","+",[0,0]],["element",1,-2,5],["slice",1,null,3],["if",3,2,4]]"#;
        let argument = Expression::Argument(0);
        let constant = Value::Tuple(vec![
            Value::Int(1),
            Value::Float(-0.0),
            Value::Str("ä".into()),
            Value::None,
            Value::Bool(true),
        ]);
        let constant = Box::new(Expression::Constant(constant));
        let expected = Expression::If(Box::new([
            Expression::Element {
                of: constant.clone(),
                at: -2,
                len: Some(5),
            },
            Expression::Call(Operation::Add, vec![argument.clone(), argument]),
            Expression::Slice {
                of: constant,
                start: None,
                stop: Some(3),
            },
        ]));
        assert_eq!(Expression::decode(encoded, 1), Ok(expected));
    }

    #[test]
    fn what_the_compiler_does_not_write_is_refused() {
        for (encoded, unknown) in [
            ("", "format"),
            ("{}", "format"),
            ("[]", "part"),
            ("[0]", "part"),
            ("[[]]", "part"),
            (r#"[["argument",1]]"#, "argument"),
            (r#"[["argument",-1]]"#, "argument"),
            (r#"[["other",1]]"#, "kind"),
            (r#"[["tuple",[0]]]"#, "part"),
            (
                r#"[["constant",1],["element",0,9223372036854775808,null]]"#,
                "index",
            ),
            (r#"[["constant",9223372036854775808]]"#, "value"),
            (r#"[["constant",1.5]]"#, "value"),
            (r#"[["constant",[1]]]"#, "value"),
            (r#"[["constant",{"float":"+ff0000000000000"}]]"#, "value"),
            (r#"[["constant",{"float":"7ff","tuple":[]}]]"#, "value"),
            (r#"[["constant",1],["call","@",[0,0]]]"#, "operation"),
            (r#"[["constant",1],["read","item",0,[0]]]"#, "table"),
            (r#"[["table",[]]]"#, "kind"),
            (
                r#"[["table",[[1,2],[true,3]]],["constant",1],["read","in",0,[1]]]"#,
                "table",
            ),
            (
                r#"[["table",[[{"list":[]},3]]],["constant",1],["read","in",0,[1]]]"#,
                "table",
            ),
            (
                r#"[["table",[[1]]],["constant",1],["read","in",0,[1]]]"#,
                "table",
            ),
            (
                r#"[["table",[]],["constant",1],["read","pop",0,[1]]]"#,
                "operation",
            ),
            (
                r#"[["table",[]],["constant",1],["read","item",0,[1,1]]]"#,
                "number of arguments",
            ),
            (
                r#"[["constant",1],["call","+",[0]]]"#,
                "number of arguments",
            ),
        ] {
            let decoded = Expression::decode(encoded, 1);
            assert_eq!(decoded, Err(MalformedExpression(unknown)), "{encoded}");
        }
    }

    #[test]
    fn what_doubles_with_every_part_is_refused() {
        let mut parts = vec![r#"["argument",0]"#.to_owned()];
        parts.extend((0..64).map(|part| format!(r#"["tuple",[{part},{part}]]"#)));
        let decoded = Expression::decode(&format!("[{}]", parts.join(",")), 1);
        assert_eq!(decoded, Err(MalformedExpression("size")));
    }

    #[test]
    fn constants_that_are_used_too_often_are_refused() {
        let text = "x".repeat(1 << 16);
        let used = |count| {
            let parts = vec!["0"; count].join(",");
            Expression::decode(
                &format!(r#"[["constant","{text}"],["tuple",[{parts}]]]"#),
                1,
            )
        };
        assert!(used(100).is_ok());
        assert_eq!(used(200), Err(MalformedExpression("size")));
    }

    #[test]
    fn tables_are_shared() {
        let encoded = r#"[["argument",0],["table",[["a",1],[2,"b"]]],["read","get",1,[0,0]],["read","in",1,[0]],
            ["tuple",[2,3]]]"#;
        let Ok(Expression::Tuple(both)) = Expression::decode(encoded, 1) else {
            panic!("no tuple");
        };
        let [
            Expression::Read {
                table: one, inner, ..
            },
            Expression::Read { table: two, .. },
        ] = both.as_slice()
        else {
            panic!("no look-ups: {both:?}");
        };
        assert!(Arc::ptr_eq(one, two));
        assert_eq!((one.len(), inner.len()), (2, 2));
    }

    fn json() -> impl Strategy<Value = Json> {
        let kinds = [
            "argument", "constant", "tuple", "element", "slice", "call", "if", "+", "float",
            "read", "table", "in", "round", "slice", ".replace",
        ];
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            (0..4i64).prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
            prop::sample::select(kinds.to_vec()).prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
                ("float|tuple|list", inner)
                    .prop_map(|(kind, inner)| serde_json::json!({kind: inner})),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_is_an_expression_or_refused(parts in prop::collection::vec(json(), 0..6)) {
            let encoded = Json::from(parts).to_string();
            // Only that it returns, and says the same twice; and so do the values.
            let decode = || Expression::decode(&encoded, 2);
            prop_assert_eq!(format!("{:?}", decode()), format!("{:?}", decode()));
            if let Ok(decoded) = decode() {
                let arguments = [Value::Int(1 << 62), Value::Str("äb".into())];
                let value = || format!("{:?}", decoded.value(&crate::NoInterpreter, &arguments));
                prop_assert_eq!(value(), value());
            }
        }
    }
}
