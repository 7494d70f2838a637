//! Why the store did not do what it was asked.

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No such object, for certain.
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
    /// The content differs from what the client declared of it. Nothing is visible.
    #[error("{key}: {what} is {found}, declared was {expected}")]
    Declared {
        /// The object.
        key: String,
        /// `length`, `MD5`, `SHA-256`, or another digest.
        what: String,
        /// As received.
        found: String,
        /// As declared.
        expected: String,
    },
    /// The client's content broke off. Nothing is visible.
    #[error("{key}: the content broke off: {detail}")]
    Body {
        /// The object.
        key: String,
        /// What happened.
        detail: String,
    },
    /// A last look refused the content ([`Put::finisher`]).
    #[error("{key}: {detail}")]
    Refused {
        /// The object.
        key: String,
        /// Why.
        detail: String,
    },
    /// A range outside the object.
    #[error("{key}: range {start}..{end} is outside of {size} bytes")]
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
    /// Too many volumes or the partition's owner cannot be reached: ask again later (503).
    #[error("{key}: cannot be answered for certain now: {detail}")]
    Unavailable {
        /// The object.
        key: String,
        /// Who did not answer.
        detail: String,
    },
    /// No volume has room (507).
    #[error("{key}: no room: {detail}")]
    Full {
        /// The object.
        key: String,
        /// The volumes asked.
        detail: String,
    },
    /// Every replica is damaged or missing. The object is not served; nothing false is.
    #[error("{key}: no good replica: {detail}")]
    Lost {
        /// The object.
        key: String,
        /// What each replica said.
        detail: String,
    },
    /// No such multipart upload: finished, given up, expired, or never begun.
    #[error("{key}: no upload {upload}")]
    NoUpload {
        /// The object that was to be.
        key: String,
        /// Id of the upload.
        upload: String,
    },
    /// The parts given to finish a multipart upload are not those received, or not in order.
    #[error("{key}: {detail}")]
    Part {
        /// The object that was to be.
        key: String,
        /// Which part, what was found and expected.
        detail: String,
    },
    /// A key that cannot be one.
    #[error(transparent)]
    Key(#[from] contract::KeyError),
}
