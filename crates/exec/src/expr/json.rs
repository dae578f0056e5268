//! Functions of JSON: `from_json`, `get_json_object`, `json_tuple`. Texts that are no JSON for the library are left to
//! Jackson, which takes more.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Int32Array, NullBufferBuilder, StringViewBuilder,
    StructArray,
};
use arrow::datatypes::DataType as ArrowType;
use catalyst::{DataType, JsonForm, JsonText, Malformed, StructField, Unsupported};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;
use jiter::{Jiter, Peek};
use rows::error::bail_out;

use super::datetime::nothing;
use super::java::JavaDouble;
use super::json_text::{JsonWriter, quote, separate};
use super::kernel::{Arg, Kernel, nth, single};
use super::known;
use super::nested::lists;
use crate::records::jackson::{MAX_DEPTH, is_blank, no_json, skip};
use crate::records::{Became, Column, JsonRecords, JsonValues, Records};

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Most characters of a number.
const MAX_NUMBER: usize = 1000;

/// `from_json(child)`
pub(super) fn from_json(child: Arc<dyn PhysicalExpr>, reader: Reader, to: ArrowType) -> Lowered {
    // Judged now, and made anew for each batch.
    reader.records()?;
    let name = format!("JsonToStructs[{reader:?}]");
    let run_to = to.clone();
    Ok(Kernel::strict(name, vec![child], to, move |args, rows| {
        reader.read_all(&run_to, single(args)?, rows)
    }))
}

/// How texts are read as values of a type.
#[derive(Debug)]
pub(super) struct Reader {
    form: JsonForm,
    malformed: Malformed,
    of: DataType,
    /// Fields of a struct but for that of malformed texts.
    fields: Vec<StructField>,
    /// The place of that one.
    corrupt_record: Option<usize>,
}

impl Reader {
    /// # Errors
    /// Values of the type are not read here.
    pub(super) fn new(
        form: &JsonForm,
        malformed: Malformed,
        corrupt_record: &str,
        of: &DataType,
    ) -> Result<Self, Unsupported> {
        let mut fields = match of {
            DataType::Struct(fields) => fields.clone(),
            DataType::Array { .. } | DataType::Map { .. } => Vec::new(),
            other => return Err(Unsupported::of_use(format!("from_json of type {other}"))),
        };
        let corrupt_record = fields.iter().position(|field| field.name == corrupt_record);
        if let Some(place) = corrupt_record {
            let field = fields.remove(place);
            if field.data_type != DataType::String {
                return Err(Unsupported::of_use("malformed records as no texts"));
            }
        }
        Ok(Self {
            form: form.clone(),
            malformed,
            of: of.clone(),
            fields,
            corrupt_record,
        })
    }

    fn records(&self) -> Result<Box<dyn Records>, Unsupported> {
        if !matches!(self.of, DataType::Struct(_)) {
            return Ok(Box::new(JsonValues::new(&self.form, &self.of)?));
        }
        Ok(Box::new(JsonRecords::new(&self.form, &self.fields)?))
    }

    fn read_all(&self, to: &ArrowType, arg: &Arg, rows: usize) -> RunResult<ArrayRef> {
        let mut records = self.records().map_err(|why| bail_out(why.to_string()))?;
        let texts = arg.string()?;
        let mut valid = NullBufferBuilder::new(rows);
        let mut corrupt = StringViewBuilder::new();
        for row in 0..rows {
            let at = arg.at(row);
            let became = match texts.is_null(at) {
                true => Became::Nothing,
                false => records.read(texts.value(at).as_bytes())?,
            };
            match became {
                Became::Nothing => records
                    .columns()
                    .iter_mut()
                    .try_for_each(Column::push_null)?,
                became if became.is_malformed() && self.malformed != Malformed::Null => {
                    return Err(bail_out("a malformed record"));
                }
                Became::Malformed | Became::Broken | Became::Row => {}
            }
            valid.append(became != Became::Nothing);
            match became {
                _ if self.corrupt_record.is_none() => {}
                became if became.is_malformed() => corrupt.try_append_value(texts.value(at))?,
                _ => corrupt.append_null(),
            }
        }
        let columns = records.columns().iter_mut().map(Column::finish);
        let mut columns = columns.collect::<RunResult<Vec<_>>>()?;
        if let Some(place) = self.corrupt_record {
            columns.insert(place, Arc::new(corrupt.finish()));
        }
        match (to, columns.first()) {
            (ArrowType::Struct(fields), _) => {
                let (fields, valid) = (fields.clone(), valid.finish());
                Ok(Arc::new(StructArray::try_new_with_length(
                    fields, columns, valid, rows,
                )?))
            }
            (_, Some(values)) => Ok(Arc::clone(values)),
            _ => Err(bail_out("a value of another type")),
        }
    }
}

