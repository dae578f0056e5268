//! The time zones of expressions.

use catalyst::Unsupported;
use javatime::{TimeZone, Zone};

/// The zone of an expression.
///
/// # Errors
/// It has none, or one whose rules are not known.
pub(super) fn zone_of(zone: Option<&TimeZone>) -> Result<Zone, Unsupported> {
    let zone = zone.ok_or_else(|| Unsupported::of_use("no time zone"))?;
    let known = zone.zone().cloned();
    known.map_err(|why| Unsupported::of_use(format!("time zone {zone}: {why}")))
}
