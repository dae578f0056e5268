//! Expressions that no session would send.

use javaser::Limits;
use javaser::arena::Graph;

use super::*;
use crate::stage::Settings;

/// An object's head in a Java object stream: a class with fields of type `Object`, whose values follow.
fn head(class: &str, fields: &[&str]) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat();
    let mut head = vec![0x73, 0x72];
    head.extend(text(&format!("org.apache.spark.sql.{class}")));
    head.extend([0; 8]);
    head.push(2);
    head.extend((fields.len() as u16).to_be_bytes());
    for field in fields {
        head.push(b'L');
        head.extend(text(field));
        head.push(0x74);
        head.extend(text("Ljava/lang/Object;"));
    }
    head.extend([0x78, 0x70]);
    head
}

/// Expressions of this class around each other, with the same one in each field, around `null` of `BooleanType`.
fn nested(class: &str, fields: &[&str], levels: usize) -> Result<Expr> {
    nested_with(Settings::default(), class, fields, levels)
}

fn nested_with(settings: Settings, class: &str, fields: &[&str], levels: usize) -> Result<Expr> {
    let mut stream = vec![0xAC, 0xED, 0, 5];
    let around = head(&format!("catalyst.expressions.{class}"), fields);
    for _ in 0..levels {
        stream.extend(&around);
    }
    stream.extend(head("catalyst.expressions.Literal", &["dataType", "value"]));
    stream.extend(head("types.BooleanType$", &[]));
    stream.push(0x70);
    // Each object has a handle behind those of its class and its fields' types.
    let handle = |level: usize| {
        let own = if level == levels { 3 } else { fields.len() + 1 };
        (0x7E_0000 + level * (fields.len() + 2) + own) as u32
    };
    for level in (0..levels).rev() {
        for _ in 1..fields.len() {
            stream.push(0x71);
            stream.extend(handle(level + 1).to_be_bytes());
        }
    }
    let graph = Graph::parse(&stream, &Limits::default()).unwrap();
    Expr::read(&Reader::new(&graph, settings), graph.root().unwrap())
}

#[test]
fn depth_costs_little_stack_and_ends() {
    assert_eq!(
        nested("Not", &["child"], 100).unwrap().data_type,
        DataType::Boolean
    );
    let read = || nested("Not", &["child"], 50_000).unwrap_err();
    // Half of what threads of the executor have.
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let error = thread.spawn(read).unwrap().join().unwrap();
    assert_eq!(error, Unsupported::TooLarge("levels"));
}

#[test]
fn what_goes_to_the_jvm_has_the_same_bounds() {
    let settings = || Settings {
        is_native: Some(|_| false),
        ..Settings::default()
    };
    let whole = nested_with(settings(), "Not", &["child"], 100).unwrap();
    let ExprKind::Jvm {
        expression,
        columns,
    } = whole.kind
    else {
        panic!("{whole}");
    };
    assert_eq!((expression.class.as_str(), columns.len()), ("Not", 0));
    let copied = Graph::parse(&expression.stream, &Limits::default()).unwrap();
    let class = "org.apache.spark.sql.catalyst.expressions.Not";
    assert_eq!(copied.class_name(copied.root().unwrap()), Some(class));
    let deep = move || nested_with(settings(), "Not", &["child"], 50_000).unwrap_err();
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let error = thread.spawn(deep).unwrap().join().unwrap();
    assert_eq!(error, Unsupported::TooLarge("levels"));
    let error = nested_with(settings(), "And", &["left", "right"], 60).unwrap_err();
    assert_eq!(error, Unsupported::TooLarge("nodes"));
    // What depends on chance stays what it is.
    assert!(nested_with(settings(), "Rand", &["child"], 1).is_err());
}

#[test]
fn what_is_shared_is_not_read_for_ever() {
    // As a tree it has 2 to the power of 60 leaves.
    let error = nested("And", &["left", "right"], 60).unwrap_err();
    assert_eq!(error, Unsupported::TooLarge("nodes"));
}

#[test]
fn a_field_that_a_class_has_gained_is_refused() {
    let error = nested("And", &["left", "right", "sometimes"], 1).unwrap_err();
    assert_eq!(
        error,
        Unsupported::Extra {
            class: "And".to_owned(),
            field: "sometimes".to_owned(),
        }
    );
    let error = nested("And", &["left"], 1).unwrap_err();
    assert_eq!(error.to_string(), "And without right");
    let error = nested("ScalaUDF", &["function"], 1).unwrap_err();
    assert_eq!(error.to_string(), "ScalaUDF");
    // Of a catalog that is not ours.
    let error = nested("ApplyFunctionExpression", &["function"], 1).unwrap_err();
    assert_eq!(error.to_string(), "ApplyFunctionExpression");
}
