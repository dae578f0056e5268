//! Calendar and time zones as `java.time` has them.
//!
//! * [`calendar`]: dates, Gregorian at all times.
//! * [`Zones`]: the zones of a JDK, by its own `lib/tzdb.dat`. So rules are those that a JVM of the same JDK would use.
//! * [`TimeZone`]: a zone as Spark names it; [`Zone`]: from instants to local times and back.
//!
//! Times are microseconds of Spark's timestamps.

#![forbid(unsafe_code)]

pub mod calendar;
mod error;
mod id;
mod rules;
mod tzdb;
mod zone;

pub use error::InvalidTable;
pub use tzdb::Zones;
pub use zone::{TimeZone, UnknownZone, Zone};
