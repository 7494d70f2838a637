//! Evidence in the bytes of a document against its declared charset.
//!
//! A declaration is right until the bytes plainly contradict it. All thresholds are chosen so that
//! text in the declared charset does not reach them: a missed contradiction leaves a text
//! unchanged, but a false one spoils it.

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::{declared_inside, detect_legacy};

/// Number of bytes searched for UTF-16. They hold the markup or the first words.
const UTF16_BYTES: usize = 512;

/// A UTF-16 text of fewer bytes can consist of ASCII bytes by chance.
const UTF16_BYTES_MIN: usize = 32;

/// Distinct characters are counted up to this number.
const DISTINCT_MAX: usize = 8;

/// Number of distinct characters that a text in a single-byte charset does not form in UTF-8 by
/// chance. For Windows-1252 two are enough, because most of its bytes above 0x7F are single ones
/// between ASCII letters.
const DISTINCT_SINGLE_BYTE: usize = 3;

/// The same for East Asian charsets, where one character in seven is well-formed UTF-8 by chance.
const DISTINCT_MULTI_BYTE: usize = DISTINCT_MAX;

/// Fewer malformed sequences are damage, or a word pasted from elsewhere.
const MALFORMED_MIN: usize = 4;

/// Bytes above 0x7F that the detector needs for a result that outweighs a declaration.
const HIGH_BYTES_MIN: usize = 16;

/// Returns the byte order of a UTF-16 text without a byte order mark: most of its code units have a
/// high byte of zero and a low byte that is a text character.
pub(super) fn unmarked_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(UTF16_BYTES)];
    if head.len() < UTF16_BYTES_MIN || memchr::memchr(0, head).is_none() {
        return None;
    }
    let is_in = |high: usize| {
        let (mut units, mut latin) = (0, 0);
        for unit in head.chunks_exact(2) {
            let low = unit[1 - high];
            units += 1;
            match unit[high] {
                0 if is_control(low) => return false,
                0 => latin += 1,
                _ => {}
            }
        }
        latin * 4 >= units * 3
    };
    match (is_in(0), is_in(1)) {
        (true, _) => Some(UTF_16BE),
        (_, true) => Some(UTF_16LE),
        _ => None,
    }
}

/// Returns the encoding that `bytes` are plainly in, if it is not `declared`. `is_of_header` says
/// that the declaration is not the document's own.
pub(super) fn against(
    declared: &'static Encoding,
    is_of_header: bool,
    bytes: &[u8],
    top_level: Option<&str>,
) -> Option<&'static Encoding> {
    if declared == UTF_16LE || declared == UTF_16BE {
        // In UTF-16, white space and markup have zero bytes.
        let is_bytes = bytes.len() >= UTF16_BYTES_MIN && memchr::memchr(0, bytes).is_none();
        return (is_bytes && Utf8::of(bytes).malformed == 0).then_some(UTF_8);
    }
    // Most pages end here, without counting.
    if bytes.is_ascii() || declared == UTF_8 && std::str::from_utf8(bytes).is_ok() {
        return None;
    }
    let utf8 = Utf8::of(bytes);
    let other = if declared == UTF_8 {
        if utf8.is_plainly_not() {
            detect_legacy(bytes, top_level)
        } else {
            return None;
        }
    } else if utf8.is_plainly_despite(declared, bytes) {
        return Some(UTF_8);
    } else if !declared.is_single_byte() {
        if is_plainly_malformed(declared, bytes) {
            detect_legacy(bytes, top_level)
        } else {
            return None;
        }
    } else {
        // Some servers declare one charset for all documents. The document's own declaration wins
        // if the bytes agree.
        let inside = declared_inside(bytes).filter(|inside| is_of_header && *inside != declared)?;
        let high = bytes.iter().filter(|byte| !byte.is_ascii()).take(HIGH_BYTES_MIN);
        if high.count() == HIGH_BYTES_MIN && detect_legacy(bytes, top_level) == inside {
            inside
        } else {
            return None;
        }
    };
    let is_text = !bytes.iter().copied().any(is_control);
    (is_text && other != declared && replaced(other, bytes) <= 1).then_some(other)
}

/// Returns whether the byte does not occur in text. Escape does (ISO-2022-JP).
fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// Returns the number of places where `bytes` are not valid in `encoding`.
fn replaced(encoding: &'static Encoding, bytes: &[u8]) -> usize {
    let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
    if has_errors {
        text.matches(char::REPLACEMENT_CHARACTER).count()
    } else {
        0
    }
}

/// Returns whether a text cannot be in its declared multi-byte charset.
fn is_plainly_malformed(declared: &'static Encoding, bytes: &[u8]) -> bool {
    let (text, has_errors) = declared.decode_without_bom_handling(bytes);
    if !has_errors {
        return false;
    }
    let malformed = text.matches(char::REPLACEMENT_CHARACTER).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count() - malformed;
    malformed >= MALFORMED_MIN && malformed * 8 >= others
}

/// Statistics of a text read as UTF-8.
struct Utf8 {
    /// Well-formed sequences of several bytes.
    sequences: usize,
    /// Distinct characters among them, at most [`DISTINCT_MAX`].
    distinct: Vec<char>,
    malformed: usize,
}

impl Utf8 {
    fn of(bytes: &[u8]) -> Utf8 {
        let mut found = Utf8 {
            sequences: 0,
            distinct: Vec::new(),
            malformed: 0,
        };
        let mut left = bytes.len();
        for chunk in bytes.utf8_chunks() {
            left -= chunk.valid().len() + chunk.invalid().len();
            for character in chunk.valid().chars().filter(|c| !c.is_ascii()) {
                found.sequences += 1;
                if found.distinct.len() < DISTINCT_MAX && !found.distinct.contains(&character) {
                    found.distinct.push(character);
                }
            }
            // The bytes may end inside a character.
            let is_cut = left == 0
                && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            found.malformed += usize::from(!chunk.invalid().is_empty() && !is_cut);
        }
        found
    }

    fn is_plainly_not(&self) -> bool {
        self.malformed >= MALFORMED_MIN && self.malformed > self.sequences * 2
    }

    /// Returns whether the text is plainly UTF-8, although another charset is `declared`.
    fn is_plainly_despite(&self, declared: &'static Encoding, bytes: &[u8]) -> bool {
        let distinct = self.distinct.len();
        if self.malformed > 0 {
            // A page assembled from several sources. Its malformed part is small.
            let is_mostly = distinct >= DISTINCT_MAX && self.malformed * 50 <= self.sequences;
            return is_mostly && (declared.is_single_byte() || replaced(declared, bytes) > self.malformed);
        }
        if declared == WINDOWS_1252 {
            // A single character must be one that is typical of such pages: `Ã©` and `â€™` have no
            // other meaning.
            let is_western =
                |c: &char| matches!(*c, '\u{a0}'..='\u{ff}' | '\u{2010}'..='\u{203a}' | '€' | '™');
            return distinct >= 2 || self.distinct.first().is_some_and(is_western);
        }
        if declared.is_single_byte() {
            return distinct >= DISTINCT_SINGLE_BYTE;
        }
        let malformed_otherwise = || declared == REPLACEMENT || replaced(declared, bytes) > 0;
        distinct >= DISTINCT_MULTI_BYTE || (distinct >= 2 && malformed_otherwise())
    }
}
