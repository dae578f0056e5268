//! A JDK's table of time zones, and times in the zones of it.
#![no_main]

use javatime::{TimeZone, Zones};

firesteel_fuzz::target!(|data: &[u8]| {
    let Ok(zones) = Zones::read(data.to_vec()) else {
        return;
    };
    for id in zones.regions().into_iter().take(20) {
        let named = TimeZone::new(id, &zones);
        let Ok(zone) = named.zone() else { continue };
        for time in [
            i64::MIN,
            -2_717_650_800_000_001,
            0,
            1_711_846_800_000_000,
            4_109_878_800_000_001,
            i64::MAX,
        ] {
            let offset = zone.offset_at(time);
            assert!(offset.abs() <= 18 * 3600 * 1_000_000);
            // Changes of any table may be nearer to each other than clocks are moved: then local times mean nothing.
            if let Some(local) = zone.local(time) {
                let _ = zone.instant_with(local, offset);
            }
            let _ = zone.instant(time);
            let _ = zone.start_of_day((time / 86_400_000_000) as i32);
        }
    }
});
