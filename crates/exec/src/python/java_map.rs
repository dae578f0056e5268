//! The order in which a `java.util.HashMap` has its entries: that of the `dict` which Python gets of it, and of the map
//! that Spark makes of Python's `dict`.

/// Entries of a bin from which on Java may order them otherwise.
const FULL_BIN: u32 = 8;

/// Where an entry goes among so many bins, a power of two.
fn bin(hash: i32, bins: usize) -> usize {
    let hash = hash.cast_unsigned();
    (hash ^ (hash >> 16)) as usize & (bins - 1)
}

/// The order of different keys with these hash codes, put one after the other into `new HashMap(hashes.len())`. `None`
/// if it is not known.
pub(super) fn order(hashes: &[i32]) -> Option<Vec<usize>> {
    put_into(hashes.len().next_power_of_two(), hashes)
}

/// The order of different keys with these hash codes that an `Unpickler` of Java's puts into a map as `SETITEMS` tells
/// it. `None` if it is not known.
pub(super) fn order_of_items(hashes: &[i32], rules: JavaRules) -> Option<Vec<usize>> {
    // Into a map of their own, the last first, and with `putAll` from there.
    let reversed: Vec<_> = hashes.iter().rev().copied().collect();
    let first = put_into(DEFAULT_BINS, &reversed)?;
    let first: Option<Vec<_>> = first
        .into_iter()
        .map(|place| (hashes.len() - 1).checked_sub(place))
        .collect();
    let first = first?;
    let hashes: Option<Vec<_>> = first
        .iter()
        .map(|place| hashes.get(*place).copied())
        .collect();
    let (hashes, count) = (hashes?, first.len());
    // `count / 0.75 + 1`, without the fraction; nothing is added to whole numbers from JDK 19 on.
    let older = (count * 4 / 3 + 1).next_power_of_two();
    let newer = (count * 4).div_ceil(3).next_power_of_two();
    let second = put_into(older, &hashes)?;
    if rules == JavaRules::Other && older != newer && second != put_into(newer, &hashes)? {
        return None;
    }
    second
        .into_iter()
        .map(|place| first.get(place).copied())
        .collect()
}

/// What is known of the JDK whose maps are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JavaRules {
    /// It is older than JDK 19.
    Older,
    /// Nothing.
    Other,
}

impl JavaRules {
    /// Of the JDK of that version; 0 if it is not known.
    pub(super) fn of(major: u32) -> Self {
        match major {
            8..19 => Self::Older,
            _ => Self::Other,
        }
    }
}

/// Bins of a map that nobody said a size of.
const DEFAULT_BINS: usize = 16;

fn put_into(mut bins: usize, hashes: &[i32]) -> Option<Vec<usize>> {
    let mut counts = vec![0_u32; bins];
    for (size, hash) in (1..).zip(hashes) {
        let count = counts.get_mut(bin(*hash, bins))?;
        *count += 1;
        if *count >= FULL_BIN {
            return None;
        }
        // Entries of a bin stay in their order when there are twice as many.
        if size > bins / 4 * 3 + bins % 4 * 3 / 4 {
            bins *= 2;
            counts = vec![0; bins];
            for hash in hashes.iter().take(size) {
                *counts.get_mut(bin(*hash, bins))? += 1;
            }
        }
    }
    let mut order: Vec<usize> = (0..hashes.len()).collect();
    order.sort_by_key(|place| hashes.get(*place).map(|hash| bin(*hash, bins)));
    Some(order)
}

/// `String.hashCode`
pub(super) fn of_text(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(unit.into())
    })
}

