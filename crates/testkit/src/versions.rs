//! The supported Spark versions. `scripts/lib.sh` reads them from this file, too.

/// Calls a macro with the supported versions, oldest first, and what else it is given:
/// `with_versions!(name, arguments)` becomes `name!([v3_5_9 = "3.5.9", …] arguments)`.
///
/// A version is the name of its tests and what it calls itself.
#[macro_export]
macro_rules! with_versions {
    ($($macro:ident)::+ $(, $($arguments:tt)*)?) => {
        $($macro)::+! {
            [
                v3_5_9 = "3.5.9",
                v4_0_5 = "4.0.5",
                v4_1_4 = "4.1.4",
                v4_2_1 = "4.2.1",
                v4_3_0 = "4.3.0",
            ]
            $($($arguments)*)?
        }
    };
}

macro_rules! constant {
    ([$($test:ident = $version:literal,)+]) => {
        /// The supported versions, oldest first.
        pub const VERSIONS: [&str; [$($version),+].len()] = [$($version),+];
    };
}

with_versions!(constant);

/// The oldest supported version.
pub const OLDEST: &str = {
    let [oldest, ..] = VERSIONS;
    oldest
};

/// The newest supported version.
pub const NEWEST: &str = {
    let [.., newest] = VERSIONS;
    newest
};

/// The supported version of a series such as `4.0`.
///
/// # Panics
///
/// If there is none.
pub fn of_series(series: &str) -> &'static str {
    let prefix = format!("{series}.");
    let mut versions = VERSIONS.into_iter();
    let found = versions.find(|version| version.starts_with(&prefix));
    found.unwrap_or_else(|| panic!("no version of {series} is among {VERSIONS:?}"))
}

/// Whether a version such as `4.0.5` is of a series such as `4.0`, or of a later one.
///
/// # Panics
///
/// If one of them is not made of numbers.
pub fn is_since(version: &str, series: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        let parts = text.split('.').map(str::parse);
        parts
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{text} is no version: {error}"))
    };
    numbers(version) >= numbers(series)
}

/// A module with one test per version, so that a failure names the version.
///
/// `versions!(theme, path::to::function, v3_5_9 = "3.5.9")` makes the test `theme::v3_5_9`, which calls the function
/// with `"3.5.9"`. The path is seen from inside the module.
#[macro_export]
macro_rules! versions {
    ($name:ident, $body:path, $($test:ident = $version:literal),+ $(,)?) => {
        mod $name {
            $(
                #[test]
                fn $test() {
                    $body($version);
                }
            )+
        }
    };
}

/// A test for every supported version: `each_version!(theme, path::to::function)`. See [`versions!`].
#[macro_export]
macro_rules! each_version {
    ([$($all:tt)+] $name:ident, $body:path) => {
        $crate::versions!($name, $body, $($all)+);
    };
    ($name:ident, $body:path) => {
        $crate::with_versions!($crate::each_version, $name, $body);
    };
}

/// The same for the oldest and the newest version.
#[macro_export]
macro_rules! oldest_and_newest {
    ([$oldest:ident = $first:literal, $($test:ident = $version:literal,)+] $name:ident, $body:path) => {
        $crate::oldest_and_newest!(@last [$oldest = $first] [$($test = $version,)+] $name, $body);
    };
    (@last [$($oldest:tt)+] [$newest:ident = $last:literal,] $name:ident, $body:path) => {
        $crate::versions!($name, $body, $($oldest)+, $newest = $last);
    };
    (@last [$($oldest:tt)+] [$middle:ident = $skipped:literal, $($later:tt)+] $name:ident, $body:path) => {
        $crate::oldest_and_newest!(@last [$($oldest)+] [$($later)+] $name, $body);
    };
    ($name:ident, $body:path) => {
        $crate::with_versions!($crate::oldest_and_newest, $name, $body);
    };
}

/// The same for the versions between the oldest and the newest.
#[macro_export]
macro_rules! each_middle_version {
    ([$oldest:ident = $first:literal, $($later:tt)+] $name:ident, $body:path) => {
        $crate::each_middle_version!(@but_last [] [$($later)+] $name, $body);
    };
    (@but_last [$($kept:tt)+] [$newest:ident = $last:literal,] $name:ident, $body:path) => {
        $crate::versions!($name, $body, $($kept)+);
    };
    (@but_last [$($kept:tt)*] [$middle:ident = $version:literal, $($later:tt)+] $name:ident, $body:path) => {
        $crate::each_middle_version!(@but_last [$($kept)* $middle = $version,] [$($later)+] $name, $body);
    };
    ($name:ident, $body:path) => {
        $crate::with_versions!($crate::each_middle_version, $name, $body);
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_order() {
        assert!(
            VERSIONS
                .windows(2)
                .all(|pair| is_since(pair[1], pair[0]) && pair[0] != pair[1])
        );
        assert_eq!(VERSIONS.first(), Some(&OLDEST));
        assert_eq!(VERSIONS.last(), Some(&NEWEST));
    }

    #[test]
    fn every_series_has_its_version() {
        for version in VERSIONS {
            let (series, _) = version.rsplit_once('.').unwrap();
            assert_eq!(of_series(series), version);
        }
    }

    #[test]
    fn series_are_compared_by_number() {
        assert!(is_since("4.0.5", "4.0"));
        assert!(is_since("4.10.0", "4.9"));
        assert!(is_since("4.3.0", "4.2"));
        assert!(!is_since("3.5.9", "4.0"));
        assert!(!is_since("4.2.1", "4.3"));
    }

    fn is_any(version: &str) {
        assert!(VERSIONS.contains(&version));
    }

    fn is_an_end(version: &str) {
        assert!([OLDEST, NEWEST].contains(&version));
    }

    fn is_between(version: &str) {
        is_any(version);
        assert!(![OLDEST, NEWEST].contains(&version));
    }

    each_version!(all, super::is_any);
    oldest_and_newest!(ends, super::is_an_end);
    each_middle_version!(between, super::is_between);
}
