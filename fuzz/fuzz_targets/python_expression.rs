//! Encoded expressions of Python functions, and their values.
#![no_main]

use pyfunc::{Expression, NoInterpreter, Value};

fn python_expression(data: &[u8]) {
    let Ok(encoded) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(expression) = Expression::decode(encoded, 2) else {
        return;
    };
    // They can make long texts of short ones.
    let growing = [
        "replace", "\"*", ".join", ".ljust", ".rjust", ".center", ".zfill",
    ];
    if growing.iter().any(|name| encoded.contains(name)) {
        return;
    }
    let arguments = [Value::Int(-7), Value::Str("a b,ä".into())];
    let values = [(); 2].map(|()| format!("{:?}", expression.value(&NoInterpreter, &arguments)));
    assert_eq!(values[0], values[1]);
}

firesteel_fuzz::target!(python_expression);
