//! Nanoseconds that typical functions take for a row.
//!
//! usage: cargo run --release -p pyfunc --example speed

use std::hint::black_box;
use std::time::Instant;

use pyfunc::{Expression, NoInterpreter, Value};

/// Rows of a batch: the fastest of some counts, as others may use the processor, too.
const ROWS: u32 = 100_000;
const BATCHES: usize = 30;

fn main() {
    let text = || Value::Str("Some text".into());
    let list = || Value::List((0..100).map(Value::Int).collect());
    let cases = [
        (
            "x * 2 + 1",
            r#"[["argument",0],["constant",2],["call","*",[0,1]],["constant",1],["call","+",[2,3]]]"#,
            vec![Value::Int(20)],
        ),
        (
            "x * 2.5 + 1",
            r#"[["argument",0],["constant",{"float":"4004000000000000"}],["call","*",[0,1]],["constant",1],
                ["call","+",[2,3]]]"#,
            vec![Value::Float(20.0)],
        ),
        (
            "s.upper() if s else None",
            r#"[["argument",0],["call",".upper",[0]],["constant",null],["if",0,1,2]]"#,
            vec![text()],
        ),
        (
            "a / b if b else 0.0",
            r#"[["argument",0],["argument",1],["call","/",[0,1]],["constant",{"float":"0000000000000000"}],
                ["if",1,2,3]]"#,
            vec![Value::Float(20.0), Value::Float(7.0)],
        ),
        (
            "s.strip().startswith('So')",
            r#"[["argument",0],["call",".strip",[0]],["constant","So"],["call",".startswith",[1,2]]]"#,
            vec![text()],
        ),
        (
            "MAP.get(s, 0)",
            r#"[["argument",0],["table",[["Some text",1],["b",2]]],["constant",0],["read","get",1,[0,2]]]"#,
            vec![text()],
        ),
        (
            "s == 'a' or s == 'b'",
            r#"[["argument",0],["constant","a"],["constant","b"],["call","==",[0,1]],["call","==",[0,2]],
                ["if",3,3,4]]"#,
            vec![text()],
        ),
        (
            "s + '!'",
            r#"[["argument",0],["constant","!"],["call","+",[0,1]]]"#,
            vec![text()],
        ),
        (
            "len(values) + values[0]",
            r#"[["argument",0],["call","len",[0]],["element",0,0,null],["call","+",[1,2]]]"#,
            vec![list()],
        ),
        (
            "f'{x:.2f}'",
            r#"[["argument",0],["constant",".2f"],["call","format",[0,1]]]"#,
            vec![Value::Float(1234.5678)],
        ),
        (
            "round(x, 2)",
            r#"[["argument",0],["constant",2],["call","round",[0,1]]]"#,
            vec![Value::Float(1234.5678)],
        ),
        (
            "str(x)",
            r#"[["argument",0],["call","str",[0]]]"#,
            vec![Value::Float(1234.5678)],
        ),
        (
            "s[1:4].lower()",
            r#"[["argument",0],["slice",0,1,4],["call",".lower",[1]]]"#,
            vec![text()],
        ),
        (
            "math.sqrt(x * x + y * y)",
            r#"[["argument",0],["argument",1],["call","*",[0,0]],["call","*",[1,1]],["call","+",[2,3]],
                ["call","math.sqrt",[4]]]"#,
            vec![Value::Float(3.0), Value::Float(4.0)],
        ),
    ];
    for (name, encoded, arguments) in &cases {
        let Ok(expression) = Expression::decode(encoded, arguments.len()) else {
            println!("{name}: malformed");
            continue;
        };
        let arguments: Vec<_> = arguments.iter().map(Value::borrowed).collect();
        if let Err(error) = expression.value(&NoInterpreter, &arguments) {
            println!("{name}: {error}");
        }
        let batch = |_| {
            let begin = Instant::now();
            for _ in 0..ROWS {
                black_box(expression.value(&NoInterpreter, black_box(&arguments))).ok();
            }
            begin.elapsed().as_nanos() / u128::from(ROWS)
        };
        let each = (0..BATCHES).map(batch).min().unwrap_or_default();
        println!("{each:5} ns  {name}");
    }
}
