//! Byte counts in settings, plain or with a unit.

use serde::{Deserialize, Deserializer};

/// A number of bytes. In settings it is a number or a text such as `"10 GiB"` or `"500 MB"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Size, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum SizeValue {
            Number(u64),
            Text(String),
        }
        match SizeValue::deserialize(from)? {
            SizeValue::Number(bytes) => Ok(Size(bytes)),
            SizeValue::Text(text) => format::number::parse_bytes(&text)
                .map(Size)
                .map_err(serde::de::Error::custom),
        }
    }
}