/// `to_json(child)` of a value of the type.
pub(super) fn to_json(child: Arc<dyn PhysicalExpr>, form: &JsonText, of: &DataType) -> Lowered {
    let writer = JsonWriter::new(form, of)?;
    let name = format!("StructsToJson[{form:?} {of}]");
    Ok(Kernel::strict(
        name,
        vec![child],
        ArrowType::Utf8View,
        move |args, rows| {
            let arg = single(args)?;
            let mut texts = StringViewBuilder::with_capacity(rows);
            let mut text = String::new();
            for row in 0..rows {
                let at = arg.at(row);
                if arg.array.is_null(at) {
                    texts.append_null();
                    continue;
                }
                text.clear();
                writer.write(&arg.array, at, &mut text)?;
                texts.try_append_value(&text)?;
            }
            Ok(Arc::new(texts.finish()))
        },
    ))
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// `.name` or `['name']`
    Name(String),
    /// `[7]`
    Index(u64),
}

/// `get_json_object(json, path)`
pub(super) fn get_json_object(args: Args) -> Lowered {
    let path = match args.get(1).and_then(known) {
        Some(ScalarValue::Utf8View(Some(path))) => path.clone(),
        Some(ScalarValue::Utf8View(None)) => return Ok(nothing(&ArrowType::Utf8View, args)),
        _ => return Err(Unsupported::of_use("a variable path in JSON")),
    };
    let unknown = || Unsupported::of_use(format!("the path {path} in JSON"));
    let steps = steps(&path).ok_or_else(unknown)?;
    let name = format!("GetJsonObject[{path}]");
    let args = args.into_iter().take(1).collect();
    Ok(Kernel::strict(
        name,
        args,
        ArrowType::Utf8View,
        move |args, rows| {
            let arg = nth(args, 0)?;
            let texts = arg.string()?;
            let mut found = StringViewBuilder::with_capacity(rows);
            let (mut out, mut tape) = (String::new(), Vec::new());
            for row in 0..rows {
                let at = arg.at(row);
                out.clear();
                let is =
                    !texts.is_null(at) && at_path(texts.value(at), &steps, &mut out, &mut tape)?;
                match is {
                    true => found.try_append_value(&out)?,
                    false => found.append_null(),
                }
            }
            Ok(Arc::new(found.finish()))
        },
    ))
}

/// The steps of a path as Spark's `JsonPathParser` reads it. `None` for wildcards, blanks, and what is no path.
fn steps(path: &str) -> Option<Vec<Step>> {
    // The parser passes over blanks between tokens.
    if path.contains(|c: char| c.is_whitespace() || c == '*') {
        return None;
    }
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, behind) = if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            (Step::Name(name.get(..end)?.to_owned()), name.get(end..)?)
        } else if let Some(name) = rest.strip_prefix("['") {
            let (name, behind) = name.split_once('\'')?;
            (Step::Name(name.to_owned()), behind.strip_prefix(']')?)
        } else {
            let (number, behind) = rest.strip_prefix('[')?.split_once(']')?;
            number
                .bytes()
                .all(|digit| digit.is_ascii_digit())
                .then_some(())?;
            (Step::Index(number.parse().ok()?), behind)
        };
        if step == Step::Name(String::new()) {
            return None;
        }
        steps.push(step);
        rest = behind;
    }
    Some(steps)
}

/// Writes what a text has at a path. False if it has nothing there.
fn at_path(text: &str, steps: &[Step], out: &mut String, tape: &mut Vec<u8>) -> RunResult<bool> {
    if is_blank(text.as_bytes()) && !steps.is_empty() {
        return Ok(false);
    }
    let mut jiter = Jiter::with_tape(text.as_bytes(), std::mem::take(tape));
    let peek = jiter.peek().map_err(no_json)?;
    let found = find(&mut jiter, peek, steps, out)?;
    jiter.finish().map_err(no_json)?;
    *tape = jiter.into_tape();
    Ok(found)
}

