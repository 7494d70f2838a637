//! Converts a record, in a load or on its own ([`crate::OneInput`]).

use std::panic::{AssertUnwindSafe, catch_unwind};

use extract::{Capture, Extracted, IndexLine};
use warc::{Defect, Record, reason};

/// Damage of records that are used nevertheless. A record that is cut off at the end of its input
/// is not here: the ledger has it as the input's `cut`.
const DAMAGE: [&str; 5] = [
    reason::CHECKSUM_MISMATCH,
    reason::DAMAGED_MEMBER,
    reason::LENGTH_TOO_LONG,
    reason::BLOCK_DIGEST_MISMATCH,
    reason::PAYLOAD_DIGEST_MISMATCH,
];

/// The result of converting a record.
pub enum RecordOutcome {
    /// It is counted, but is not a capture.
    Counted,
    /// A capture.
    Capture(Box<Capture>),
    /// An attachment of a page.
    Attachment(Box<IndexLine>),
    /// It should be a capture but is invalid.
    Quarantined(Defect),
}

impl RecordOutcome {
    /// Converts a record whose request has this method; empty if it is unknown.
    pub fn extract(record: &Record, method: String, settings: &extract::Settings) -> RecordOutcome {
        match extract_guarded(settings, record) {
            Extracted::Counted => RecordOutcome::Counted,
            // The index would refuse it too. Refusing it here lets it be counted as a loss.
            Extracted::Capture(mut capture) => match index::refusal(&capture) {
                None => {
                    capture.method = method;
                    if let Some(content) = capture.content_mut() {
                        content.store_images();
                    }
                    RecordOutcome::Capture(capture)
                }
                Some((reason, detail)) => RecordOutcome::Quarantined(Defect::new(reason, detail)),
            },
            Extracted::Attachment(attachment) => RecordOutcome::Attachment(attachment),
            Extracted::Unusable(defect) => RecordOutcome::Quarantined(defect),
        }
    }
}

/// Returns the damage of a record that is used nevertheless: the entries of the quarantine for it,
/// one of each reason.
pub fn damage_of(record: &Record) -> Vec<Defect> {
    let mut damage: Vec<Defect> = Vec::new();
    for defect in &record.defects {
        let is_new = damage.iter().all(|known| known.reason != defect.reason);
        if is_new && DAMAGE.contains(&defect.reason) {
            let detail = format!("{} (the record is used)", defect.detail);
            damage.push(Defect::new(defect.reason, detail));
        }
    }
    damage
}

/// Extracts a record. A panic becomes a defect, because one record must not end a load.
pub(crate) fn extract_guarded(settings: &extract::Settings, record: &Record) -> Extracted {
    let extracted = catch_unwind(AssertUnwindSafe(|| extract::extract(record, settings)));
    extracted.unwrap_or_else(|_| {
        tracing::error!(offset = record.span.offset, "extracting a record panicked");
        Extracted::Unusable(Defect::new(
            "internal-error",
            "extracting this record failed; please report it",
        ))
    })
}
