//! Big numbers of integers, for the fields that Spark turned from `int` to `BigDecimal`.

use super::Tree;
use super::encode::Encoder;
use crate::Error;
use crate::arena::{Elements, Value};

impl Encoder<'_> {
    /// An integer as `scala.math.BigDecimal`, `java.math.BigDecimal` or `java.math.BigInteger`.
    pub(super) fn big(&mut self, tree: Tree, class: &str) -> Result<Value, Error> {
        let Tree::Int(number, _) = tree else {
            return Err(Error::WrongType {
                context: class.to_owned(),
                why: format!("{tree:?} is not an integer"),
            });
        };
        let integer = self.big_integer(number)?;
        if class == "java.math.BigInteger" {
            return Ok(integer);
        }
        let java = self.new_object("java.math.BigDecimal")?;
        self.set(java, "intVal", integer)?;
        if class == "java.math.BigDecimal" {
            return Ok(Value::Ref(java));
        }
        // BigDecimal.defaultMathContext: DECIMAL128.
        let half_even = self.object(
            Tree::JavaEnum {
                class: "java.math.RoundingMode".to_owned(),
                constant: "HALF_EVEN".to_owned(),
            },
            class,
        )?;
        let context = self.new_object("java.math.MathContext")?;
        self.set(context, "precision", Value::Int(34))?;
        self.set(context, "roundingMode", half_even)?;
        let scala = self.new_object(class)?;
        self.set(scala, "bigDecimal", Value::Ref(java))?;
        self.set(scala, "mc", Value::Ref(context))?;
        // BigDecimal.hashCodeNotComputed
        self.set(scala, "computedHashCode", Value::Int(1_565_550_863))?;
        Ok(Value::Ref(scala))
    }

    fn big_integer(&mut self, number: i64) -> Result<Value, Error> {
        let magnitude: Vec<u8> = number
            .unsigned_abs()
            .to_be_bytes()
            .into_iter()
            .skip_while(|b| *b == 0)
            .collect();
        let (desc, _) = self.desc("[B")?;
        let magnitude = self
            .graph
            .new_array(desc, Elements::Primitive(b'B', magnitude.into()))?;
        let integer = self.new_object("java.math.BigInteger")?;
        self.set(integer, "signum", Value::Int(number.signum() as i32))?;
        self.set(integer, "magnitude", Value::Ref(magnitude))?;
        // Caches of old versions, which write these.
        for (name, unset) in [
            ("bitCount", -1),
            ("bitLength", -1),
            ("firstNonzeroByteNum", -2),
            ("lowestSetBit", -2),
        ] {
            self.set(integer, name, Value::Int(unset))?;
        }
        Ok(Value::Ref(integer))
    }
}
