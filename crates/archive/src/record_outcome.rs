//! Converts a record, in a load or on its own ([`crate::OneInput`]).

use std::panic::{AssertUnwindSafe, catch_unwind};

use extract::{Capture, Extracted, IndexLine};
use warc::{Defect, Record};

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
