//! Points in time as JSON files write them: `2026-03-01T12:30:05.250Z`.

use ostler_core::time::Timestamp;

const DAY: i64 = 86_400_000;
const MINUTE: i64 = 60_000;

/// A point in time, as machines write it.
pub fn iso_time(at: Timestamp) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    let (year, month, day) = civil(millis.div_euclid(DAY));
    let rest = millis.rem_euclid(DAY);
    let (hours, minutes) = (rest / (60 * MINUTE), rest / MINUTE % 60);
    let (seconds, millis) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

/// None: it is not written so, or it is before 1970.
pub fn parse_iso_time(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once('T')?;
    let (year, rest) = date.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let (clock, zone) = time.split_at_checked(time.find(['Z', '+', '-'])?)?;
    let (hours, rest) = clock.split_once(':')?;
    let (minutes, seconds) = rest.split_once(':')?;
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let (hours, minutes, seconds) = (number(hours, 2)?, number(minutes, 2)?, number(seconds, 2)?);
    let fits =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !fits || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let clock = (hours * 60 + minutes) * MINUTE + seconds * 1000 + millis(fraction)?;
    let at = days(year, month, day) * DAY + clock - zone_millis(zone)?;
    u64::try_from(at).ok().map(Timestamp)
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// The first three digits behind the point.
fn millis(fraction: &str) -> Option<i64> {
    if fraction.bytes().any(|byte| !byte.is_ascii_digit()) {
        return None;
    }
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    number(&digits, 3)
}

/// `Z`, or `+02:00`.
fn zone_millis(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    Some(sign * (number(hours, 2)? * 60 + number(minutes, 2)?) * MINUTE)
}

/// Days since 1970 of a day in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The day that so many days after 1970 is.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_points_in_time() {
        for (text, at) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T12:30:05.250Z", 951_827_405_250),
            ("2026-03-01T00:00:00.000Z", 1_772_323_200_000),
        ] {
            assert_eq!(parse_iso_time(text), Some(Timestamp(at)), "{text}");
            assert_eq!(iso_time(Timestamp(at)), text);
        }
        let parsed = |text| parse_iso_time(text).map(|at| at.0);
        assert_eq!(parsed("2000-02-29T14:30:05+02:00"), Some(951_827_405_000));
        assert_eq!(parsed("2000-02-29T12:30:05.123456Z"), Some(951_827_405_123));
        for wrong in ["", "T", "2000-02-29", "2000-13-01T00:00:00Z", "2000-02-29T12:30:05", "ä"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(at in 0u64..250_000_000_000_000) {
            prop_assert_eq!(parse_iso_time(&iso_time(Timestamp(at))), Some(Timestamp(at)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            if let Some(at) = parse_iso_time(&text) {
                prop_assert!(parse_iso_time(&iso_time(at)) == Some(at));
            }
        }
    }
}
