//! A capture as a CDX look-up returns it.

use std::collections::BTreeSet;

use extract::CaptureKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One capture, with the fields of CDXJ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CdxRow {
    /// Sort key of the URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// Capture time in UTC, 14 digits (`YYYYMMDDhhmmss`).
    #[schemars(example = &"20140126200624")]
    pub timestamp: String,
    /// Capture time in ISO 8601, with milliseconds.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// The URL in the record.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Media type; `unk` if the capture declares none.
    #[schemars(example = &"text/html")]
    pub mime: String,
    /// HTTP status; 0 if the capture has none.
    pub status: u16,
    /// Method of the request, according to its record, if any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(example = &"GET")]
    pub method: String,
    /// Payload digest that the record declares. If it declares none, the payload's SHA-1 in Base32.
    #[schemars(example = &"OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB")]
    pub digest: String,
    /// Length of the stored record in bytes.
    pub length: u64,
    /// Offset in bytes at which the record begins in its input.
    pub offset: u64,
    /// The input's name, or only its last part if the question set `base_names`.
    #[schemars(example = &"iana.warc.gz")]
    pub filename: String,
    /// The input's label; empty if it has none.
    #[schemars(example = &"news")]
    pub collection: String,
    /// Type of the record that the capture comes from.
    pub kind: CaptureKind,
    /// Whether the capture is known only from an index: its record is not loaded, and `filename` is
    /// that in the index.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub index_only: bool,
    /// Columns that only some look-ups request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub computed: Option<Box<ComputedFields>>,
}

/// Columns computed for one answer on request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputedFields {
    /// Where the payload of a revisit is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<Original>,
    /// Captures left out after this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkippedCounts>,
    /// Number of earlier captures in the answer with the same digest.
    #[serde(skip)]
    pub duplicates: Option<u64>,
}

/// The record that has the payload of a revisit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// Length of the stored record in bytes.
    pub length: u64,
    /// Offset in bytes at which it begins in its input.
    pub offset: u64,
    /// The input's name, as in [`CdxRow::filename`].
    pub filename: String,
}

/// Captures between two returned ones that filters or collapsing left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedCounts {
    /// Number of captures.
    pub count: u64,
    /// Time of the last one, 14 digits. Empty if `count` is 0.
    pub last_timestamp: String,
    /// With [`CdxQuestion::count_digests`](crate::question::CdxQuestion::count_digests): their
    /// digests, and that of the capture before them; at most [`SkippedCounts::DIGESTS_MAX`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub digests: BTreeSet<String>,
}

impl SkippedCounts {
    /// Limit of digests counted after one capture: about a megabyte.
    pub const DIGESTS_MAX: usize = 10_000;

    /// Adds a digest, if there is room for it.
    pub fn add_digest(&mut self, digest: &str) {
        if self.digests.len() < Self::DIGESTS_MAX && !self.digests.contains(digest) {
            self.digests.insert(digest.to_owned());
        }
    }

    /// Adds captures that follow these and were left out too.
    pub fn add(&mut self, more: &SkippedCounts) {
        self.count += more.count;
        if !more.last_timestamp.is_empty() {
            self.last_timestamp.clone_from(&more.last_timestamp);
        }
        for digest in &more.digests {
            self.add_digest(digest);
        }
    }
}

impl CdxRow {
    /// Returns a row with a capture time in both of its forms, and nothing else.
    pub fn at(fetch_time_ms: i64) -> CdxRow {
        CdxRow {
            timestamp: format::date::digits(fetch_time_ms),
            fetch_time: format::date::iso(fetch_time_ms),
            ..CdxRow::default()
        }
    }

    /// Returns a name that identifies the capture among all captures of its URL, even those of the
    /// same millisecond: `<offset>,<filename>`.
    pub fn name(&self) -> String {
        format!("{},{}", self.offset, self.filename)
    }

    /// Returns the computed columns, to fill in.
    pub fn computed_mut(&mut self) -> &mut ComputedFields {
        self.computed.get_or_insert_default()
    }
}