/// What a text has at some paths, for the fuzz target.
#[cfg(fuzzing)]
pub(crate) fn at_some_paths(text: &str) {
    for path in ["$", "$.a", "$[1].b[0]", "$['c']"] {
        // They are constants.
        let steps = steps(path).expect("a path");
        let _ = at_path(text, &steps, &mut String::new(), &mut Vec::new());
    }
}

fn find(jiter: &mut Jiter<'_>, peek: Peek, steps: &[Step], out: &mut String) -> RunResult<bool> {
    let Some((step, behind)) = steps.split_first() else {
        match peek {
            // Without its quotes.
            Peek::String => out.push_str(jiter.known_str().map_err(no_json)?),
            _ => copy(jiter, peek, MAX_DEPTH, out)?,
        }
        return Ok(true);
    };
    let mut found = false;
    match (step, peek) {
        (Step::Name(name), Peek::Object) => {
            let mut key = jiter.known_object().map_err(no_json)?;
            while let Some(of) = key {
                // The first that is not null, and has the rest of the path.
                let wanted = !found && of == name;
                let peek = jiter.peek().map_err(no_json)?;
                match wanted && peek != Peek::Null {
                    true => found = find(jiter, peek, behind, out)?,
                    false => skip(jiter, peek, MAX_NUMBER)?,
                }
                key = jiter.next_key().map_err(no_json)?;
            }
        }
        (Step::Index(index), Peek::Array) => {
            let mut next = jiter.known_array().map_err(no_json)?;
            let mut at = 0;
            while let Some(peek) = next {
                match at == *index {
                    true => found = find(jiter, peek, behind, out)?,
                    false => skip(jiter, peek, MAX_NUMBER)?,
                }
                at += 1;
                next = jiter.array_step().map_err(no_json)?;
            }
        }
        _ => skip(jiter, peek, MAX_NUMBER)?,
    }
    Ok(found)
}

/// The first character of a text, but for blanks. What is no array or object has no elements and no names, whether it
/// is JSON or not.
fn begins_with(text: &str, sign: u8) -> bool {
    let mut bytes = text.bytes().skip_while(|byte| is_blank(&[*byte]));
    bytes.next() == Some(sign)
}

/// `json_array_length(json)`
pub(super) fn array_length(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("LengthOfJsonArray", args, ArrowType::Int32, |args, rows| {
        let arg = single(args)?;
        let texts = arg.string()?;
        let lengths = (0..rows).map(|row| {
            let at = arg.at(row);
            if texts.is_null(at) || !begins_with(texts.value(at), b'[') {
                return Ok(None);
            }
            let mut jiter = Jiter::new(texts.value(at).as_bytes());
            let mut next = jiter.next_array().map_err(no_json)?;
            let mut length = 0;
            while let Some(peek) = next {
                skip(&mut jiter, peek, MAX_NUMBER)?;
                length += 1;
                next = jiter.array_step().map_err(no_json)?;
            }
            jiter.finish().map_err(no_json)?;
            Ok(Some(length))
        });
        Ok(Arc::new(lengths.collect::<RunResult<Int32Array>>()?))
    })
}

/// `json_object_keys(json)`
pub(super) fn object_keys(args: Args, to: &ArrowType) -> Arc<dyn PhysicalExpr> {
    let of = to.clone();
    Kernel::strict("JsonObjectKeys", args, to.clone(), move |args, rows| {
        let arg = single(args)?;
        let texts = arg.string()?;
        let mut names = StringViewBuilder::new();
        let mut lengths = Vec::with_capacity(rows);
        let mut valid = NullBufferBuilder::new(rows);
        for row in 0..rows {
            let at = arg.at(row);
            let is_object = texts.is_valid(at) && begins_with(texts.value(at), b'{');
            valid.append(is_object);
            let mut length = 0;
            if is_object {
                let mut jiter = Jiter::new(texts.value(at).as_bytes());
                let mut key = jiter.next_object().map_err(no_json)?;
                while let Some(of) = key {
                    names.try_append_value(of)?;
                    length += 1;
                    let peek = jiter.peek().map_err(no_json)?;
                    skip(&mut jiter, peek, MAX_NUMBER)?;
                    key = jiter.next_key().map_err(no_json)?;
                }
                jiter.finish().map_err(no_json)?;
            }
            lengths.push(length);
        }
        lists(&of, lengths, Arc::new(names.finish()), valid.finish())
    })
}

