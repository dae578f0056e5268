//! Reading what `firesteel_pyfunc` writes: JSON, an array of parts of which the last is the whole expression.
//!
//! A part refers to others by their indices, which are smaller than its own, so that a deep expression is not deep JSON
//! and one that is used twice is written once:
//!
//! * `["argument", index]`, `["constant", value]`, `["tuple", [parts]]`, `["list", [parts]]`
//! * `["element", part, index, length or null]`, `["slice", part, start or null, stop or null]`
//! * `["call", operation, [parts]]`, `["if", condition, part, part]`
//!
//! A value is a JSON null, boolean, integer or string, `{"float": "the 64 bits in hexadecimal digits"}`,
//! `{"tuple": [values]}` or `{"list": [values]}`.

use serde_json::Value as Json;

use crate::expression::{Expression, Operation};
use crate::value::Value;

/// Parts of an expression, counted as often as they are used.
const MAX_PARTS: usize = 256;
/// Bytes of an encoded expression.
const MAX_ENCODED: usize = 1 << 20;

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
        let (count, mut left) = (parts.len(), MAX_PARTS);
        let parts = Parts {
            parts: &parts,
            arguments,
        };
        parts.expression(count, &Json::from(last), &mut left)
    }
}

struct Parts<'p> {
    parts: &'p [Json],
    arguments: usize,
}

impl Parts<'_> {
    /// The expression of a part whose index is less than `before`; `left` parts may be used.
    fn expression(&self, before: usize, index: &Json, left: &mut usize) -> Decoded<Expression> {
        *left = left.checked_sub(1).ok_or(MalformedExpression("size"))?;
        let index = read_usize(index)
            .filter(|index| *index < before)
            .ok_or(MalformedExpression("part"))?;
        let part = self.parts.get(index).and_then(Json::as_array);
        let part = part.ok_or(MalformedExpression("part"))?;
        let (kind, fields) = part.split_first().ok_or(MalformedExpression("part"))?;
        let kind = kind.as_str().ok_or(MalformedExpression("kind"))?;
        match (kind, fields) {
            ("argument", [index]) => read_usize(index)
                .filter(|index| *index < self.arguments)
                .map(Expression::Argument)
                .ok_or(MalformedExpression("argument")),
            ("constant", [value]) => Ok(Expression::Constant(Value::decode(value)?)),
            ("tuple", [inner]) => Ok(Expression::Tuple(self.all(index, inner, left)?)),
            ("list", [inner]) => Ok(Expression::List(self.all(index, inner, left)?)),
            ("element", [of, at, len]) => Ok(Expression::Element {
                of: Box::new(self.expression(index, of, left)?),
                at: at.as_i64().ok_or(MalformedExpression("index"))?,
                len: optional(len, read_usize)?,
            }),
            ("slice", [of, start, stop]) => Ok(Expression::Slice {
                of: Box::new(self.expression(index, of, left)?),
                start: optional(start, Json::as_i64)?,
                stop: optional(stop, Json::as_i64)?,
            }),
            ("if", [condition, yes, no]) => Ok(Expression::If(Box::new([
                self.expression(index, condition, left)?,
                self.expression(index, yes, left)?,
                self.expression(index, no, left)?,
            ]))),
            ("call", [name, inner]) => {
                let known = name.as_str().and_then(Operation::named);
                let (operation, fewest, most) = known.ok_or(MalformedExpression("operation"))?;
                let inner = self.all(index, inner, left)?;
                if inner.len() < fewest || inner.len() > most {
                    return Err(MalformedExpression("number of arguments"));
                }
                Ok(Expression::Call(operation, inner))
            }
            _ => Err(MalformedExpression("kind")),
        }
    }

    fn all(&self, before: usize, inner: &Json, left: &mut usize) -> Decoded<Vec<Expression>> {
        let inner = inner.as_array().ok_or(MalformedExpression("part"))?;
        let read = inner
            .iter()
            .map(|index| self.expression(before, index, left));
        read.collect()
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
            (r#"[["constant",1],["call","**",[0,0]]]"#, "operation"),
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

    fn json() -> impl Strategy<Value = Json> {
        let kinds = [
            "argument", "constant", "tuple", "element", "slice", "call", "if", "+", "float",
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
            // Only that it returns, and says the same twice.
            let decoded = format!("{:?}", Expression::decode(&encoded, 2));
            prop_assert_eq!(decoded, format!("{:?}", Expression::decode(&encoded, 2)));
        }
    }
}
