//! The role of a character in a text, by its script.

use std::sync::OnceLock;

/// The role of a character in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Part of a word.
    Letter,
    /// Part of a run of pairs.
    Pair,
    /// Dropped inside a word.
    Mark,
    /// Between words.
    Gap,
}

pub(super) fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() {
            Class::Letter
        } else {
            Class::Gap
        };
    }
    static TABLE: OnceLock<Vec<Class>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        (0..TABLE_END)
            .map(|code| char::from_u32(code).map_or(Class::Gap, class_of))
            .collect()
    });
    table.get(c as usize).copied().unwrap_or_else(|| class_of(c))
}

/// First character whose class is not in a table. Most texts have characters below it (accented
/// letters, other alphabets, quotation marks, dashes), and Unicode's own tables are slower.
const TABLE_END: u32 = 0x2100;

fn class_of(c: char) -> Class {
    if is_mark(c) {
        Class::Mark
    } else if is_pair_script(c) {
        Class::Pair
    } else if c.is_alphanumeric() || is_kept_sign(c) {
        Class::Letter
    } else {
        Class::Gap
    }
}

/// Returns whether a character is a mark that does not affect the matching of words.
pub(super) fn is_mark(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x300..=0x36F | 0x483..=0x489 | 0x591..=0x5BD | 0x5BF | 0x5C1..=0x5C2 | 0x5C4..=0x5C5
        | 0x5C7 | 0x610..=0x61A | 0x640 | 0x64B..=0x65F | 0x670 | 0x6D6..=0x6DC | 0x6DF..=0x6E4
        | 0x6E7..=0x6E8 | 0x6EA..=0x6ED | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x200C..=0x200D
        | 0x2060 | 0x20D0..=0x20FF | 0x3099..=0x309A | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F | 0xFEFF)
}

/// Returns whether a character is a sign of Indic scripts inside words that Unicode does not count
/// as a letter (virama, nukta).
fn is_kept_sign(c: char) -> bool {
    matches!(
        u32::from(c),
        0x93C
            | 0x94D
            | 0x9BC
            | 0x9CD
            | 0xA3C
            | 0xA4D
            | 0xABC
            | 0xACD
            | 0xB3C
            | 0xB4D
            | 0xBCD
            | 0xC3C
            | 0xC4D
            | 0xCBC
            | 0xCCD
            | 0xD3B
            | 0xD3C
            | 0xD4D
            | 0xDCA
    )
}

/// Returns whether a script separates words without spaces, or is Hangul, whose words carry
/// endings.
pub(super) fn is_pair_script(c: char) -> bool {
    matches!(u32::from(c),
        0xE01..=0xE3A | 0xE40..=0xE4E | 0xE81..=0xECE | 0xEDC..=0xEDF | 0x1000..=0x103F | 0x1050..=0x108F
        | 0x1100..=0x11FF | 0x1780..=0x17D3 | 0x3005..=0x3007 | 0x3041..=0x3096 | 0x309D..=0x309F
        | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x3105..=0x312F | 0x31F0..=0x31FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xA960..=0xA97C | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFF66..=0xFFDC
        | 0x20000..=0x3FFFF)
}
