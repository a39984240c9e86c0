//! Days as the person's calendar has them.

use jiff::tz::TimeZone;
use ostler_core::time::Timestamp;
use std::path::Path;

/// A file with a time zone, as below `/usr/share/zoneinfo`.
const LARGEST: u64 = 1 << 20;

/// Without a zone, the system is asked for it, which may list every zone that is installed.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    zone: Option<TimeZone>,
}

impl Calendar {
    /// With the zone in this file, if there is one.
    pub fn in_zone_of(file: &Path) -> Self {
        let is_small = std::fs::metadata(file).is_ok_and(|facts| facts.len() <= LARGEST);
        let data = is_small.then(|| std::fs::read(file).ok()).flatten();
        Calendar { zone: data.and_then(|data| TimeZone::tzif("Local", &data).ok()) }
    }

    /// The day that this moment belongs to, as in `2026-01-31`.
    pub fn day(&self, at: Timestamp) -> String {
        let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
        let at = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        let zone = self.zone.clone().unwrap_or_else(TimeZone::system);
        at.to_zoned(zone).date().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NIGHT: Timestamp = Timestamp(1_735_687_800_000);

    /// The least that is a time zone file: one offset, for ever.
    fn zone(hours: i32) -> Vec<u8> {
        let counts = [0_u32, 0, 0, 0, 1, 4].map(u32::to_be_bytes).concat();
        let header = [b"TZif2".as_slice(), &[0; 15], &counts].concat();
        let seconds = (hours * 3_600).to_be_bytes();
        let block = [header.as_slice(), &seconds, &[0, 0], b"ABC\0"].concat();
        let rule = format!("\n<{hours:+03}>{}\n", -hours);
        [block.as_slice(), &block, rule.as_bytes()].concat()
    }

    /// In Tokyo the year has begun, in New York it has not.
    #[test]
    fn a_day_is_that_of_the_zone() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("zone");
        for (hours, day) in [(9, "2025-01-01"), (-5, "2024-12-31")] {
            std::fs::write(&file, zone(hours)).unwrap();
            assert_eq!(Calendar::in_zone_of(&file).day(NIGHT), day);
        }
    }

    #[test]
    fn a_file_without_a_zone_leaves_it_to_the_system() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("zone");
        std::fs::write(&file, "no zone").unwrap();
        let system = Calendar::default().day(NIGHT);
        assert_eq!(Calendar::in_zone_of(&file).day(NIGHT), system);
        assert_eq!(Calendar::in_zone_of(&place.path().join("missing")).day(NIGHT), system);
    }
}
