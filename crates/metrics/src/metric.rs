//! The declaration of a metric.

/// Name, kind and help of a metric. A test compares all metrics with the list in
/// docs/operations/metrics.md.
///
/// ```
/// use metrics::{Metric, Text};
///
/// const READS: Metric = Metric::counter("reads_total", "Reads, by disk.");
///
/// let mut text = Text::new();
/// let mut lines = text.begin(&READS);
/// lines.value(&[("disk", "a")], 7);
/// lines.value(&[("disk", "b")], 0);
/// assert_eq!(
///     text.into_string(),
///     "# HELP reads_total Reads, by disk.\n\
///      ## TYPE reads_total counter\n\
///      reads_total{disk=\"a\"} 7\n\
///      reads_total{disk=\"b\"} 0\n"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name with its unit, most significant word first. The name of a counter ends with `_total`.
    pub name: &'static str,
    /// How its values behave.
    pub kind: Kind,
    /// One sentence for people.
    pub help: &'static str,
}

/// How the values of a metric behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows while the process lives, so rates make sense.
    Counter,
    /// A current value.
    Gauge,
    /// Times in seconds. Each bucket includes all shorter times; the sum and the number of all
    /// times follow.
    Histogram,
}

impl Metric {
    /// Declares a number that only grows.
    pub const fn counter(name: &'static str, help: &'static str) -> Metric {
        let kind = Kind::Counter;
        Metric { name, kind, help }
    }

    /// Declares a number that goes up and down.
    pub const fn gauge(name: &'static str, help: &'static str) -> Metric {
        let kind = Kind::Gauge;
        Metric { name, kind, help }
    }

    /// Declares a histogram of times.
    pub const fn histogram(name: &'static str, help: &'static str) -> Metric {
        let kind = Kind::Histogram;
        Metric { name, kind, help }
    }
}

impl Kind {
    /// Returns the name used by Prometheus.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}
