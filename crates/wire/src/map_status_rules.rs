//! How exact sizes become a [`MapStatus`]: the companion objects of Spark's `MapStatus` and
//! `HighlyCompressedMapStatus`.

use crate::ids::BlockManagerId;
use crate::map_status::{CompressedMapStatus, HighlyCompressedMapStatus, MapStatus, compress_size};
use roaring::RoaringBitmap;

/// The settings that decide how exact a [`MapStatus`] is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapStatusRules {
    /// With more reducers than this the highly compressed form is taken:
    /// `spark.shuffle.minNumPartitionsToHighlyCompress`.
    pub highly_compress_above: usize,
    /// Parts of at least so many bytes are huge: `spark.shuffle.accurateBlockThreshold`.
    pub accurate_block_threshold: i64,
    /// So many times the median is huge too, if positive: `spark.shuffle.accurateBlockSkewedFactor`.
    pub accurate_block_skewed_factor: f64,
    /// How many parts that factor makes huge at most: `spark.shuffle.maxAccurateSkewedBlockNumber`.
    pub max_accurate_skewed_blocks: usize,
}

impl Default for MapStatusRules {
    /// Spark's defaults.
    fn default() -> Self {
        Self {
            highly_compress_above: 2000,
            accurate_block_threshold: 100 << 20,
            accurate_block_skewed_factor: -1.0,
            max_accurate_skewed_blocks: 100,
        }
    }
}

impl MapStatusRules {
    /// The status of the output of `map_task_id`, served at `location`, of which reducer `i` gets `sizes[i]` bytes.
    pub fn map_status(
        &self,
        location: BlockManagerId,
        sizes: &[i64],
        map_task_id: i64,
        checksum: i64,
    ) -> MapStatus {
        if sizes.len() <= self.highly_compress_above {
            return MapStatus::Compressed(CompressedMapStatus {
                location,
                compressed_sizes: sizes.iter().map(|size| compress_size(*size)).collect(),
                map_task_id,
                checksum,
            });
        }
        let threshold = self.threshold(sizes);
        let mut empty_blocks = RoaringBitmap::new();
        let mut huge_block_sizes = Vec::new();
        let (mut small, mut small_bytes) = (0, 0i64);
        // Reducers are numbered by i32.
        for (reducer, size) in (0..).zip(sizes) {
            if *size <= 0 {
                empty_blocks.insert(reducer);
            } else if (*size as f64) < threshold {
                small += 1;
                small_bytes = small_bytes.saturating_add(*size);
            } else {
                huge_block_sizes.push((reducer as i32, compress_size(*size)));
            }
        }
        empty_blocks.optimize();
        MapStatus::HighlyCompressed(HighlyCompressedMapStatus {
            location,
            empty_blocks,
            avg_size: small_bytes.checked_div(small).unwrap_or(0),
            huge_block_sizes,
            map_task_id,
            checksum,
        })
    }

    /// From how many bytes on a part is huge.
    fn threshold(&self, sizes: &[i64]) -> f64 {
        let fixed = self.accurate_block_threshold as f64;
        if self.accurate_block_skewed_factor <= 0.0 {
            return fixed;
        }
        let mut sorted = sizes.to_vec();
        sorted.sort_unstable();
        let at = |index: usize| sorted.get(index).copied().unwrap_or(0);
        let half = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => (at(half) + at(half.wrapping_sub(1))) / 2,
            _ => at(half),
        };
        let most = self.max_accurate_skewed_blocks.min(sorted.len());
        let skewed = (median.max(1) as f64 * self.accurate_block_skewed_factor)
            .max(at(sorted.len() - most) as f64);
        fixed.min(skewed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn location() -> BlockManagerId {
        BlockManagerId {
            executor_id: "0".into(),
            host: "h".into(),
            port: 7,
            topology_info: None,
        }
    }

    fn status(rules: MapStatusRules, sizes: &[i64]) -> MapStatus {
        rules.map_status(location(), sizes, 5, 6)
    }

    #[test]
    fn few_reducers_have_a_byte_each() {
        let MapStatus::Compressed(status) = status(MapStatusRules::default(), &[0, 1, 100]) else {
            panic!("another form")
        };
        assert_eq!(status.compressed_sizes, [0, 1, 49]);
        assert_eq!((status.map_task_id, status.checksum), (5, 6));
    }

    #[test]
    fn many_reducers_share_an_average() {
        let mut sizes = vec![10; 2001];
        sizes[3] = 0;
        sizes[4] = 100 << 20;
        sizes[5] = 2009;
        let status = status(MapStatusRules::default(), &sizes);
        let MapStatus::HighlyCompressed(inner) = &status else {
            panic!("another form")
        };
        assert_eq!(inner.avg_size, (10 * 1998 + 2009) / 1999);
        assert_eq!(inner.huge_block_sizes, [(4, compress_size(100 << 20))]);
        assert_eq!(inner.empty_blocks.iter().collect::<Vec<_>>(), [3]);
        assert_eq!(status.size_for_block(3), 0);
    }

    #[test]
    fn skewed_parts_are_exact_when_asked_for() {
        let rules = MapStatusRules {
            highly_compress_above: 0,
            accurate_block_skewed_factor: 3.0,
            max_accurate_skewed_blocks: 2,
            ..MapStatusRules::default()
        };
        let sizes = [10, 10, 10, 10, 31, 40, 50, 60];
        let MapStatus::HighlyCompressed(inner) = status(rules, &sizes) else {
            panic!("another form")
        };
        // Median (10 + 31) / 2 = 20, so 60; the two largest begin at 50.
        assert_eq!(inner.huge_block_sizes, [(7, compress_size(60))]);
        assert!(matches!(
            status(rules, &[0; 3]),
            MapStatus::HighlyCompressed(_)
        ));
    }

    proptest! {
        #[test]
        fn no_part_with_data_looks_empty(sizes in proptest::collection::vec(0i64..1 << 40, 0..60), above in 0usize..60) {
            let rules = MapStatusRules { highly_compress_above: above, ..MapStatusRules::default() };
            let status = status(rules, &sizes);
            for (reducer, size) in (0..).zip(&sizes) {
                prop_assert_eq!(status.size_for_block(reducer) == 0, *size == 0);
            }
        }
    }
}
