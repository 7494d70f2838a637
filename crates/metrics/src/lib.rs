//! Counters for operations and their durations, and the Prometheus text format.
//!
//! - [`Metric`] declares a metric once: its name with the unit, its kind, its help. A
//!   [`Measure`] also says how its value is read. [`Text`] writes their lines.
//! - [`Histogram`] counts times in buckets.
//! - [`Operations`] counts requests by operation. A [`RequestCount`] is a snapshot of one
//!   operation; nodes send it to each other. [`Counters`] also counts the requests in progress.
//!
//! Counting never fails and never waits, except at an operation's first request. Only people read
//! the counts. The one decision that depends on a number is that background workers yield while
//! requests are in progress.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod counters;
mod histogram;
mod measure;
mod metric;
mod operations;
mod request_count;
mod text;

pub use counters::{Counters, InFlight, TrackedRequest};
pub use histogram::Histogram;
pub use measure::{Measure, Value};
pub use metric::{Kind, Metric};
pub use operations::{Operation, Operations};
pub use request_count::{LATENCY_MICROS, RequestCount};
pub use text::{Lines, Text};
