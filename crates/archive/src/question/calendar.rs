//! How the captures of one URL lie in time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks on which days a URL was captured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Calendar {
    /// The URL, or its key.
    pub url: String,
    /// Digits of a time: the captures of its day are listed, and those next to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<String>,
}

/// On which days a URL was captured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarBody {
    /// Sort key of the URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// Captures that are counted: the newest 100,000 at most.
    pub captures: u64,
    /// Different payload digests among them.
    pub contents: u64,
    /// Whether there are older captures, which are not counted.
    pub is_cut: bool,
    /// Days with captures, oldest first.
    pub days: Vec<CalendarDay>,
    /// Captures of the day that was asked for, oldest first.
    pub times: Vec<CalendarTime>,
    /// The last capture before the time that was asked for.
    pub earlier: Option<CalendarTime>,
    /// The first capture after it.
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
    /// Captures with another content than the one before.
    pub changes: u64,
}

/// One capture in a calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarTime {
    /// Time of the capture (14 digits).
    #[schemars(example = &"20140126200624")]
    pub timestamp: String,
    /// The same (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// Whether it has another content than the capture before.
    pub is_changed: bool,
}
