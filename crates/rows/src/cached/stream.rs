//! The batches of a partition, as `spark.serializer` keeps them: one object after the other.

use std::io::Read;

use catalyst::DataType;
use datafusion_common::Result;
use javaser::Catalog;
use javaser::stream::HEADER;

use super::kryo::KryoBatches;
use super::{CachedBatch, java};
use crate::error::{bail_out, source_error};
use crate::{KryoForm, Serializer};

/// Bytes that are read at once at least.
const CHUNK: usize = 64 << 10;

/// Bytes of batches that are read together at most. Spark forgets handles after 100 objects, we after each.
pub(super) const MAX_TOGETHER: usize = 1 << 30;

/// What writes batches for Kryo, from Spark 4.1 on.
const KRYO_SERIALIZER: &str =
    "org.apache.spark.sql.execution.columnar.DefaultCachedBatchKryoSerializer";

/// How an application keeps batches.
#[derive(Debug, Clone, Copy)]
pub struct CachedBatchFormat(Form);

#[derive(Debug, Clone, Copy)]
enum Form {
    Java,
    Kryo(KryoBatches),
}

impl CachedBatchFormat {
    /// With a serializer and the classes of a distribution.
    #[must_use]
    pub fn new(serializer: Serializer, catalog: &Catalog) -> Self {
        match serializer {
            Serializer::Java => Self::java(),
            Serializer::Kryo(form) => Self::kryo(form, catalog.contains(KRYO_SERIALIZER)),
        }
    }

    /// `JavaSerializer`'s.
    #[must_use]
    pub fn java() -> Self {
        Self(Form::Java)
    }

    /// `KryoSerializer`'s, of batches that write themselves or not.
    #[must_use]
    pub fn kryo(form: KryoForm, of_itself: bool) -> Self {
        Self(Form::Kryo(KryoBatches { form, of_itself }))
    }

    /// What stands before the batches of a partition.
    #[must_use]
    pub fn header(self) -> &'static [u8] {
        match self.0 {
            Form::Java => &HEADER,
            Form::Kryo(_) => &[],
        }
    }

    /// Appends a batch to those of a partition, behind their header or other batches. Java's handles are forgotten
    /// after it, so that batches can be read one by one. `types` are the columns'.
    ///
    /// # Errors
    /// Bail-out: classes of Spark are missing or not as expected, or the batch is too large.
    pub fn write(
        self,
        catalog: &Catalog,
        batch: &CachedBatch,
        types: &[DataType],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.0 {
            Form::Java => java::write_batch(catalog, batch, types, out),
            Form::Kryo(kryo) => kryo.write(batch, types, out),
        }
    }
}

/// Reads the batches of a partition.
#[derive(Debug)]
pub struct CachedBatchReader<R> {
    format: CachedBatchFormat,
    stream: R,
    types: Box<[DataType]>,
    statistics: bool,
    bytes: Vec<u8>,
    /// Where what was not looked at begins, behind a header.
    start: usize,
    ended: bool,
    /// The batches of the last piece, in the order from the last to the first.
    batches: Vec<CachedBatch>,
}

impl<R: Read> CachedBatchReader<R> {
    /// For a partition's stream of objects, whose columns have these types. Statistics are read if they are wanted.
    pub fn new(format: CachedBatchFormat, stream: R, types: &[DataType], statistics: bool) -> Self {
        Self {
            format,
            stream,
            types: types.into(),
            statistics,
            bytes: Vec::new(),
            start: 0,
            ended: false,
            batches: Vec::new(),
        }
    }

    /// The next batch; `None` after the last.
    ///
    /// # Errors
    /// The stream fails; bail-out: it has something else than batches.
    pub fn next_batch(&mut self) -> Result<Option<CachedBatch>> {
        let header = self.format.header();
        loop {
            if let Some(batch) = self.batches.pop() {
                return Ok(Some(batch));
            }
            let rest = self.bytes.get(self.start..).unwrap_or(&[]);
            if rest.len() <= header.len() {
                if self.ended {
                    return Ok(None);
                }
                self.fill()?;
                continue;
            }
            let Some((batches, used)) = self.read(rest)? else {
                self.fill()?;
                continue;
            };
            self.batches = batches;
            self.batches.reverse();
            // Handles of Java begin anew as behind a header.
            self.start += used.saturating_sub(header.len());
            let before = self.start..self.start + header.len();
            if let Some(before) = self.bytes.get_mut(before) {
                before.copy_from_slice(header);
            }
        }
    }

    fn read(&self, bytes: &[u8]) -> Result<Option<(Vec<CachedBatch>, usize)>> {
        match self.format.0 {
            Form::Java => {
                let types = self.statistics.then_some(&*self.types);
                java::read_batches(bytes, types, self.ended)
            }
            Form::Kryo(kryo) => match kryo.read(bytes, &self.types, self.statistics) {
                Some((batch, used)) => Ok(Some((vec![batch], used))),
                None if self.ended => {
                    Err(bail_out("a cached block with other objects than batches"))
                }
                None => Ok(None),
            },
        }
    }

    /// Reads as much as there is already, so that what is looked at again and again grows fast.
    fn fill(&mut self) -> Result<()> {
        self.bytes.drain(..self.start);
        self.start = 0;
        let wanted = self.bytes.len().max(CHUNK);
        if self.bytes.len() + wanted > MAX_TOGETHER {
            return Err(bail_out("cached batches of more than 1 GiB together"));
        }
        let mut part = self.stream.by_ref().take(wanted as u64);
        let read = part.read_to_end(&mut self.bytes).map_err(source_error)?;
        self.ended = read < wanted;
        Ok(())
    }
}
