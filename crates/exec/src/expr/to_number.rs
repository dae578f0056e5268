//! `to_number` and `try_to_number`: decimals out of texts by a format such as `$99,999.00`.

use std::sync::Arc;

use arrow::array::Decimal128Array;
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Kernel, nth, union_nulls};
use super::{known, refused};
use catalyst::{Function, Unsupported};
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// A part of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// Digits between commas: how many, and whether all must be there. The last group comes first.
    Digits(Vec<(usize, bool)>),
    Point,
    Dollar,
    /// `S`: a plus or a minus, or none.
    Sign,
    /// `MI`: a minus, or none.
    Minus,
}

/// Lowers a function of this module.
pub(super) fn lower(op: Function, types: &[ArrowType], to: &ArrowType, args: Args) -> Lowered {
    let (ArrowType::Decimal128(precision, scale), [ArrowType::Utf8View, ArrowType::Utf8View]) =
        (to, types)
    else {
        return Err(refused(op, types));
    };
    let format = match args.get(1).and_then(known) {
        Some(ScalarValue::Utf8View(Some(format))) => format.clone(),
        _ => return Err(Unsupported::of_use("a variable format of numbers")),
    };
    let unknown = || Unsupported::of_use(format!("the format of numbers {format}"));
    let tokens = tokens(&format).ok_or_else(unknown)?;
    let (precision, scale) = (*precision, *scale);
    let places = usize::try_from(scale).map_err(|_| unknown())?;
    let fails = op == Function::ToNumber;
    let name = format!("{}[{format}]", op.name());
    Ok(Kernel::strict(name, args, to.clone(), move |args, rows| {
        let text = nth(args, 0)?;
        let texts = text.string()?;
        let nulls = union_nulls(&[text]);
        let numbers = (0..rows).map(|row| {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Ok(None);
            }
            match parse(&tokens, places, texts.value(text.at(row)))? {
                None if fails => Err(bail_out("a text that is no such number")),
                number => Ok(number),
            }
        });
        let numbers = numbers.collect::<RunResult<Decimal128Array>>()?;
        Ok(Arc::new(
            numbers.with_precision_and_scale(precision, scale)?,
        ))
    }))
}

/// The parts of a format: a sign, a dollar, digits, a point, digits, a sign. `None` of others.
fn tokens(format: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = format;
    let mut after_point = false;
    while let Some(sign) = rest.bytes().next() {
        let mut taken = 1;
        match sign {
            b'0' | b'9' => {
                taken = rest
                    .bytes()
                    .take_while(|digit| matches!(digit, b'0' | b'9'))
                    .count();
                let own = (taken, sign == b'0' && !after_point);
                match tokens.last_mut() {
                    Some(Token::Digits(groups)) => groups.insert(0, own),
                    _ => tokens.push(Token::Digits(vec![own])),
                }
            }
            b',' | b'G' if !after_point => {
                let between = matches!(tokens.last(), Some(Token::Digits(_)))
                    && matches!(rest.as_bytes().get(1), Some(b'0' | b'9'));
                between.then_some(())?;
            }
            b'.' | b'D' if !after_point => {
                after_point = true;
                tokens.push(Token::Point);
            }
            b'$' => tokens.push(Token::Dollar),
            b'S' => tokens.push(Token::Sign),
            b'M' if rest.starts_with("MI") => {
                taken = 2;
                tokens.push(Token::Minus);
            }
            _ => return None,
        }
        rest = rest.get(taken..)?;
    }
    tokens
        .iter()
        .any(|token| matches!(token, Token::Digits(_)))
        .then_some(tokens)
}

/// The digits of a number with so many places behind the point; `None` if the text is not of the format.
fn parse(tokens: &[Token], places: usize, text: &str) -> RunResult<Option<i128>> {
    let odd = |byte: u8| !byte.is_ascii() || byte <= b' ' || byte == 0x7f;
    if text.bytes().any(odd) {
        // Blanks are passed over in ways of their own, and there are other digits.
        return Err(bail_out("a number with blanks or other letters"));
    }
    let mut rest = text;
    let (mut whole, mut fraction) = (String::new(), String::new());
    let (mut negative, mut after_point) = (false, false);
    for token in tokens {
        let next = rest.bytes().next();
        let mut pass = false;
        match (token, next) {
            (Token::Digits(groups), _) => {
                let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != ',');
                let (digits, behind) = rest.split_at(end.unwrap_or(rest.len()));
                let sizes: Vec<_> = digits.rsplit(',').map(str::len).collect();
                let fits = groups.iter().enumerate().all(|(at, (most, all))| {
                    let size = sizes.get(at).copied().unwrap_or(0);
                    if *all { size == *most } else { size <= *most }
                });
                if sizes.len() > groups.len() || !fits {
                    return Ok(None);
                }
                let own = if after_point {
                    &mut fraction
                } else {
                    &mut whole
                };
                own.extend(digits.chars().filter(char::is_ascii_digit));
                rest = behind;
            }
            (Token::Point, Some(b'.')) => {
                after_point = true;
                pass = true;
            }
            (Token::Dollar, Some(b'$')) | (Token::Sign, Some(b'+')) => pass = true,
            (Token::Dollar, Some(_)) => return Ok(None),
            (Token::Sign | Token::Minus, Some(b'-')) => {
                negative = !negative;
                pass = true;
            }
            _ => {}
        }
        if pass {
            // It is one byte.
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    if !rest.is_empty() {
        return Ok(None);
    }
    if whole.is_empty() && fraction.is_empty() {
        return Err(bail_out("a number without digits"));
    }
    let zeros = "0".repeat(places.saturating_sub(fraction.len()));
    let digits: i128 = format!("{whole}{fraction}{zeros}")
        .parse()
        .map_err(|_| bail_out("a number that overflows"))?;
    Ok(Some(if negative { -digits } else { digits }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_their_format() {
        let of = |format: &str, text: &str| {
            let tokens = tokens(format).unwrap();
            let places = format.split_once('.').map_or(0, |(_, places)| {
                places.bytes().filter(u8::is_ascii_digit).count()
            });
            match parse(&tokens, places, text) {
                Ok(Some(digits)) => digits.to_string(),
                Ok(None) => "null".to_owned(),
                Err(_) => "left".to_owned(),
            }
        };
        for (format, text, expected) in [
            ("999", "454", "454"),
            ("999", "4545", "null"),
            ("000", "45", "null"),
            ("000.00", "454.0", "45400"),
            ("99,999", "12,454", "12454"),
            ("99,999", "12454", "null"),
            ("99,999", "1,2,3", "null"),
            ("$99.99", "$78.12", "7812"),
            ("$99.99", "78.12", "null"),
            ("S999", "-7", "-7"),
            ("S999", "+7", "7"),
            ("99.9S", "5.5-", "-55"),
            ("MI99", "-7", "-7"),
            ("MI99", "+7", "null"),
            ("99.99", "12", "1200"),
            ("99.99", ".5", "50"),
            ("99", "", "left"),
            ("99", " 1", "left"),
            ("99", "1x", "null"),
        ] {
            assert_eq!(of(format, text), expected, "{format} {text}");
        }
        for format in ["", "x", "9,", ",9", "9.9,9", "PR", "99PR", "9.9.9"] {
            assert_eq!(tokens(format), None, "{format}");
        }
    }
}
