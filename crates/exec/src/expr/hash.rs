//! `XxHash64`, `Murmur3Hash`, and sums of bytes.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Int32Array, Int64Array, StringViewArray,
};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType,
    Time64NanosecondType, TimestampMicrosecondType,
};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use twox_hash::XxHash64;

use super::kernel::{Arg, Kernel, pair, single};
use super::refused;
use catalyst::Function;
use catalyst::MAX_LONG_DIGITS;
use catalyst::Unsupported;
use rows::big_integer;
use rows::error::bail_out;
use rows::murmur3::{
    double_bits, float_bits, hash_columns as murmur3_columns, is_hashed as is_murmur3_hashed,
};

/// Hashes of each row's values, each of them seeded by the one before; nulls leave it as it is.
pub(super) fn xxhash64(
    seed: i64,
    types: &[ArrowType],
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    if let Some(other) = types.iter().find(|of| !is_hashed(of)) {
        return Err(Unsupported::of_use(format!("XxHash64 of {other}")));
    }
    let name = format!("XxHash64[{seed}]");
    Ok(Kernel::lenient(
        name,
        args,
        ArrowType::Int64,
        move |args, rows| {
            let mut hashes = vec![seed.cast_unsigned(); rows];
            for arg in args {
                fold(arg, &mut hashes)?;
            }
            let hashes = hashes.into_iter().map(u64::cast_signed).collect::<Vec<_>>();
            Ok(Arc::new(Int64Array::from(hashes)))
        },
    ))
}

/// As [`xxhash64`], with 32 bits: what shuffles hash with.
pub(super) fn murmur3(
    seed: i32,
    types: &[ArrowType],
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    if let Some(other) = types.iter().find(|of| !is_murmur3_hashed(of)) {
        return Err(Unsupported::of_use(format!("Murmur3Hash of {other}")));
    }
    let name = format!("Murmur3Hash[{seed}]");
    Ok(Kernel::lenient(
        name,
        args,
        ArrowType::Int32,
        move |args, rows| {
            let columns = args.iter().map(|arg| arg.column(rows));
            let columns = columns.collect::<RunResult<Vec<_>>>()?;
            let hashes = murmur3_columns(&columns, rows, seed)?;
            Ok(Arc::new(Int32Array::from(hashes)))
        },
    ))
}

/// The MD5 sum of bytes, as text of hexadecimal digits.
pub(super) fn md5(
    types: &[ArrowType],
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    if types != [ArrowType::BinaryView] {
        return Err(Unsupported::of_use("Md5 of another type"));
    }
    Ok(Kernel::strict(
        "Md5",
        args,
        ArrowType::Utf8View,
        |args, _| {
            let values = single(args)?.binary()?;
            let sums = values.iter().map(|bytes| bytes.map(md5_text));
            Ok(Arc::new(sums.collect::<StringViewArray>()))
        },
    ))
}

fn md5_text(bytes: &[u8]) -> String {
    hexadecimal(&Md5::digest(bytes))
}

fn hexadecimal(sum: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
    sum.iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// Sums of bytes: `Sha1`, `Sha2`, `Crc32`.
pub(super) fn digest(
    function: Function,
    types: &[ArrowType],
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use ArrowType as A;
    let name = function.name();
    Ok(match (function, types) {
        (Function::Sha1, [A::BinaryView]) => Kernel::strict(name, args, A::Utf8View, |args, _| {
            let values = single(args)?.binary()?;
            let sums = values
                .iter()
                .map(|bytes| bytes.map(|bytes| hexadecimal(&Sha1::digest(bytes))));
            Ok(Arc::new(sums.collect::<StringViewArray>()))
        }),
        (Function::Crc32, [A::BinaryView]) => Kernel::strict(name, args, A::Int64, |args, _| {
            let values = single(args)?.binary()?;
            let sums = values
                .iter()
                .map(|bytes| bytes.map(|bytes| crc32fast::hash(bytes).into()));
            Ok(Arc::new(sums.collect::<Int64Array>()))
        }),
        (Function::Sha2, [A::BinaryView, A::Int32]) => {
            Kernel::strict(name, args, A::Utf8View, |args, rows| {
                let (bytes, bits) = pair(args)?;
                let (values, all) = (bytes.binary()?, bits.primitive::<Int32Type>()?);
                let sums = (0..rows).map(|row| {
                    let (at, bits) = (bytes.at(row), bits.at(row));
                    let known = values.is_valid(at) && all.is_valid(bits);
                    known.then(|| sha2_text(values.value(at), all.value(bits)))?
                });
                Ok(Arc::new(sums.collect::<StringViewArray>()))
            })
        }
        _ => return Err(refused(function, types)),
    })
}

/// `None` if there is no sum of so many bits.
fn sha2_text(bytes: &[u8], bits: i32) -> Option<String> {
    Some(match bits {
        224 => hexadecimal(&Sha224::digest(bytes)),
        0 | 256 => hexadecimal(&Sha256::digest(bytes)),
        384 => hexadecimal(&Sha384::digest(bytes)),
        512 => hexadecimal(&Sha512::digest(bytes)),
        _ => return None,
    })
}

/// Whether [`xxhash64`] knows the type.
pub(crate) fn is_hashed(of: &ArrowType) -> bool {
    !of.is_nested() && is_murmur3_hashed(of)
}

fn each(arg: &Arg, hashes: &mut [u64], hash: impl Fn(usize, u64) -> u64) {
    let nulls = arg.array.logical_nulls();
    for (row, seed) in hashes.iter_mut().enumerate() {
        let at = arg.at(row);
        if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at)) {
            *seed = hash(at, *seed);
        }
    }
}

