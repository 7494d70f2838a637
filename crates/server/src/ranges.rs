//! Byte ranges of responses: which part of a file or record a request asks for.

use std::ops::Range;

use axum::http::StatusCode;

use crate::failure::{Code, Failure};

/// The requested bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteRange {
    Whole,
    /// The record that begins at this offset.
    RecordAt(u64),
    /// From the first to the last byte, both included.
    Span(u64, u64),
    /// From this byte to the end.
    From(u64),
    /// This many bytes at the end.
    Last(u64),
}

/// Parses a single range (RFC 9110, 14.1.2). Any other value is ignored.
pub(crate) fn parse_range(range: &str) -> Option<ByteRange> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    match (first.trim(), last.trim()) {
        ("", last) => last.parse().ok().filter(|last| *last > 0).map(ByteRange::Last),
        (first, "") => first.parse().ok().map(ByteRange::From),
        (first, last) => {
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some(ByteRange::Span(first, last))
        }
    }
}

/// Returns the bytes of a range in a file of `size` bytes.
///
/// # Errors
/// Status 416 if the file has none of them.
pub(crate) fn resolve_range(part: ByteRange, size: u64) -> Result<Range<u64>, Failure> {
    let (first, end) = match part {
        ByteRange::Whole => (0, size),
        ByteRange::RecordAt(first) | ByteRange::From(first) => (first, size),
        ByteRange::Span(first, last) => (first, size.min(last.saturating_add(1))),
        ByteRange::Last(bytes) => (size.saturating_sub(bytes), size),
    };
    if first >= end && part != ByteRange::Whole {
        return Err(Failure::new(
            StatusCode::RANGE_NOT_SATISFIABLE,
            Code::Range,
            format!("the file has {size} bytes"),
        ));
    }
    Ok(first..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        for (range, expected) in [
            ("bytes=0-9", Some(ByteRange::Span(0, 9))),
            ("bytes=5-", Some(ByteRange::From(5))),
            ("bytes=-7", Some(ByteRange::Last(7))),
            ("bytes=-0", None),
            ("bytes=9-5", None),
            ("bytes=0-1,4-5", None),
            ("lines=1-2", None),
            ("bytes=18446744073709551616-", None),
        ] {
            assert_eq!(parse_range(range), expected, "{range}");
        }
        for (part, expected) in [
            (ByteRange::Whole, Some(0..10)),
            (ByteRange::Span(2, 3), Some(2..4)),
            (ByteRange::Span(2, u64::MAX), Some(2..10)),
            (ByteRange::From(9), Some(9..10)),
            (ByteRange::From(10), None),
            (ByteRange::Last(3), Some(7..10)),
            (ByteRange::Last(30), Some(0..10)),
        ] {
            assert_eq!(resolve_range(part, 10).ok(), expected, "{part:?}");
        }
    }
}