/// `Long.hashCode`
pub(super) fn of_long(value: i64) -> i32 {
    (value ^ value.cast_unsigned().wrapping_shr(32).cast_signed()) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(keys: &[&str]) -> Vec<usize> {
        let hashes: Vec<_> = keys.iter().map(|key| of_text(key)).collect();
        order(&hashes).unwrap()
    }

    #[test]
    fn hash_codes_are_those_of_java() {
        assert_eq!(of_text("Spark"), 80_085_693);
        assert_eq!(of_text("\u{1d11e}"), 55_348 * 31 + 56_606);
        assert_eq!(of_long(-1), 0);
        assert_eq!(of_long(1 << 32 | 2), 3);
        assert_eq!(of_long(i64::MIN), i32::MIN);
    }

    #[test]
    fn entries_are_in_the_order_of_bins() {
        assert_eq!(order(&[]).unwrap(), Vec::<usize>::new());
        assert_eq!(order(&[7]).unwrap(), [0]);
        assert_eq!(order(&[3, 1, 2]).unwrap(), [1, 2, 0]);
        // Four entries have four bins at first, and eight when the last of them is put there.
        assert_eq!(order(&[8, 4, 0, 1]).unwrap(), [0, 2, 3, 1]);
        assert_eq!(texts(&["b", "a", "c"]), [1, 0, 2]);
        assert_eq!(order(&[0; 7]).unwrap(), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(order(&[0; 8]), None);
    }

    /// Hash codes, and the orders that JDK 17 had: of what was put as an `Unpickler` does, and into a map of that size.
    const BY_JAVA: &[(&[i32], &[usize], &[usize])] = &[
        (&[104644, 3239366], &[0, 1], &[0, 1]),
        (&[3240112, 3241072, 3243148], &[1, 0, 2], &[0, 1, 2]),
        (
            &[3242092, 3238247, 3243083, 3238187],
            &[3, 2, 0, 1],
            &[2, 3, 0, 1],
        ),
        (
            &[371243180, 816001614, 900958945, 235411889, 496525007],
            &[3, 2, 0, 1, 4],
            &[3, 2, 0, 1, 4],
        ),
        (
            &[104401, 3238192, 3236453, 3242997, 3238345, 3242215],
            &[0, 1, 3, 2, 5, 4],
            &[0, 4, 1, 2, 3, 5],
        ),
        (
            &[
                471872490, 340127223, 421847757, 708024060, 1068085244, 714006546, 946504178,
            ],
            &[1, 4, 6, 2, 0, 5, 3],
            &[1, 4, 6, 2, 0, 5, 3],
        ),
        (
            &[7, -70, 46, 43, 69, -67, -16, -49],
            &[7, 5, 4, 1, 0, 3, 2, 6],
            &[7, 5, 1, 4, 0, 3, 2, 6],
        ),
        (
            &[
                594367578, 43121670, 362373999, 733438126, 898671421, 483971926, 508763697,
                380697362, 779835802,
            ],
            &[8, 7, 6, 2, 1, 0, 3, 4, 5],
            &[8, 6, 7, 2, 0, 1, 3, 4, 5],
        ),
        (
            &[-63, 3, 12, -41, 0, 47, -69, -1, -49, 7],
            &[8, 7, 4, 1, 6, 9, 3, 2, 0, 5],
            &[4, 7, 8, 1, 6, 9, 3, 2, 0, 5],
        ),
        (
            &[
                207552049, 172376382, 249467766, 1067982748, 41277672, 365702159, 734485424,
                1036673518, 626181229, 958880915, 894912077,
            ],
            &[5, 9, 7, 3, 6, 2, 1, 10, 4, 8, 0],
            &[5, 3, 7, 9, 6, 1, 2, 10, 4, 0, 8],
        ),
        (
            &[
                3242223, 3238370, 3239179, 3238472, 3241258, 104583, 3241319, 3243178, 3236423,
                104643, 3238440, 3240112,
            ],
            &[11, 9, 5, 1, 8, 6, 10, 3, 2, 7, 4, 0],
            &[11, 9, 1, 5, 6, 8, 3, 10, 2, 4, 7, 0],
        ),
        (
            &[
                805831268, 921183821, 872806455, 601833500, 322453950, 529581700, 992373692,
                898036913, 19687134, 196427927, 607760430, 30393187, 667698026,
            ],
            &[9, 3, 1, 12, 4, 11, 0, 8, 2, 5, 10, 7, 6],
            &[9, 3, 1, 4, 12, 0, 11, 2, 8, 5, 7, 10, 6],
        ),
        (
            &[68, 44, 49, 23, -30, 64, 79, -34, -45, 63, -72, -2, -96, 88],
            &[5, 11, 7, 0, 10, 8, 1, 6, 2, 3, 13, 4, 12, 9],
            &[5, 7, 11, 0, 10, 1, 8, 6, 2, 3, 13, 4, 9, 12],
        ),
        (
            &[
                833320121, 8988520, 317446526, 989651662, 690721312, 121513185, 941881219,
                348417809, 638330161, 483094095, 302533725, 550510546, 15990188, 888894070,
                358042002,
            ],
            &[6, 1, 11, 9, 14, 4, 13, 3, 0, 10, 7, 2, 8, 12, 5],
            &[6, 1, 11, 9, 14, 4, 13, 0, 3, 2, 7, 10, 8, 5, 12],
        ),
        (
            &[
                -83, 9, -42, -25, 28, -39, -9, -27, -33, 25, 81, 50, -56, -79, 21, 20, -74, 17, -4,
                -100, 38, -1, 54, 44, -94, 94, 55, -70, 43, -22, 33, 7, 37, 45, 72, 29, 77,
            ],
            &[
                21, 18, 27, 31, 34, 6, 16, 1, 36, 13, 17, 10, 0, 15, 29, 14, 3, 9, 7, 4, 35, 24,
                25, 8, 30, 19, 32, 20, 5, 2, 28, 23, 33, 11, 22, 26, 12,
            ],
            &[
                21, 18, 27, 31, 6, 34, 1, 16, 36, 13, 10, 17, 0, 15, 14, 29, 3, 9, 7, 4, 24, 35,
                25, 8, 30, 19, 32, 5, 20, 2, 28, 23, 33, 11, 22, 12, 26,
            ],
        ),
        (
            &[
                343856979, 588349463, 496997980, 897530389, 32179303, 877617342, 750863723,
                661035211, 605673441, 154964890, 672451747, 212832455, 1008236710, 675770532,
                602368308, 77327039, 511390483, 453327868, 88176328, 733716633, 898411785,
                190276533, 380313911, 947751886, 189510020, 678602241, 949542983,
            ],
            &[
                2, 20, 1, 18, 4, 24, 14, 22, 26, 21, 19, 13, 15, 9, 16, 11, 6, 3, 7, 0, 5, 25, 23,
                10, 8, 17, 12,
            ],
            &[
                2, 20, 1, 18, 4, 24, 14, 22, 26, 19, 21, 13, 15, 9, 11, 16, 3, 6, 0, 7, 5, 23, 25,
                10, 8, 17, 12,
            ],
        ),
        (
            &[
                3236267, 3236386, 3240300, 3240173, 3244016, 3236360, 3242309, 3238401, 3237229,
                3242277, 3236264, 3240203, 3238254, 3244076, 3241225, 3237473, 3236541, 3244204,
                3236330, 3236299, 3237260, 3243053, 3240267, 3238308, 3242096, 3244082, 3241318,
                3240361, 3244020, 3238284, 3242034, 3236270, 3236265, 3238348, 3239395, 3238190,
                3239433, 104461, 3240360, 3244013, 3236355, 3236486, 3241316, 3243275, 3241098,
                3242064, 104428, 3243052, 104554, 3239210, 3237320, 3241261, 3241317, 3242029,
                3241194, 3241323, 3240168, 3244136, 3242157, 3237261, 3238222, 3239305, 3242252,
                3242063, 3236266, 3239367, 104525,
            ],
            &[
                30, 25, 37, 16, 1, 9, 23, 32, 27, 38, 10, 0, 64, 49, 58, 53, 51, 21, 47, 17, 13,
                35, 31, 7, 40, 41, 61, 36, 14, 5, 43, 11, 44, 59, 62, 29, 20, 24, 4, 28, 66, 15,
                34, 52, 42, 26, 57, 56, 55, 54, 18, 39, 8, 3, 2, 12, 45, 48, 46, 6, 65, 50, 22, 19,
                33, 63, 60,
            ],
            &[
                25, 30, 16, 37, 1, 9, 23, 27, 32, 10, 38, 0, 49, 64, 21, 51, 53, 58, 13, 17, 47,
                31, 35, 7, 40, 41, 14, 36, 61, 5, 11, 43, 44, 59, 20, 29, 62, 4, 24, 28, 66, 15,
                34, 52, 42, 26, 56, 57, 55, 18, 54, 3, 8, 39, 2, 12, 45, 48, 46, 6, 65, 50, 19, 22,
                33, 63, 60,
            ],
        ),
    ];

    #[test]
    fn orders_are_those_of_java() {
        for (hashes, items, sized) in BY_JAVA {
            let known = order_of_items(hashes, JavaRules::Older);
            assert_eq!(known.as_deref(), Some(*items), "{hashes:?}");
            assert_eq!(order(hashes).as_deref(), Some(*sized), "{hashes:?}");
            let careful = order_of_items(hashes, JavaRules::Other);
            assert!(careful.is_none_or(|careful| careful == *items));
        }
    }
}
