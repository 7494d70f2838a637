//! Metrics as tables: a row declares a metric and says how its value is read.

use std::fmt;

use crate::Metric;

/// A metric, and how its value is read from a `T`. [`crate::Text::table`] writes a list of them, so
/// that a new metric is one row of the list.
#[derive(Debug)]
pub struct Measure<T> {
    /// The declaration.
    pub metric: Metric,
    /// Returns the current value.
    pub value: fn(&T) -> Value,
}

/// The value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(u64),
    /// A fraction, such as a share or a time in seconds.
    Float(f64),
}

impl<T> Measure<T> {
    /// Declares a number that only grows.
    pub const fn counter(name: &'static str, help: &'static str, value: fn(&T) -> Value) -> Measure<T> {
        let metric = Metric::counter(name, help);
        Measure { metric, value }
    }

    /// Declares a number that goes up and down.
    pub const fn gauge(name: &'static str, help: &'static str, value: fn(&T) -> Value) -> Measure<T> {
        let metric = Metric::gauge(name, help);
        Measure { metric, value }
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Integer(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        Value::Integer(value as u64)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(value)
    }
}

/// 1 for true, 0 for false.
impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Integer(u64::from(value))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
        }
    }
}
