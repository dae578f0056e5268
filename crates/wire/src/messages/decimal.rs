//! `scala.math.BigDecimal` with a scale, for writing; the decoder reads any such number as text.

use javaser::types::JavaBytes;
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename = "scala.math.BigDecimal", rename_all = "camelCase")]
pub(super) struct Decimal {
    computed_hash_code: i32,
    big_decimal: JavaDecimal,
    mc: MathContext,
}

#[derive(Serialize)]
#[serde(rename = "java.math.BigDecimal", rename_all = "camelCase")]
struct JavaDecimal {
    scale: i32,
    int_val: BigInteger,
}

#[derive(Serialize)]
#[serde(rename = "java.math.BigInteger", rename_all = "camelCase")]
struct BigInteger {
    signum: i32,
    magnitude: JavaBytes,
    // Caches of old Java versions, which current ones still write: "unknown".
    bit_count: i32,
    bit_length: i32,
    first_nonzero_byte_num: i32,
    lowest_set_bit: i32,
}

#[derive(Serialize)]
#[serde(rename = "java.math.MathContext", rename_all = "camelCase")]
struct MathContext {
    precision: i32,
    rounding_mode: RoundingMode,
}

#[derive(Serialize)]
#[serde(rename = "java.math.RoundingMode", rename_all = "SCREAMING_SNAKE_CASE")]
enum RoundingMode {
    HalfEven,
}

impl Decimal {
    /// `unscaled` divided by 10 to the power of `scale`.
    pub(super) fn new(unscaled: i64, scale: i32) -> Self {
        let magnitude = unscaled.unsigned_abs().to_be_bytes();
        let magnitude = magnitude
            .into_iter()
            .skip_while(|byte| *byte == 0)
            .collect();
        Self {
            // scala.math.BigDecimal.hashCodeNotComputed
            computed_hash_code: 0x5d50_690f,
            big_decimal: JavaDecimal {
                scale,
                int_val: BigInteger {
                    signum: unscaled.signum() as i32,
                    magnitude: JavaBytes(magnitude),
                    bit_count: -1,
                    bit_length: -1,
                    first_nonzero_byte_num: -2,
                    lowest_set_bit: -2,
                },
            },
            // DECIMAL128, Scala's default.
            mc: MathContext {
                precision: 34,
                rounding_mode: RoundingMode::HalfEven,
            },
        }
    }
}