/// What texts of JSON have at names, a column for each name: `json_tuple`. Of a name that is there more than once the
/// last value that is not null counts.
pub(crate) fn json_tuple(json: &ArrayRef, names: &[ArrayRef]) -> RunResult<Vec<ArrayRef>> {
    let texts = |array: &ArrayRef| {
        let texts = array.as_string_view_opt().cloned();
        texts.ok_or_else(|| bail_out("a tuple of another type"))
    };
    let json = texts(json)?;
    let names = names.iter().map(texts).collect::<RunResult<Vec<_>>>()?;
    let columns = names
        .iter()
        .map(|_| StringViewBuilder::with_capacity(json.len()));
    let mut columns: Vec<_> = columns.collect();
    let mut found: Vec<Option<String>> = vec![None; names.len()];
    for row in 0..json.len() {
        found.fill(None);
        // What is no object has no names, whether it is JSON or not.
        if json.is_valid(row) && begins_with(json.value(row), b'{') {
            let is = |place: usize, key: &str| {
                let name = names.get(place);
                name.is_some_and(|names| names.is_valid(row) && names.value(row) == key)
            };
            at_names(json.value(row), is, &mut found)?;
        }
        for (column, value) in columns.iter_mut().zip(&found) {
            match value {
                Some(value) => column.try_append_value(value)?,
                None => column.append_null(),
            }
        }
    }
    let columns = columns.iter_mut();
    Ok(columns
        .map(|column| Arc::new(column.finish()) as ArrayRef)
        .collect())
}

/// Finds the values of an object at some names. What stands behind the object does not count.
fn at_names(
    text: &str,
    is: impl Fn(usize, &str) -> bool,
    found: &mut [Option<String>],
) -> RunResult<()> {
    let mut jiter = Jiter::new(text.as_bytes());
    let mut wanted = Vec::new();
    let mut key = jiter.next_object().map_err(no_json)?;
    while let Some(of) = key {
        wanted.clear();
        wanted.extend((0..found.len()).filter(|place| is(*place, of)));
        let peek = jiter.peek().map_err(no_json)?;
        if wanted.is_empty() || peek == Peek::Null {
            skip(&mut jiter, peek, MAX_NUMBER)?;
        } else {
            let mut value = String::new();
            find(&mut jiter, peek, &[], &mut value)?;
            for place in &wanted {
                if let Some(found) = found.get_mut(*place) {
                    *found = Some(value.clone());
                }
            }
        }
        key = jiter.next_key().map_err(no_json)?;
    }
    Ok(())
}

/// Writes a value as Jackson's generator does: without blanks.
fn copy(jiter: &mut Jiter<'_>, peek: Peek, depth: usize, out: &mut String) -> RunResult<()> {
    let inner = depth.checked_sub(1);
    let inner = inner.ok_or_else(|| bail_out("JSON of great depth"))?;
    match peek {
        Peek::Null => {
            jiter.known_null().map_err(no_json)?;
            out.push_str("null");
        }
        Peek::True | Peek::False => {
            let value = jiter.known_bool(peek).map_err(no_json)?;
            out.push_str(if value { "true" } else { "false" });
        }
        Peek::String => quoted(jiter.known_str().map_err(no_json)?, out)?,
        Peek::Array => {
            out.push('[');
            let mut next = jiter.known_array().map_err(no_json)?;
            let mut first = true;
            while let Some(peek) = next {
                separate(std::mem::take(&mut first), out);
                copy(jiter, peek, inner, out)?;
                next = jiter.array_step().map_err(no_json)?;
            }
            out.push(']');
        }
        Peek::Object => {
            out.push('{');
            let mut key = jiter.known_object().map_err(no_json)?;
            let mut first = true;
            while let Some(of) = key {
                separate(std::mem::take(&mut first), out);
                quoted(of, out)?;
                out.push(':');
                let peek = jiter.peek().map_err(no_json)?;
                copy(jiter, peek, inner, out)?;
                key = jiter.next_key().map_err(no_json)?;
            }
            out.push('}');
        }
        peek if peek.is_num() => number(jiter.known_number_bytes(peek).map_err(no_json)?, out)?,
        _ => return Err(bail_out("text that is no JSON")),
    }
    Ok(())
}

/// A text as Jackson's `UTF8JsonGenerator` writes it.
fn quoted(text: &str, out: &mut String) -> RunResult<()> {
    // It writes surrogates of what is beyond the first plane, or not, by its version.
    if text.chars().any(|c| u32::from(c) > 0xffff) {
        return Err(bail_out("characters of JSON beyond the first plane"));
    }
    quote(text, out);
    Ok(())
}

