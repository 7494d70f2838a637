//! Counting: operations with their times, and the text that Prometheus reads.
//!
//! - [`Metric`] declares a metric once: its name with the unit, its kind, its help. [`Text`] writes its lines.
//! - [`Histogram`] counts times in buckets.
//! - [`Operations`] counts requests by operation; a [`RequestCount`] is what it has counted, as nodes tell each other.
//!   [`Counters`] knows the requests under way too.
//!
//! Counters never wait for each other and never fail: they are read for people, and no decision hangs on one.

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
