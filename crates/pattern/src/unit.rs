//! What patterns and names consist of: characters, or bytes.

/// A character, or a byte if bytes are compared. Bytes above 0x7F have numbers above all
/// characters, so no class contains them.
pub(super) type Unit = u32;

/// Returns the unit of a byte.
pub(super) fn unit_of(byte: u8) -> Unit {
    if byte.is_ascii() {
        Unit::from(byte)
    } else {
        Unit::from(char::MAX) + Unit::from(byte)
    }
}

/// Returns a character in lower case, in upper case, and unchanged. A case that needs several
/// characters is replaced by the character itself.
pub(super) fn variants(unit: Unit) -> [Unit; 3] {
    let Some(c) = char::from_u32(unit) else {
        return [unit; 3];
    };
    let single = |mut other: Box<dyn Iterator<Item = char>>| match (other.next(), other.next()) {
        (Some(one), None) => Unit::from(one),
        _ => unit,
    };
    [
        single(Box::new(c.to_lowercase())),
        single(Box::new(c.to_uppercase())),
        unit,
    ]
}
