//! The format of `WARC-Date`.

/// Returns whether a date exists and has the format that the version requires. WARC/1.0 allows only
/// `YYYY-MM-DDThh:mm:ssZ`. WARC/1.1 also allows less precise dates and up to nine fractional digits
/// (W3C-DTF).
pub(super) fn is_valid(text: &str, is_1_0: bool) -> bool {
    let Some(digits) = digits_of(text) else {
        return false;
    };
    let is_precise = text.len() == "YYYY-MM-DDThh:mm:ssZ".len();
    (is_precise || !is_1_0) && is_day(&digits)
}

/// Returns year, month, day, hour, minute and second, as far as the text has them.
fn digits_of(text: &str) -> Option<Vec<u32>> {
    let (whole, fraction) = match text.strip_suffix('Z').and_then(|text| text.split_once('.')) {
        Some((whole, fraction)) => (format!("{whole}Z"), Some(fraction)),
        None => (text.to_owned(), None),
    };
    const FORMS: [&str; 5] = [
        "dddd",
        "dddd-dd",
        "dddd-dd-dd",
        "dddd-dd-ddTdd:ddZ",
        "dddd-dd-ddTdd:dd:ddZ",
    ];
    let form = FORMS.iter().find(|form| {
        let mut pairs = form.bytes().zip(whole.bytes());
        form.len() == whole.len()
            && pairs.all(|(form, byte)| (form == b'd' && byte.is_ascii_digit()) || form == byte)
    })?;
    if let Some(fraction) = fraction {
        let is_number =
            (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || form.len() < FORMS[4].len() {
            return None;
        }
    }
    let numbers = whole
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    numbers.map(|part| part.parse().ok()).collect()
}

fn is_day(numbers: &[u32]) -> bool {
    let at = |index: usize, least: u32| numbers.get(index).copied().unwrap_or(least);
    let (year, month, day) = (at(0, 0), at(1, 1), at(2, 1));
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    // A minute may have a 61st second, a leap second.
    (1..=days).contains(&day) && at(3, 0) < 24 && at(4, 0) < 60 && at(5, 0) <= 60
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn dates_have_the_form_of_their_version() {
        for (text, in_1_0, in_1_1) in [
            ("2024-02-29T23:59:60Z", true, true),
            ("2023-02-29T00:00:00Z", false, false),
            ("2024-01-01T00:00:00.123456789Z", false, true),
            ("2024-01-01T00:00:00.1234567890Z", false, false),
            ("2024-01-01T00:00:00.Z", false, false),
            ("2024-01-01T00:00Z", false, true),
            ("2024-01-01T00:00.5Z", false, false),
            ("2024-01-01", false, true),
            ("2024-01", false, true),
            ("2024", false, true),
            ("2024-01-01T00:00:00+01:00", false, false),
            ("2024-01-01 00:00:00Z", false, false),
            ("20240101000000", false, false),
            ("2024-13-01T00:00:00Z", false, false),
            ("2024-01-01T24:00:00Z", false, false),
            ("", false, false),
        ] {
            assert_eq!(
                (is_valid(text, true), is_valid(text, false)),
                (in_1_0, in_1_1),
                "{text}"
            );
        }
    }
}
