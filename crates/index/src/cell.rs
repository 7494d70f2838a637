//! A value of a row, as dumps print it and fingerprints hash it.

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Number(u64),
    /// Milliseconds since 1970.
    Time(i64),
}
