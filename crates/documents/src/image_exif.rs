//! Reads time, place and version from the EXIF data of an image.

use std::io::Cursor;

use exif::{DateTime, Exif, In, Reader, Tag, Value};

/// Millionths of a degree in a degree.
const DEGREE: f64 = 1e6;

/// Returns what the EXIF data of an image says; `None` without such data.
pub(crate) fn read(bytes: &[u8]) -> Option<extract::Exif> {
    // A damaged entry, which many files have, must not hide the others.
    let data = Reader::new()
        .continue_on_error(true)
        .read_from_container(&mut Cursor::new(bytes))
        .or_else(|error| error.distill_partial_result(|_| {}))
        .ok()?;
    let found = extract::Exif {
        time: time(&data, Tag::DateTimeOriginal).or_else(|| time(&data, Tag::DateTimeDigitized)),
        location: location(&data),
        version: version(&data),
    };
    (found != extract::Exif::default()).then_some(found)
}

fn value(data: &Exif, tag: Tag) -> Option<&Value> {
    data.get_field(tag, In::PRIMARY).map(|field| &field.value)
}

/// Returns the first text of a field.
fn text(data: &Exif, tag: Tag) -> Option<&[u8]> {
    match value(data, tag)? {
        Value::Ascii(texts) => texts.first().map(Vec::as_slice),
        _ => None,
    }
}

/// Returns a time as 14 digits. A camera whose clock was never set writes zeros.
fn time(data: &Exif, tag: Tag) -> Option<u64> {
    let time = DateTime::from_ascii(text(data, tag)?).ok()?;
    let is_leap_year =
        time.year.is_multiple_of(4) && (!time.year.is_multiple_of(100) || time.year.is_multiple_of(400));
    let days = match time.month {
        2 if is_leap_year => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_time = time.year > 0
        && (1..=12).contains(&time.month)
        && (1..=days).contains(&time.day)
        && time.hour < 24
        && time.minute < 60
        && time.second < 60;
    let parts = [time.month, time.day, time.hour, time.minute, time.second];
    let digits = parts.iter().fold(u64::from(time.year), |digits, part| {
        digits * 100 + u64::from(*part)
    });
    is_time.then_some(digits)
}

/// Returns latitude and longitude in millionths of a degree.
fn location(data: &Exif) -> Option<(i32, i32)> {
    let latitude = degrees(data, Tag::GPSLatitude, Tag::GPSLatitudeRef, (b'N', b'S'))?;
    let longitude = degrees(data, Tag::GPSLongitude, Tag::GPSLongitudeRef, (b'E', b'W'))?;
    let is_place = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
    // Without a fix, cameras write zeros.
    let is_fix = latitude != 0.0 || longitude != 0.0;
    let millionths = |degrees: f64| (degrees * DEGREE).round() as i32;
    (is_place && is_fix).then(|| (millionths(latitude), millionths(longitude)))
}

/// Returns an angle of degrees, minutes and seconds, negative if its reference is the second of
/// `signs`.
fn degrees(data: &Exif, tag: Tag, reference: Tag, (plus, minus): (u8, u8)) -> Option<f64> {
    let Value::Rational(parts) = value(data, tag)? else {
        return None;
    };
    let [degrees, minutes, seconds] = parts.as_slice() else {
        return None;
    };
    let angle = degrees.to_f64() + minutes.to_f64() / 60.0 + seconds.to_f64() / 3600.0;
    let reference = text(data, reference)?.first().copied()?;
    match reference {
        _ if !angle.is_finite() => None,
        sign if sign == plus => Some(angle),
        sign if sign == minus => Some(-angle),
        _ => None,
    }
}

/// Returns the version: four digits.
fn version(data: &Exif) -> Option<u16> {
    match value(data, Tag::ExifVersion)? {
        Value::Undefined(bytes, _) if bytes.len() == 4 && bytes.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(bytes).ok()?.parse().ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use exif::experimental::Writer;
    use exif::{Field, Rational};

    use super::*;

    fn field(tag: Tag, value: Value) -> Field {
        Field {
            tag,
            ifd_num: In::PRIMARY,
            value,
        }
    }

    fn ascii(tag: Tag, text: &str) -> Field {
        field(tag, Value::Ascii(vec![text.as_bytes().to_vec()]))
    }

    fn angle(tag: Tag, [degrees, minutes, seconds]: [(u32, u32); 3]) -> Field {
        let part = |(num, denom)| Rational { num, denom };
        field(
            tag,
            Value::Rational(vec![part(degrees), part(minutes), part(seconds)]),
        )
    }

    /// Returns a TIFF file with these fields.
    fn tiff(fields: &[Field]) -> Vec<u8> {
        let mut writer = Writer::new();
        for field in fields {
            writer.push_field(field);
        }
        let mut file = Cursor::new(Vec::new());
        writer.write(&mut file, false).unwrap();
        file.into_inner()
    }

    #[track_caller]
    fn check(fields: &[Field], expected: Option<&str>) {
        let found = read(&tiff(fields)).map(|exif| exif.to_string());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn time_place_and_version_are_read() {
        let version = field(Tag::ExifVersion, Value::Undefined(b"0231".to_vec(), 0));
        let place = |signs: [&str; 2]| {
            [
                angle(Tag::GPSLatitude, [(57, 1), (3, 1), (0, 1)]),
                ascii(Tag::GPSLatitudeRef, signs[0]),
                angle(Tag::GPSLongitude, [(9, 1), (55, 1), (12, 1)]),
                ascii(Tag::GPSLongitudeRef, signs[1]),
            ]
        };
        let original = ascii(Tag::DateTimeOriginal, "2012:05:06 07:08:09");
        let digitized = ascii(Tag::DateTimeDigitized, "2013:01:02 03:04:05");
        let mut all = vec![original, digitized.clone(), version];
        all.extend(place(["N", "E"]));
        check(
            &all,
            Some("taken 2012-05-06T07:08:09 at 57.050000,9.920000 exif 0231"),
        );
        check(&place(["S", "W"]), Some("at -57.050000,-9.920000"));
        check(&[digitized], Some("taken 2013-01-02T03:04:05"));
    }

    #[test]
    fn values_without_meaning_are_left_out() {
        let make = ascii(Tag::Make, "a camera");
        check(std::slice::from_ref(&make), None);
        for time in [
            "0000:00:00 00:00:00",
            "2012:13:06 07:08:09",
            "2011:02:29 07:08:09",
            "2012:05",
            "yesterday",
        ] {
            check(&[make.clone(), ascii(Tag::DateTimeOriginal, time)], None);
        }
        for latitude in [[(91, 1), (0, 1), (0, 1)], [(5, 0), (0, 0), (0, 1)]] {
            let fields = [
                angle(Tag::GPSLatitude, latitude),
                ascii(Tag::GPSLatitudeRef, "N"),
                angle(Tag::GPSLongitude, [(9, 1), (55, 1), (12, 1)]),
                ascii(Tag::GPSLongitudeRef, "E"),
            ];
            check(&fields, None);
        }
        assert_eq!(read(b"no image"), None);
        assert_eq!(read(b""), None);
    }
}
