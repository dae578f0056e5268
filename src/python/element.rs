//! What flows between the RDDs of the python lane.

use bytes::Bytes;

use crate::task::TaskError;

/// One element of an RDD, as far as such RDDs occur in a PySpark job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Element {
    /// A `byte[]`: for Python mostly a pickled batch of objects.
    Bytes(Bytes),
    /// A `java.lang.String`, in UTF-8.
    Text(Bytes),
    /// A record of `PairwiseRDD`: the hash of the key and the pickled batch.
    Pair(i64, Bytes),
    /// `null`
    Null,
    /// A `scala.Tuple2`.
    Tuple(Box<(Self, Self)>),
}

impl Element {
    /// A `scala.Tuple2`.
    pub fn tuple(first: Self, second: Self) -> Self {
        Self::Tuple(Box::new((first, second)))
    }

    /// About how many bytes of memory it takes.
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Bytes(bytes) | Self::Text(bytes) | Self::Pair(_, bytes) => bytes.len(),
                Self::Null => 0,
                Self::Tuple(pair) => pair.0.size() + pair.1.size(),
            }
    }
}

/// The elements of a partition, computed as they are asked for. After an error there is nothing more to ask for.
pub type Elements<'a> = Box<dyn Iterator<Item = Result<Element, TaskError>> + Send + 'a>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_what_is_inside() {
        let bytes = |n| Element::Bytes(Bytes::from(vec![0; n]));
        let own = size_of::<Element>();
        assert_eq!(Element::Null.size(), own);
        assert_eq!(bytes(10).size(), own + 10);
        assert_eq!(Element::tuple(bytes(1), bytes(2)).size(), 3 * own + 3);
    }
}
