//! Describes data lost from an input.

use archive::question::QuarantineRow;

use crate::style::clean;

/// Formats one loss: `input at offset: reason: detail`.
pub(crate) fn quarantine_line(row: &QuarantineRow) -> String {
    format!("{} {}", clean(&row.input), loss_text(row))
}

/// Formats one loss of a known input: `at offset: reason: detail`.
pub(crate) fn loss_text(row: &QuarantineRow) -> String {
    let detail = if row.detail.is_empty() {
        String::new()
    } else {
        format!(": {}", row.detail)
    };
    clean(&format!("at {}: {}{detail}", row.offset, row.reason))
}
