//! Errors of the store's operations.

use std::fmt;

use store_protocol::{Key, Protection, RetentionMode};

/// Why the store did not carry out a request.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The object certainly does not exist.
    #[error("no object {0}")]
    NotFound(String),
    /// The condition does not hold.
    #[error("{key}: the condition does not hold: the current entity tag is {current:?}")]
    Condition {
        /// The object.
        key: String,
        /// Entity tag of the current version.
        current: Option<String>,
    },
    /// The object is protected from this change. Nothing was done.
    #[error("{key} is {protection}; {}", advice(protection))]
    Protected {
        /// The object.
        key: String,
        /// What protects it.
        protection: Protection,
    },
    /// The content differs from its declared properties. No version became visible.
    #[error("{key}: {what} is {found}, but {expected} was declared")]
    Declared {
        /// The object.
        key: String,
        /// `length`, `MD5`, `SHA-256`, or another digest.
        what: String,
        /// The value computed from the content.
        found: String,
        /// The value that the client declared.
        expected: String,
    },
    /// The client's content was cut short. Nothing became visible.
    #[error("{key}: the content was cut short: {detail}")]
    Body {
        /// The object.
        key: String,
        /// What happened.
        detail: String,
    },
    /// The finisher refused the content ([`Put::finisher`](super::Put::finisher)).
    #[error("{key}: {detail}")]
    Refused {
        /// The object.
        key: String,
        /// Why.
        detail: String,
    },
    /// The range is outside the object.
    #[error("{key}: range {start}-{} is outside the object of {size} bytes", last_byte(*.end))]
    Range {
        /// The object.
        key: String,
        /// First byte asked for.
        start: u64,
        /// End asked for.
        end: u64,
        /// Size of the object.
        size: u64,
    },
    /// Too many volumes, or all deciders of the key, cannot be reached. Retry later (HTTP 503).
    #[error("{key}: {}: {detail}", UNCERTAIN)]
    Unavailable {
        /// The object.
        key: String,
        /// Which volumes or nodes did not answer.
        detail: String,
    },
    /// No volume has space (HTTP 507).
    #[error("{key}: no room: {detail}")]
    Full {
        /// The object.
        key: String,
        /// The volumes asked.
        detail: String,
    },
    /// Every replica is damaged or missing. The store returns no bytes rather than wrong ones.
    #[error("{key}: no good replica: {detail}")]
    Lost {
        /// The object.
        key: String,
        /// The error of each replica.
        detail: String,
    },
    /// No such multipart upload: it was completed, aborted or expired, or never existed.
    #[error("{key}: no multipart upload {id}")]
    NoMultipart {
        /// The object that the upload is for.
        key: String,
        /// Id of the upload.
        id: String,
    },
    /// The parts named to complete a multipart upload are not those received, or are out of order.
    #[error("{key}: {detail}")]
    Part {
        /// The object that the upload is for.
        key: String,
        /// The part, and the found and expected values.
        detail: String,
    },
    /// The key is invalid.
    #[error(transparent)]
    Key(#[from] store_protocol::KeyError),
}

/// Returns the error of an operation that cannot be done at present.
pub(super) fn unavailable(key: &Key, detail: impl fmt::Display) -> StoreError {
    let key = key.to_string();
    // The detail is often such an error itself, of a decider or of an earlier step.
    let again = format!("{key}: {UNCERTAIN}: ");
    StoreError::Unavailable {
        detail: detail.to_string().replace(&again, ""),
        key,
    }
}

/// Returns what can be done about a protection.
fn advice(protection: &Protection) -> &'static str {
    match protection.retention.map(|retention| retention.mode) {
        Some(RetentionMode::Compliance) => "nobody can remove or replace it, or shorten the retention",
        _ if protection.hold => "nobody can remove or replace it until the hold is ended",
        _ => "nobody can remove or replace it before then, unless the retention is lifted",
    }
}

/// The text of [`StoreError::Unavailable`].
const UNCERTAIN: &str = "no certain answer is possible now";

/// Returns the last byte of a range for display; empty for a range without an end.
fn last_byte(end: u64) -> String {
    match end {
        u64::MAX => String::new(),
        end => end.saturating_sub(1).to_string(),
    }
}

/// Returns the error for content that differs from its declared properties.
pub(super) fn declared(
    key: &Key,
    what: &str,
    found: impl fmt::Display,
    expected: impl fmt::Display,
) -> StoreError {
    StoreError::Declared {
        key: key.to_string(),
        what: what.to_owned(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use store_protocol::Retention;

    use super::*;

    #[test]
    fn what_cannot_be_answered_is_said_once() {
        let key = Key::new("b", "x").expect("a key");
        let inner = unavailable(&key, "node n1 does not answer");
        let outer = unavailable(&key, format!("node n2: {inner}"));
        let said = "b/x: no certain answer is possible now: node n2: node n1 does not answer";
        assert_eq!(outer.to_string(), said);
    }

    #[test]
    fn a_protected_object_says_what_protects_it_and_until_when() {
        let said = |mode: Option<RetentionMode>, hold| {
            let retention = mode.map(|mode| Retention { mode, until_ms: 1000 });
            let (key, protection) = ("b/x".to_owned(), Protection { retention, hold });
            StoreError::Protected { key, protection }.to_string()
        };
        let until = "b/x is kept until 1970-01-01T00:00:01Z";
        for (text, expected) in [
            (
                said(Some(RetentionMode::Compliance), true),
                format!(
                    "{until} (compliance) and under a legal hold; nobody can remove or replace it, or shorten the retention"
                ),
            ),
            (
                said(Some(RetentionMode::Governance), false),
                format!(
                    "{until} (governance); nobody can remove or replace it before then, unless the retention is lifted"
                ),
            ),
            (
                said(None, true),
                "b/x is under a legal hold; nobody can remove or replace it until the hold is ended"
                    .to_owned(),
            ),
        ] {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_range_is_told_as_it_was_asked_for() {
        let range = |end| StoreError::Range {
            key: "b/x".to_owned(),
            start: 9,
            end,
            size: 5,
        };
        assert_eq!(
            range(12).to_string(),
            "b/x: range 9-11 is outside the object of 5 bytes"
        );
        assert_eq!(
            range(u64::MAX).to_string(),
            "b/x: range 9- is outside the object of 5 bytes"
        );
    }
}
