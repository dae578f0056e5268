//! Properties that put a class of the user's in the place of a part of Spark. Native lanes know only some of the
//! values.

use super::declared::{self, Declaration, Effect};
use super::{LaneName, SparkProperties};

/// The properties that do so, in the order in which lanes look at them.
const PARTS: [&dyn Declaration; 6] = [
    &declared::SHUFFLE_MANAGER,
    &declared::SHUFFLE_IO_PLUGIN,
    &declared::KRYO_REGISTRATION_REQUIRED,
    &declared::TRACK_UPDATED_BLOCK_STATUSES,
    &declared::KRYO_REGISTRATOR,
    &declared::SERIALIZER,
];

/// Why a lane runs nothing: the first property whose value it does not know.
pub fn unknown_part(properties: &SparkProperties, lane: LaneName) -> Option<String> {
    let mut parts = PARTS.into_iter();
    parts.find_map(|part| unknown_value(properties, part, lane))
}

/// Why a lane runs nothing because of one property: its value is not one that the lane knows.
pub fn unknown_value(
    properties: &SparkProperties,
    part: &dyn Declaration,
    lane: LaneName,
) -> Option<String> {
    let Effect::KnownValues(lanes) = part.about().effect else {
        return None;
    };
    let known = lanes.iter().find(|known| known.lane == lane)?;
    let key = part.key()?;
    let value = properties.get(key)?;
    (!known.values.contains(&value.as_str())).then(|| (known.reason)(key, &value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(lane: LaneName, pairs: &[(&'static str, &'static str)]) -> Option<String> {
        unknown_part(
            &SparkProperties::from_launch(pairs.iter().copied(), []),
            lane,
        )
    }

    #[test]
    fn lanes_know_parts_of_spark_only() {
        let manager = [("spark.shuffle.manager", "org.example.Other")];
        let is = Some("spark.shuffle.manager is org.example.Other".to_owned());
        for lane in [LaneName::Python, LaneName::Sql] {
            assert_eq!(reason(lane, &[]), None);
            assert_eq!(reason(lane, &[("spark.shuffle.manager", "sort")]), None);
            assert_eq!(reason(lane, &manager), is);
        }
        assert_eq!(reason(LaneName::Jvm, &manager), None);
    }

    #[test]
    fn lanes_know_different_serializers() {
        let kryo = [("spark.serializer", declared::KRYO_SERIALIZER)];
        assert_eq!(reason(LaneName::Python, &kryo), None);
        assert_eq!(reason(LaneName::Sql, &kryo), None);
        let other = [("spark.serializer", "org.example.Other")];
        assert_eq!(
            reason(LaneName::Python, &other).as_deref(),
            Some("a result of spark.serializer org.example.Other")
        );
        assert_eq!(
            reason(LaneName::Sql, &other).as_deref(),
            Some("spark.serializer is org.example.Other")
        );
        let registered = [("spark.kryo.registrationRequired", "true"), kryo[0]];
        for lane in [LaneName::Python, LaneName::Sql] {
            assert_eq!(
                reason(lane, &registered).as_deref(),
                Some("spark.kryo.registrationRequired is true")
            );
        }
    }

    #[test]
    fn all_parts_are_looked_at() {
        let names = |parts: &[&dyn Declaration]| {
            let mut keys: Vec<_> = parts.iter().map(|part| part.title()).collect();
            keys.sort();
            keys
        };
        let declared: Vec<_> = declared::all()
            .filter(|part| matches!(part.about().effect, Effect::KnownValues(_)))
            .collect();
        assert_eq!(names(&PARTS), names(&declared));
    }
}
