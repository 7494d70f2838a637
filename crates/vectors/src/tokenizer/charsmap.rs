//! The map of characters that a SentencePiece model has (`precompiled_charsmap`).
//!
//! | bytes | what |
//! |---|---|
//! | 4 | length of the array, little endian |
//! | that many | units of 4 bytes, little endian: a double array, in the layout of Darts |
//! | the rest | replacements, each ended by a zero byte |
//!
//! The value of a key in the array is the offset of its replacement.
//!
//! The array is looked up by graphemes, and where that finds nothing, by characters. Of the keys at
//! the beginning of a grapheme the shortest counts, and it replaces the whole grapheme, because the
//! package `tokenizers` does the same.

use data_encoding::BASE64;
use unicode_segmentation::UnicodeSegmentation;

/// Longer graphemes are looked up by characters.
const GRAPHEME_BYTES_MAX: usize = 5;

/// Longer replacements are not used. The longest of SentencePiece has 33 bytes.
const REPLACEMENT_BYTES_MAX: usize = 64;

/// A map of characters.
pub(super) struct Charsmap {
    units: Vec<u32>,
    replacements: Vec<u8>,
    /// Whether the map keeps each character of ASCII.
    is_plain: [bool; 128],
}

impl Charsmap {
    pub(super) fn read(base64: &str) -> Result<Charsmap, String> {
        let bytes = BASE64.decode(base64.as_bytes());
        let bytes = bytes.map_err(|error| format!("the map of characters: {error}"))?;
        let parts = bytes
            .split_first_chunk::<4>()
            .and_then(|(length, rest)| rest.split_at_checked(u32::from_le_bytes(*length) as usize));
        let (array, replacements) = parts.ok_or("the map of characters is too short")?;
        let (units, _) = array.as_chunks::<4>();
        let mut map = Charsmap {
            units: units.iter().map(|unit| u32::from_le_bytes(*unit)).collect(),
            replacements: replacements.to_vec(),
            is_plain: [false; 128],
        };
        for byte in 0..128 {
            let text = [byte];
            let text = std::str::from_utf8(&text).unwrap_or_default();
            map.is_plain[usize::from(byte)] = map.replacement(text).is_none();
        }
        Ok(map)
    }

    pub(super) fn apply(&self, text: &str) -> String {
        let mut normal = String::with_capacity(text.len() + 16);
        let mut rest = text;
        while !rest.is_empty() {
            let (plain, after) = rest.split_at(self.plain_bytes(rest));
            normal.push_str(plain);
            let (run, after) = after.split_at(run_bytes(after));
            run.graphemes(true)
                .for_each(|grapheme| self.push(grapheme, &mut normal));
            rest = after;
        }
        normal
    }

    /// Returns the length of the characters at the beginning that the map keeps. Each is a grapheme,
    /// because a character of ASCII follows it.
    fn plain_bytes(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let is_plain = |byte: u8| self.is_plain.get(usize::from(byte)).is_some_and(|plain| *plain);
        let plain = bytes
            .windows(2)
            .take_while(|pair| is_plain(pair[0]) && pair[1].is_ascii() && pair != b"\r\n");
        plain.count()
    }

    fn push(&self, grapheme: &str, normal: &mut String) {
        let is_short = grapheme.len() <= GRAPHEME_BYTES_MAX;
        if let Some(replacement) = self.replacement(grapheme).filter(|_| is_short) {
            return normal.push_str(replacement);
        }
        let mut encoded = [0; 4];
        for c in grapheme.chars() {
            match self.replacement(c.encode_utf8(&mut encoded)) {
                Some(replacement) => normal.push_str(replacement),
                None => normal.push(c),
            }
        }
    }

    /// Returns the replacement of the shortest key that `text` begins with.
    fn replacement(&self, text: &str) -> Option<&str> {
        let mut position = offset(*self.units.first()?);
        for byte in text.bytes().take_while(|byte| *byte != 0) {
            position ^= usize::from(byte);
            let unit = *self.units.get(position)?;
            if unit & (1 << 31 | 0xff) != u32::from(byte) {
                return None;
            }
            position ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let value = self.units.get(position)? & !(1 << 31);
                return self.text_at(value as usize);
            }
        }
        None
    }

    fn text_at(&self, from: usize) -> Option<&str> {
        let rest = self.replacements.get(from..)?;
        let length = rest
            .iter()
            .take(REPLACEMENT_BYTES_MAX)
            .position(|byte| *byte == 0)?;
        std::str::from_utf8(&rest[..length]).ok()
    }
}

/// Returns the length of a run whose end is the end of a grapheme: the run ends with a character of
/// ASCII that another one follows.
fn run_bytes(text: &str) -> usize {
    let ends = |pair: &[u8]| pair[0].is_ascii() && pair[1].is_ascii() && pair != b"\r\n";
    let end = text.as_bytes().windows(2).position(ends);
    end.map_or(text.len(), |end| end + 1)
}

/// Returns the distance from a unit to its children.
fn offset(unit: u32) -> usize {
    let shift = (unit & 1 << 9) >> 6;
    ((unit >> 10) << shift) as usize
}
