//! Counters for operations and their times, and the text format that Prometheus reads.
//!
//! - [`Metric`] declares a metric once: its name with the unit, its kind, its help. [`Text`] writes its lines.
//! - [`Histogram`] counts times in buckets.
//! - [`Operations`] counts requests by operation. A [`RequestCount`] holds what it has counted; nodes send it
//!   to each other. [`Counters`] also knows the requests under way.
//!
//! Counting never fails and never waits, except at an operation's first request. Only people read the
//! numbers; no decision depends on them.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod counters;
mod histogram;
mod metric;
mod operations;
mod request_count;
mod text;

pub use counters::{Counted, Counters, InFlight};
pub use histogram::Histogram;
pub use metric::{Kind, Metric};
pub use operations::{Operation, Operations};
pub use request_count::{LATENCY_MICROS, RequestCount};
pub use text::{Lines, Text};
