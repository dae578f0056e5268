//! `spark.serializer`: how values of broadcasts are written.

pub use javaser::kryo::KryoForm;

/// Who writes values of broadcasts and results of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Serializer {
    /// `JavaSerializer`
    #[default]
    Java,
    /// `KryoSerializer`
    Kryo(KryoForm),
}
