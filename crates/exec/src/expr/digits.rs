//! Numbers and bytes as digits of other bases.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::StringViewBuilder;
use arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Arg, Kernel, single};
use catalyst::Function;
use catalyst::Unsupported;

/// Lowers a function of this module.
pub(super) fn lower(
    op: Function,
    types: &[ArrowType],
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use ArrowType as A;
    type Run = fn(&Arg) -> datafusion_common::Result<StringViewBuilder>;
    let run: Run = match (op, types) {
        // Digits of the 64 bits.
        (Function::Hex, [A::Int64]) => |arg| number(arg, |value, text| write!(text, "{value:X}")),
        (Function::Bin, [A::Int64]) => |arg| number(arg, |value, text| write!(text, "{value:b}")),
        (Function::Hex, [A::Utf8View]) => |arg| {
            Ok(bytes(
                arg.string()?.iter().map(|text| text.map(str::as_bytes)),
            ))
        },
        (Function::Hex, [A::BinaryView]) => |arg| Ok(bytes(arg.binary()?.iter())),
        _ => {
            let types: Vec<_> = types.iter().map(ToString::to_string).collect();
            let use_of = format!("{}({})", op.name(), types.join(", "));
            return Err(Unsupported::of_use(use_of));
        }
    };
    Ok(Kernel::strict(
        op.name(),
        args,
        A::Utf8View,
        move |args, _| Ok(Arc::new(run(single(args)?)?.finish())),
    ))
}

fn number(
    arg: &Arg,
    digits: impl Fn(u64, &mut String) -> std::fmt::Result,
) -> datafusion_common::Result<StringViewBuilder> {
    let array = arg.primitive::<Int64Type>()?;
    let mut builder = StringViewBuilder::with_capacity(array.len());
    let mut text = String::new();
    for value in array {
        match value {
            None => builder.append_null(),
            Some(value) => {
                text.clear();
                // Writing to a string does not fail.
                let _ = digits(value.cast_unsigned(), &mut text);
                builder.append_value(&text);
            }
        }
    }
    Ok(builder)
}

fn bytes<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> StringViewBuilder {
    let mut builder = StringViewBuilder::new();
    let mut text = String::new();
    for value in values {
        let Some(value) = value else {
            builder.append_null();
            continue;
        };
        text.clear();
        for byte in value {
            let _ = write!(text, "{byte:02X}");
        }
        builder.append_value(&text);
    }
    builder
}
