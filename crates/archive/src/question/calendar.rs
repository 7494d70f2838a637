//! The captures of one URL by day.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks on which days a URL was captured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Calendar {
    /// The URL, or its key.
    pub url: String,
    /// A time (digits). The captures of its day are listed, with the nearest ones before and after
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<String>,
}

/// The days on which a URL was captured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarBody {
    /// Sort key of the URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// Number of captures counted: at most the newest 100,000.
    pub captures: u64,
    /// Number of different payload digests among them.
    pub contents: u64,
    /// Whether there are older captures, which are not counted.
    pub is_cut: bool,
    /// Days with captures, oldest first.
    pub days: Vec<CalendarDay>,
    /// Captures of the day asked for, oldest first.
    pub times: Vec<CalendarTime>,
    /// The last capture before the time asked for.
    pub earlier: Option<CalendarTime>,
    /// The first capture after the time asked for.
    pub later: Option<CalendarTime>,
}

/// The captures of one day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarDay {
    /// Time of its first capture (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub first: String,
    /// Time of its last capture (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub last: String,
    /// Number of captures.
    pub captures: u64,
    /// Number of captures whose content differs from the one before.
    pub changes: u64,
}

/// One capture in a calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarTime {
    /// Time of the capture (14 digits).
    #[schemars(example = &"20140126200624")]
    pub timestamp: String,
    /// Time of the capture (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// Whether its content differs from that of the capture before.
    pub is_changed: bool,
}
