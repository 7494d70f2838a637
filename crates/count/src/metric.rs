//! The one declaration of a metric.

/// A metric: what it is called, what it is, what it says. docs/operations.md lists all; a test compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name with its unit, most significant word first; a counter's ends with `_total`.
    pub name: &'static str,
    /// What may be done with its values.
    pub kind: Kind,
    /// One sentence.
    pub help: &'static str,
}

/// What may be done with a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the process lives: rates make sense.
    Counter,
    /// A state of this moment.
    Gauge,
    /// Times in seconds by buckets, each with all that are shorter, with their sum and number.
    Histogram,
}

impl Metric {
    /// A number that only grows.
    pub const fn counter(name: &'static str, help: &'static str) -> Metric {
        let kind = Kind::Counter;
        Metric { name, kind, help }
    }

    /// A number that goes up and down.
    pub const fn gauge(name: &'static str, help: &'static str) -> Metric {
        let kind = Kind::Gauge;
        Metric { name, kind, help }
    }

    /// Times in buckets.
    pub const fn histogram(name: &'static str, help: &'static str) -> Metric {
        let kind = Kind::Histogram;
        Metric { name, kind, help }
    }
}

impl Kind {
    /// In Prometheus' words.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}
