//! Numbers of bytes in settings: plain, or with a unit.

use serde::{Deserialize, Deserializer, Serialize};

/// A number of bytes. In settings a number, or a text such as `"10 GiB"` or `"500 MB"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Size(pub u64);

impl Size {
    /// Reads a number with a unit: none or `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000), `KiB`, `MiB`, `GiB`, `TiB` (of 1024).
    pub fn parse(text: &str) -> Option<Size> {
        let text = text.trim();
        let digits = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "kb" => 1000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            "tib" => 1_u64 << 40,
            _ => return None,
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(unit).map(Size);
        }
        let bytes = number.parse::<f64>().ok()? * unit as f64;
        // Beyond 2^53 a fraction has no meaning any more.
        (bytes.is_finite() && bytes < 9e15).then_some(Size(bytes as u64))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Size, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(from)? {
            Written::Number(bytes) => Ok(Size(bytes)),
            Written::Text(text) => Size::parse(&text).ok_or_else(|| {
                serde::de::Error::custom(format!(
                    "{text:?} is no size: expected a number of bytes, or one like \"10 GiB\""
                ))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_units() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(Size::parse(text).map(|size| size.0), expected, "{text}")
        };
        check("0", Some(0));
        check("1024", Some(1024));
        check("10 GiB", Some(10 << 30));
        check("1.5MiB", Some(3 << 19));
        check("2 kB", Some(2000));
        check("ten", None);
        check("1 GiBB", None);
        check("99999999999 TiB", None);
    }
}
