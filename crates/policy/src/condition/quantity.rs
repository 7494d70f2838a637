//! Numbers with units.

/// Text that is not a number with a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It is not a number, or the unit is not one of these.
    #[error("`{text}`: expected {}", unit.expected())]
    Malformed {
        /// The number and its unit.
        text: String,
        /// The expected units.
        unit: Unit,
    },
    /// The number does not fit into 63 bits.
    #[error("`{text}` is too large")]
    TooLarge {
        /// The number and its unit.
        text: String,
    },
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes: `B`, `KB` and `KiB` up to `PB` and `PiB`; `K`, `M`, `G`, `T` alone are multiples of
    /// 1024.
    Bytes,
    /// Milliseconds: `s`, `min`, `h`, `d`, `w`, `y` (of 365 days).
    Time,
    /// A count without unit.
    Count,
}

impl Unit {
    fn factor(self, unit: &str) -> Option<u64> {
        let lower = unit.to_ascii_lowercase();
        match self {
            Unit::Count => lower.is_empty().then_some(1),
            Unit::Time => {
                let seconds = match &*lower {
                    "s" => 1,
                    "min" | "m" => 60,
                    "h" => 3600,
                    "d" => 86_400,
                    "w" => 7 * 86_400,
                    "y" => 365 * 86_400,
                    _ => return None,
                };
                Some(seconds * 1000)
            }
            Unit::Bytes => {
                let mut letters = lower.chars();
                let power = match letters.next() {
                    None | Some('b') => 0,
                    Some('k') => 1,
                    Some('m') => 2,
                    Some('g') => 3,
                    Some('t') => 4,
                    Some('p') => 5,
                    Some(_) => return None,
                };
                match (letters.as_str(), power) {
                    ("", _) | ("ib", 1..) => Some(1024u64.pow(power)),
                    ("b", 1..) => Some(1000u64.pow(power)),
                    _ => None,
                }
            }
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Unit::Bytes => "a size such as 512, 10 MiB or 1 GB",
            Unit::Time => "an age such as 15 min, 36 h, 30 d, 2 w or 1 y",
            Unit::Count => "a number without a unit",
        }
    }

    /// Converts a number and its unit, which have been split already.
    pub(super) fn of(self, number: &str, unit: &str) -> Result<i64, QuantityError> {
        let text = || format!("{number} {unit}");
        let malformed = || QuantityError::Malformed {
            text: text(),
            unit: self,
        };
        let factor = self.factor(unit).ok_or_else(malformed)?;
        let digits = number.replace('_', "");
        let value = match digits.parse::<u64>() {
            Ok(whole) => whole.checked_mul(factor),
            Err(_) => {
                // A fraction of a unit: 1.5 GiB. Such sizes and ages are far below the limit up to
                // which a float is exact.
                let value: f64 = digits.parse().map_err(|_| malformed())?;
                Some((value * factor as f64) as u64)
            }
        };
        value
            .and_then(|value| i64::try_from(value).ok())
            .ok_or_else(|| QuantityError::TooLarge { text: text() })
    }
}

/// Parses a number with its unit, such as `10 GiB` or `30d`.
///
/// # Errors
/// [`QuantityError`], with the expected input.
pub fn quantity(text: &str, unit: Unit) -> Result<i64, QuantityError> {
    let text = text.trim();
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(split);
    unit.of(number, rest.trim())
}
