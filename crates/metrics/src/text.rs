//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};

use crate::{Histogram, Kind, Measure, Metric};

/// Names and values of the labels of one line, in the order in which they are written.
type Labels<'a> = &'a [(&'a str, &'a str)];

/// A text that is being written.
///
/// ```
/// use metrics::{Measure, Metric, Text};
///
/// const UP: Metric = Metric::gauge("up", "Whether the server runs.");
///
/// struct Disk {
///     path: &'static str,
///     free_bytes: u64,
/// }
/// const DISKS: &[Measure<Disk>] = &[Measure::gauge(
///     "disk_free_bytes",
///     "Free bytes of a disk.",
///     |disk| disk.free_bytes.into(),
/// )];
///
/// let mut text = Text::new();
/// text.one(&UP, 1);
/// let disk = Disk { path: "/a", free_bytes: 5 };
/// text.table(DISKS, &[([("path", disk.path)], &disk)]);
/// assert_eq!(
///     text.into_string(),
///     "# HELP up Whether the server runs.\n\
///      ## TYPE up gauge\n\
///      up 1\n\
///      ## HELP disk_free_bytes Free bytes of a disk.\n\
///      ## TYPE disk_free_bytes gauge\n\
///      disk_free_bytes{path=\"/a\"} 5\n"
/// );
/// ```
#[derive(Debug, Default)]
pub struct Text(String);

/// Writes the lines of one metric. Each metric must begin only once: Prometheus refuses a text that
/// declares one twice.
pub struct Lines<'a> {
    text: &'a mut String,
    metric: &'a Metric,
}

impl Text {
    /// Value of `Content-Type` for the text.
    pub const MEDIA_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Creates an empty text.
    pub fn new() -> Text {
        Text(String::with_capacity(8192))
    }

    /// Declares a metric; its values follow.
    pub fn begin<'a>(&'a mut self, metric: &'a Metric) -> Lines<'a> {
        let Metric { name, kind, help } = metric;
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
        Lines {
            text: &mut self.0,
            metric,
        }
    }

    /// Writes a metric that has one value and no labels.
    pub fn one(&mut self, metric: &Metric, value: impl Display) {
        self.begin(metric).value(&[], value);
    }

    /// Writes metrics that each have one value for every row, with the labels of that row.
    pub fn table<'l, T, L>(&mut self, measures: &[Measure<T>], rows: &[(L, &T)])
    where
        L: AsRef<[(&'l str, &'l str)]>,
    {
        // All lines of one metric must follow its declaration without interruption. So the outer
        // loop is over metrics, and the inner one over rows.
        for Measure { metric, value } in measures {
            let mut lines = self.begin(metric);
            for (labels, row) in rows {
                lines.value(labels.as_ref(), value(row));
            }
        }
    }

    /// Writes metrics that each have one value and no labels.
    pub fn single<T>(&mut self, measures: &[Measure<T>], row: &T) {
        for Measure { metric, value } in measures {
            self.one(metric, value(row));
        }
    }

    /// Returns the whole text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Lines<'_> {
    /// Writes one value.
    pub fn value(&mut self, labels: Labels<'_>, value: impl Display) {
        debug_assert!(self.metric.kind != Kind::Histogram, "{}", self.metric.name);
        write_line(self.text, self.metric.name, "", labels, None, value);
    }

    /// Writes the lines of a histogram.
    pub fn times(&mut self, labels: Labels<'_>, times: &Histogram) {
        self.buckets(labels, times.bounds_us(), &times.counts(), times.sum_us());
    }

    /// Writes the lines of a histogram that was counted elsewhere: `counts` has the count of each
    /// bucket, not cumulative. The last one is for times beyond all `bounds_us`, and `sum_us` is
    /// their sum in microseconds.
    pub fn buckets(&mut self, labels: Labels<'_>, bounds_us: &[u64], counts: &[u64], sum_us: u64) {
        let Metric { name, kind, .. } = *self.metric;
        debug_assert!(kind == Kind::Histogram, "{name}");
        // In this format buckets are cumulative, unlike `counts`.
        let mut within = 0;
        for (bound_us, count) in bounds_us.iter().zip(counts) {
            within += count;
            let bound = (*bound_us as f64 / 1e6).to_string();
            write_line(self.text, name, "_bucket", labels, Some(&bound), within);
        }
        let all: u64 = counts.iter().sum();
        write_line(self.text, name, "_bucket", labels, Some("+Inf"), all);
        write_line(self.text, name, "_sum", labels, None, sum_us as f64 / 1e6);
        write_line(self.text, name, "_count", labels, None, all);
    }
}

fn write_line(
    text: &mut String,
    name: &str,
    part: &str,
    labels: Labels<'_>,
    bound: Option<&str>,
    value: impl Display,
) {
    text.push_str(name);
    text.push_str(part);
    let bound = bound.map(|bound| ("le", bound));
    let mut opening = '{';
    for (label, of_label) in labels.iter().copied().chain(bound) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{opening}{label}=\"{}\"", escape(of_label));
        opening = ',';
    }
    let closing = if opening == ',' { "}" } else { "" };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{closing} {value}");
}

/// Escapes a label's value, which could otherwise end its quotes or its line.
fn escape(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_times_are_lines_below_one_head() {
        let up = Metric::gauge("up", "Whether it is.");
        let seconds = Metric::histogram("answer_seconds", "Time to the answer.");
        let mut text = Text::new();
        text.one(&up, 1);
        let mut lines = text.begin(&seconds);
        lines.buckets(&[("of", "a")], &[1_000, 30_000_000], &[2, 1, 4], 1_500_000);
        lines.buckets(&[], &[1_000], &[], 0);
        let expected = "# HELP up Whether it is.
# TYPE up gauge
up 1
# HELP answer_seconds Time to the answer.
# TYPE answer_seconds histogram
answer_seconds_bucket{of=\"a\",le=\"0.001\"} 2
answer_seconds_bucket{of=\"a\",le=\"30\"} 3
answer_seconds_bucket{of=\"a\",le=\"+Inf\"} 7
answer_seconds_sum{of=\"a\"} 1.5
answer_seconds_count{of=\"a\"} 7
answer_seconds_bucket{le=\"+Inf\"} 0
answer_seconds_sum 0
answer_seconds_count 0
";
        assert_eq!(text.into_string(), expected);
    }

    #[test]
    fn labels_cannot_break_out() {
        let mut text = Text::new();
        text.begin(&Metric::counter("a_total", "All."))
            .value(&[("of", "a\"b\\c\nd"), ("and", "")], 1);
        let text = text.into_string();
        assert!(
            text.ends_with("a_total{of=\"a\\\"b\\\\c\\nd\",and=\"\"} 1\n"),
            "{text}"
        );
    }
}
