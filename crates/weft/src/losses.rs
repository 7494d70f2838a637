//! Describes what was lost of an input.

use archive::question::QuarantineRow;

use crate::style::clean;

/// One loss in words: `input at offset: reason: detail`.
pub(crate) fn quarantine_line(row: &QuarantineRow) -> String {
    format!("{} {}", clean(&row.input), loss_text(row))
}

/// One loss in words, where the input is known: `at offset: reason: detail`.
pub(crate) fn loss_text(row: &QuarantineRow) -> String {
    let detail = if row.detail.is_empty() {
        String::new()
    } else {
        format!(": {}", row.detail)
    };
    clean(&format!("at {}: {}{detail}", row.offset, row.reason))
}
