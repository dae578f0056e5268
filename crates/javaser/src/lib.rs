//! Java object streams, class files and `serialVersionUID`s, and what Spark's JVM code hashes and draws. No I/O beyond
//! reading class-path jars, no unsafe.
//!
//! * [`arena::Graph`] reads and writes streams of any classes, byte for byte.
//! * [`Catalog`] knows the descriptors of the classes on a class path.
//! * [`Closure`] is a closure in a stream.
//! * [`to_vec`] and [`from_slice`] are a serde format: a struct's serde name is its Java class.
#![forbid(unsafe_code)]

pub mod arena;
mod catalog;
mod classfile;
mod closure;
mod de;
mod error;
pub mod kryo;
mod limits;
pub mod murmur3;
mod mutf8;
mod omitted_fields;
mod peek;
mod random;
mod ser;
pub mod stream;
pub mod types;

pub use catalog::{Catalog, CatalogError, ClassDesc, FieldDesc, ScalaVersion};
pub use classfile::{ClassFile, ClassFileError};
pub use closure::Closure;
pub use de::{from_slice, from_value};
pub use error::Error;
pub use limits::Limits;
pub use peek::peek_class;
pub use random::{JavaRandom, XorShiftRandom};
pub use ser::{to_graph, to_vec};
pub use stream::{SC_BLOCK_DATA, SC_ENUM, SC_EXTERNALIZABLE, SC_SERIALIZABLE, SC_WRITE_METHOD};
