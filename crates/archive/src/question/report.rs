//! What a crawl came to: captures and bytes by host, status, type and month, what failed, what was fetched twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts, types and failures in a report: those with most captures.
pub const REPORT_ROWS_MAX: usize = 100;

/// Asks for a report of all captures, or of some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Only captures of then or later: a date or its beginning.
    pub from: Option<String>,
    /// Only captures of then or earlier; a beginning stands for its end.
    pub to: Option<String>,
    /// Only captures of this collection.
    pub collection: Option<String>,
    /// Look at so many captures at most, in the order of URL keys; at all if absent.
    pub captures_max: Option<u64>,
}

/// A report. Bytes are those of records as they are stored, compressed or not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportBody {
    /// Captures that the report is of.
    pub captures: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// Different URL keys among them.
    pub urls: u64,
    /// Hosts among them; one with several ports counts once for each.
    pub hosts: u64,
    /// Different media types among them.
    pub mimes: u64,
    /// When the earliest was fetched (ISO 8601); absent if there is none.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time_first: Option<String>,
    /// When the latest was fetched (ISO 8601); absent if there is none.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time_last: Option<String>,
    /// Whether all captures were looked at, and not `captures_max` of them.
    pub complete: bool,
    /// The hosts with most captures, at most 100.
    pub by_host: Vec<ReportRow>,
    /// Every status, by its number; 0 is that of captures without one.
    pub by_status: Vec<ReportStatus>,
    /// The media types with most captures, at most 100; `warc/revisit` is that of revisits.
    pub by_mime: Vec<ReportRow>,
    /// Every month with captures, in their order.
    pub by_month: Vec<ReportMonth>,
    /// Captures with a status from 400 on.
    pub failures: u64,
    /// The most frequent of these, by host and status, at most 100.
    pub failures_most: Vec<ReportFailure>,
    /// What was fetched again although it had not changed.
    pub duplicates: ReportDuplicates,
}

/// Captures of something with a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportRow {
    /// The host (with its port if the URL has one), or the media type.
    #[schemars(example = &"example.com")]
    pub name: String,
    /// Captures of it.
    pub captures: u64,
    /// Bytes of their records.
    pub bytes: u64,
}

/// Captures with a status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportStatus {
    /// The status.
    #[schemars(example = &404)]
    pub status: u16,
    /// Captures with it.
    pub captures: u64,
    /// Bytes of their records.
    pub bytes: u64,
}

/// Captures of a month.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportMonth {
    /// Year and month.
    #[schemars(example = &"2014-01")]
    pub month: String,
    /// Captures of it.
    pub captures: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// URL keys whose first capture of the report is of this month.
    pub urls_new: u64,
}

/// Captures of a host that failed with the same status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportFailure {
    /// The host.
    #[schemars(example = &"example.com")]
    pub host: String,
    /// The status, from 400 on.
    #[schemars(example = &404)]
    pub status: u16,
    /// Captures of the host with it.
    pub captures: u64,
}

/// What was fetched again although it had not changed: by its payload digest, among the captures of the report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportDuplicates {
    /// Revisits: captures that were recorded as unchanged.
    pub revisits: u64,
    /// Bytes of their records.
    pub revisit_bytes: u64,
    /// How many bytes more their records would have had, each as long as that of the earliest capture with its digest. Revisits of what is not
    /// in the report count nothing.
    pub saved_bytes: u64,
    /// Captures that hold a payload which an earlier one holds, too.
    pub repeated: u64,
    /// Bytes of their records: what revisits in their place would have saved, nearly.
    pub repeated_bytes: u64,
}
