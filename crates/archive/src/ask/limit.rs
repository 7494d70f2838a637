//! Limits of the number of rows in an answer.

/// Limit of captures of one key that are read to find one of them.
pub(super) const CAPTURES_OF_KEY_MAX: usize = 100_000;

/// Limit of links read for one answer with conditions, or of pages read for links of older
/// versions. The rest are left for the next part.
pub(super) const LINKS_LOOKED_AT_MAX: usize = 10_000;

/// Maximum number of rows in an answer.
const LIMIT_MAX: usize = 10_000;

/// Number of rows in an answer if the question asks for 0.
const LIMIT_DEFAULT: usize = 100;

/// Returns the number of rows to return for the limit asked for.
pub(super) fn clamp(limit: usize) -> usize {
    match limit {
        0 => LIMIT_DEFAULT,
        limit => limit.min(LIMIT_MAX),
    }
}

/// Truncates `rows` to `limit`; the caller must have read one row more. Returns the cursor of the
/// last row left if there are more.
pub(super) fn page_of<R>(rows: &mut Vec<R>, limit: usize, cursor: impl Fn(&R) -> String) -> Option<String> {
    if rows.len() <= limit {
        return None;
    }
    rows.truncate(limit);
    rows.last().map(cursor)
}
