//! Every property that is read anywhere in the executor, declared once: its name, how its value is written, its default
//! in each version of Spark, the part that reads it, and what is done with it.
//!
//! `docs/settings.md` and `firesteel conf` are written from these declarations.

mod kinds;
mod property;

mod executor;
mod files;
mod firesteel;
mod memory;
mod network;
mod python;
mod serialization;
mod shuffle;
mod sql;
mod storage;

pub use kinds::{Decimal, Kind, List, Size, Switch, Text, Time, TimeLimit, Whole};
pub use property::{
    About, Declaration, DefaultValue, Effect, Family, KNOWN_VERSIONS, KnownValues, LocalProperty,
    Owner, Property, Version, version_of,
};

pub use executor::*;
pub use files::*;
pub use firesteel::*;
pub use memory::*;
pub use network::*;
pub use python::*;
pub use serialization::*;
pub use shuffle::*;
pub use sql::*;
pub use storage::*;

/// Declares constants of one owner, with their doc comments as their meaning, and lists them.
macro_rules! declarations {
    ($owner:ident: $($(#[doc = $doc:literal])+ $constant:ident: $type:ty = $value:expr;)+) => {
        $(
            $(#[doc = $doc])+
            pub const $constant: $type = $value.described(
                crate::config::declared::Owner::$owner,
                stringify!($constant),
                concat!($($doc),+),
            );
        )+

        /// All of them.
        pub(super) const DECLARATIONS: &[&dyn crate::config::declared::Declaration] =
            &[$(&$constant),+];
    };
}
use declarations;

/// Name of the component that custom resources of executors are allocated to (Spark's `ResourceID`); no property.
pub const EXECUTOR_COMPONENT: &str = "spark.executor";
/// What the names of Spark's properties begin with; others are not given to executors.
pub const PREFIX: &str = "spark.";

/// All declarations, owner by owner.
pub fn all() -> impl Iterator<Item = &'static dyn Declaration> {
    let owners = [
        firesteel::DECLARATIONS,
        executor::DECLARATIONS,
        memory::DECLARATIONS,
        network::DECLARATIONS,
        storage::DECLARATIONS,
        shuffle::DECLARATIONS,
        serialization::DECLARATIONS,
        files::DECLARATIONS,
        python::DECLARATIONS,
        sql::DECLARATIONS,
    ];
    owners.into_iter().flatten().copied()
}

/// The declaration of a property; a single one comes before a family.
pub fn find(key: &str) -> Option<&'static dyn Declaration> {
    let declares = |declaration: &&dyn Declaration| declaration.declares(key);
    all()
        .filter(|declaration| declaration.key().is_some())
        .find(declares)
        .or_else(|| all().find(declares))
}

#[cfg(test)]
mod tests;
