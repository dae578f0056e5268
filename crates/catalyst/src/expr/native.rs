//! `ApplyFunctionExpression` of an `org.firesteel.NativeScalar`: a function of a shared library, called by its name in
//! SQL. The class is in the jar of the driver, `jvm-bridge/plan`.

use std::fmt;

use super::{Expr, ExprKind};
use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};
use crate::types::DataType;

const NATIVE_SCALAR: &str = "org.firesteel.NativeScalar";

/// Which function of which library.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NativeUdf {
    /// File name of the library.
    pub library: String,
    /// Name that the library gives itself.
    pub module: String,
    /// Version of the library.
    pub version: String,
    /// Name of the function.
    pub function: String,
    /// Number of the function's signature, of whose types arguments and result are.
    pub signature: usize,
    /// Time zone of the session.
    pub time_zone: String,
    /// Whether the session is in ANSI mode.
    pub ansi: bool,
}

/// `module.function#signature`
impl fmt::Display for NativeUdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}#{}", self.module, self.function, self.signature)
    }
}

#[inline(never)]
pub(super) fn applied(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    let of = object.object("function")?;
    if of.class() != NATIVE_SCALAR {
        return Err(Unsupported::Class(object.name().to_owned()));
    }
    object.only(&["function", "children", "reusedRow"])?;
    of.only(&[
        "library",
        "module",
        "version",
        "function",
        "signature",
        "arguments",
        "result",
        "deterministic",
        "timeZone",
        "ansi",
    ])?;
    // How often Spark calls it, and in which order, may be seen.
    if !of.bool("deterministic")? {
        return Err(Unsupported::of_use("a volatile native function"));
    }
    let signature = usize::try_from(of.int("signature")?);
    let function = NativeUdf {
        library: of.text("library")?.into_owned(),
        module: of.text("module")?.into_owned(),
        version: of.text("version")?.into_owned(),
        function: of.text("function")?.into_owned(),
        signature: signature.map_err(|_| of.missing("signature"))?,
        time_zone: of.text("timeZone")?.into_owned(),
        ansi: of.bool("ansi")?,
    };
    Ok(Expr {
        data_type: DataType::read(reader, of.value("result")?)?,
        nullable: true,
        kind: ExprKind::Native {
            function: Box::new(function),
            args: Expr::read_all(reader, object.elements("children")?)?,
        },
    })
}