/// A number as Java writes what it reads.
fn number(text: &[u8], out: &mut String) -> RunResult<()> {
    let unknown = || bail_out("a number of JSON");
    let text = std::str::from_utf8(text).map_err(|_| unknown())?;
    if text.len() > MAX_NUMBER || text == "-0" {
        return Err(unknown());
    }
    if !text.contains(['.', 'e', 'E']) {
        out.push_str(text);
        return Ok(());
    }
    let value: f64 = text.parse().map_err(|_| unknown())?;
    let value = JavaDouble::of(value).filter(|_| value.is_finite());
    out.push_str(&value.ok_or_else(unknown)?.text());
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;

    use super::*;

    #[test]
    fn tuples_have_the_last_value_of_a_name() {
        let of = |text: &str| -> Option<Vec<String>> {
            let json: ArrayRef = Arc::new(StringViewArray::from_iter_values([text]));
            let name = |name: Option<&str>| Arc::new(StringViewArray::from(vec![name])) as ArrayRef;
            let names = [
                name(Some("a")),
                name(Some("b")),
                name(None),
                name(Some("a")),
            ];
            let columns = json_tuple(&json, &names).ok()?;
            let values = columns.iter().map(|column| {
                let value = column.as_string_view().iter().next().flatten();
                value.unwrap_or("null").to_owned()
            });
            Some(values.collect())
        };
        let row = |values: [&str; 4]| Some(values.map(str::to_owned).to_vec());
        let nothing = row(["null"; 4]);
        assert_eq!(of(r#"{"a":1,"b":"x\n"}"#), row(["1", "x\n", "null", "1"]));
        assert_eq!(
            of(r#"{"a":1,"a":[1, {"c" : null}],"a":null} x"#),
            row([r#"[1,{"c":null}]"#, "null", "null", r#"[1,{"c":null}]"#,])
        );
        for text in ["", " ", "[1]", "x", "{}", r#"{"c":{"a":1}}"#] {
            assert_eq!(of(text), nothing, "{text}");
        }
        for left in ["{", "{'a':1}", r#"{"a":"#, r#"{"a":1.}"#] {
            assert_eq!(of(left), None, "{left}");
        }
    }

    #[test]
    fn paths_have_names_and_places() {
        let name = |of: &str| Step::Name(of.to_owned());
        assert_eq!(steps("$"), Some(vec![]));
        assert_eq!(
            steps("$.a.b[0]['c.d']"),
            Some(vec![name("a"), name("b"), Step::Index(0), name("c.d")])
        );
        for path in [
            "", "a", "$.", "$..a", "$.a[*]", "$.*", "$.a b", "$[x]", "$[", "$['a'", "$.a]b[1",
        ] {
            assert_eq!(steps(path), None, "{path}");
        }
    }

    #[test]
    fn values_are_texts_as_jackson_writes_them() {
        let of = |text: &str, path: &str| {
            let mut out = String::new();
            match at_path(text, &steps(path).unwrap(), &mut out, &mut Vec::new()) {
                Ok(true) => out,
                Ok(false) => "null".to_owned(),
                Err(_) => "left".to_owned(),
            }
        };
        assert_eq!(of(r#"{"a":"x\ny"}"#, "$.a"), "x\ny");
        assert_eq!(of(r#"{"a":null,"a":1,"a":2}"#, "$.a"), "1");
        assert_eq!(of(r#"{"a":[1, {"b" : 1.50}]}"#, "$.a[1]"), r#"{"b":1.5}"#);
        assert_eq!(of(r#"{"a":[1, {"b" : 1.50}]}"#, "$.a[1].b"), "1.5");
        assert_eq!(of(r#"{"a":[1]}"#, "$.a[1]"), "null");
        assert_eq!(of("[null]", "$[0]"), "null");
        assert_eq!(
            of(r#"{"a":{"b":"é\u0001\/"}}"#, "$.a"),
            "{\"b\":\"é\\u0001/\"}"
        );
        assert_eq!(of(r#"{"a":1e10}"#, "$"), r#"{"a":1.0E10}"#);
        assert_eq!(of(r#"{"a":"#, "$.a"), "left");
        assert_eq!(of("", "$.a"), "null");
        assert_eq!(of("{'a':1}", "$.a"), "left");
        assert_eq!(of(r#"[{"a":1}]"#, "$.a"), "null");
        let deep = "[".repeat(1_000_000);
        assert_eq!(of(&deep, "$"), "left");
        assert_eq!(of(&deep, "$.a"), "left");
    }
}