fn words<T: ArrowPrimitiveType, const N: usize>(
    arg: &Arg,
    hashes: &mut [u64],
    bytes: impl Fn(T::Native) -> [u8; N],
) {
    let values = arg.array.as_primitive::<T>();
    each(arg, hashes, |row, seed| {
        XxHash64::oneshot(seed, &bytes(values.value(row)))
    });
}

fn fold(arg: &Arg, hashes: &mut [u64]) -> RunResult<()> {
    let int = |value: i32| value.to_le_bytes();
    let long = |value: i64| value.to_le_bytes();
    let array: &ArrayRef = &arg.array;
    match array.data_type() {
        ArrowType::Null => {}
        ArrowType::Boolean => {
            let values = array.as_boolean();
            each(arg, hashes, |row, seed| {
                XxHash64::oneshot(seed, &int(values.value(row).into()))
            });
        }
        ArrowType::Int8 => words::<Int8Type, 4>(arg, hashes, |v| int(v.into())),
        ArrowType::Int16 => words::<Int16Type, 4>(arg, hashes, |v| int(v.into())),
        ArrowType::Int32 => words::<Int32Type, 4>(arg, hashes, int),
        ArrowType::Date32 => words::<Date32Type, 4>(arg, hashes, int),
        ArrowType::Interval(_) => words::<IntervalYearMonthType, 4>(arg, hashes, int),
        ArrowType::Int64 => words::<Int64Type, 8>(arg, hashes, long),
        ArrowType::Timestamp(..) => words::<TimestampMicrosecondType, 8>(arg, hashes, long),
        ArrowType::Duration(_) => words::<DurationMicrosecondType, 8>(arg, hashes, long),
        ArrowType::Time64(_) => words::<Time64NanosecondType, 8>(arg, hashes, long),
        ArrowType::Float32 => {
            words::<Float32Type, 4>(arg, hashes, |v| float_bits(v).to_le_bytes());
        }
        ArrowType::Float64 => {
            words::<Float64Type, 8>(arg, hashes, |v| double_bits(v).to_le_bytes());
        }
        // Those that fit a long are kept in one.
        // Digits up to 18 fit.
        #[allow(clippy::cast_possible_truncation)]
        ArrowType::Decimal128(precision, _) if *precision <= MAX_LONG_DIGITS => {
            words::<Decimal128Type, 8>(arg, hashes, |v| long(v as i64));
        }
        ArrowType::Decimal128(..) => {
            let values = array.as_primitive::<Decimal128Type>();
            each(arg, hashes, |row, seed| {
                XxHash64::oneshot(seed, big_integer(&values.value(row).to_be_bytes()))
            });
        }
        ArrowType::Utf8View => {
            let values = array.as_string_view();
            each(arg, hashes, |row, seed| {
                XxHash64::oneshot(seed, values.value(row).as_bytes())
            });
        }
        ArrowType::BinaryView => {
            let values = array.as_binary_view();
            each(arg, hashes, |row, seed| {
                XxHash64::oneshot(seed, values.value(row))
            });
        }
        other => return Err(bail_out(format!("a hash of {other}"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_integers_are_as_short_as_can_be() {
        assert_eq!(big_integer(&0i128.to_be_bytes()), [0]);
        assert_eq!(big_integer(&127i128.to_be_bytes()), [127]);
        assert_eq!(big_integer(&128i128.to_be_bytes()), [0, 128]);
        assert_eq!(big_integer(&(-128i128).to_be_bytes()), [128]);
        assert_eq!(big_integer(&(-129i128).to_be_bytes()), [0xff, 0x7f]);
    }

    /// Of RFC 1321.
    #[test]
    fn sums_are_text() {
        assert_eq!(md5_text(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(
            md5_text(b"message digest"),
            "f96b697d7cb7938d525a2f31aaf161d0"
        );
    }

    /// From Spark: `xxhash64('Spark')` is -4294468057691064905, `xxhash64(1)` is -7001672635703045582.
    #[test]
    fn hashes_are_sparks() {
        let of = |bytes: &[u8]| XxHash64::oneshot(42, bytes).cast_signed();
        assert_eq!(of(b"Spark"), -4_294_468_057_691_064_905);
        assert_eq!(of(&1i32.to_le_bytes()), -6_698_625_589_789_238_999);
        assert_eq!(of(&1i64.to_le_bytes()), -7_001_672_635_703_045_582);
    }
}
