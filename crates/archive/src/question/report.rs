//! Statistics of a crawl: captures and bytes by host, status, type and month, failures, and
//! duplicates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of hosts, types and failures in a report. Those with the most captures are kept.
pub const REPORT_ROWS_MAX: usize = 100;

/// Asks for a report on all captures, or on some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Only captures of this time or later: a date or a prefix of one.
    pub from: Option<String>,
    /// Only captures of this time or earlier. A prefix of a date means the end of that period.
    pub to: Option<String>,
    /// Only captures of this collection.
    pub collection: Option<String>,
    /// Read at most this many captures, in the order of URL keys; all if absent.
    pub captures_max: Option<u64>,
}

/// A report. Bytes are those of records as stored, compressed or not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportBody {
    /// Number of captures in the report.
    pub captures: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// Number of different URL keys.
    pub urls: u64,
    /// Number of hosts. A host with several ports counts once for each.
    pub hosts: u64,
    /// Number of different media types.
    pub mimes: u64,
    /// When the earliest capture was fetched (ISO 8601), if any.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time_first: Option<String>,
    /// When the latest capture was fetched (ISO 8601), if any.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time_last: Option<String>,
    /// Whether all captures were read; `false` if reading ended at `captures_max`.
    pub complete: bool,
    /// The hosts with the most captures, at most 100.
    pub by_host: Vec<ReportRow>,
    /// The captures by status, in numerical order; 0 for captures without a status.
    pub by_status: Vec<ReportStatus>,
    /// The media types with the most captures, at most 100; `warc/revisit` for revisits.
    pub by_mime: Vec<ReportRow>,
    /// The months with captures, in chronological order.
    pub by_month: Vec<ReportMonth>,
    /// Number of captures with a status of 400 or above.
    pub failures: u64,
    /// The most frequent failures, by host and status, at most 100.
    pub failures_most: Vec<ReportFailure>,
    /// Content that was fetched again although it had not changed.
    pub duplicates: ReportDuplicates,
}

/// Captures of one host or media type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportRow {
    /// The host (with its port if the URL has one), or the media type.
    #[schemars(example = &"example.com")]
    pub name: String,
    /// Number of captures.
    pub captures: u64,
    /// Bytes of their records.
    pub bytes: u64,
}

/// Captures with one status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportStatus {
    /// The status.
    #[schemars(example = &404)]
    pub status: u16,
    /// Number of captures.
    pub captures: u64,
    /// Bytes of their records.
    pub bytes: u64,
}

/// Captures of one month.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportMonth {
    /// Year and month.
    #[schemars(example = &"2014-01")]
    pub month: String,
    /// Number of captures.
    pub captures: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// URL keys whose first capture in the report is of this month.
    pub urls_new: u64,
}

/// Failed captures of one host with the same status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportFailure {
    /// The host.
    #[schemars(example = &"example.com")]
    pub host: String,
    /// The status, 400 or above.
    #[schemars(example = &404)]
    pub status: u16,
    /// Number of captures.
    pub captures: u64,
}

/// Content that was fetched again although it had not changed, by payload digest among the captures
/// of the report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportDuplicates {
    /// Number of revisits: captures recorded as unchanged.
    pub revisits: u64,
    /// Bytes of their records.
    pub revisit_bytes: u64,
    /// Bytes that the revisits saved. Each is assumed to be as long as the earliest capture with
    /// its digest. Revisits whose payload is not in the report are not counted.
    pub saved_bytes: u64,
    /// Number of captures whose payload an earlier capture also contains.
    pub repeated: u64,
    /// Bytes of their records: approximately what revisits would have saved instead.
    pub repeated_bytes: u64,
}
