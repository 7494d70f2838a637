//! Lines of record headers: their ends, lengths in them, and the version line that begins a WARC
//! record.

use crate::record::Format;

/// Longest accepted version line in bytes, including its line end.
pub(crate) const VERSION_LINE_BYTES_MAX: usize = 64;

/// Number of bytes from the start of a version line that [`plausible`] may need.
pub(crate) const PLAUSIBLE_BYTES: usize = VERSION_LINE_BYTES_MAX + 128;

/// The beginning of a version line, compared without case because some writers use lower case.
pub(crate) const MAGIC: &[u8] = b"WARC/";

/// Returns whether `bytes`, as far as they go, begin like a version line.
pub(crate) fn may_be_version_line(bytes: &[u8]) -> bool {
    let prefix = bytes.len().min(MAGIC.len());
    bytes[..prefix].eq_ignore_ascii_case(&MAGIC[..prefix])
}

/// Parses the version line at the start of `bytes`. Returns the format and the length of the line,
/// or `None` if there is no complete version line.
pub(crate) fn version_line(bytes: &[u8]) -> Option<(Format, usize)> {
    let (magic, rest) = bytes.split_at_checked(MAGIC.len())?;
    if !magic.eq_ignore_ascii_case(MAGIC) {
        return None;
    }
    let (major, rest) = small_number(rest)?;
    let (minor, rest) = small_number(rest.strip_prefix(b".")?)?;
    let blanks = rest
        .iter()
        .take_while(|b| matches!(b, b'\r' | b' ' | b'\t'))
        .count();
    let length = bytes.len() - rest.len() + blanks + 1;
    let ended = rest.get(blanks) == Some(&b'\n') && length <= VERSION_LINE_BYTES_MAX;
    ended.then_some((Format::Warc(major, minor), length))
}

/// Returns whether a version line is here and the next line begins like a field (`name:`). Required
/// of a record that is found where none was expected.
pub(crate) fn plausible(bytes: &[u8]) -> bool {
    let Some((_, length)) = version_line(bytes) else {
        return false;
    };
    let name = bytes[length..].iter().take_while(|b| is_name_byte(**b)).count();
    name > 1 && bytes.get(length + name) == Some(&b':')
}

/// Returns where a record may begin within the line of `length` bytes at `position` (not at its
/// start): where a version line extends to the end of the line, and a field follows.
pub(crate) fn record_within(bytes: &[u8], position: usize, length: usize) -> Option<usize> {
    let line = &bytes[position..position + length];
    // The existing versions are 1.0, 1.1, 0.17 and 0.18.
    let slash = [4, 5]
        .into_iter()
        .filter_map(|behind| line.len().checked_sub(behind))
        .find(|at| line[*at] == b'/')?;
    let at = position + slash.checked_sub(MAGIC.len() - 1).filter(|at| *at > 0)?;
    plausible(&bytes[at..]).then_some(at)
}

/// Parses a length in decimal digits. 19 digits always fit in 64 bits.
pub(crate) fn parse_length(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0u64, |sum, b| {
        b.is_ascii_digit().then(|| sum * 10 + u64::from(b - b'0'))
    })
}

/// Returns the line without the CRs before its LF.
pub(crate) fn trim_line_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'\r'] = line {
        line = rest;
    }
    line
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn small_number(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let digits = bytes.iter().take(3).take_while(|b| b.is_ascii_digit()).count();
    let value = parse_length(&bytes[..digits]).and_then(|value| u8::try_from(value).ok())?;
    Some((value, &bytes[digits..]))
}
