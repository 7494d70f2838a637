//! The text that Prometheus reads (its text format, version 0.0.4).

use std::fmt::{Display, Write};

use crate::{Histogram, Kind, Metric};

/// Labels of one line: names and values, in the order in which they are written.
type Labels<'a> = &'a [(&'a str, &'a str)];

/// The text under way.
#[derive(Debug, Default)]
pub struct Text(String);

/// The lines of one metric. Every metric begins once: Prometheus refuses a text that declares one twice.
pub struct Lines<'a> {
    text: &'a mut String,
    metric: &'a Metric,
}

impl Text {
    /// The type of its content in HTTP.
    pub const MEDIA_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Nothing yet.
    pub fn new() -> Text {
        Text(String::with_capacity(8192))
    }

    /// Begins a metric.
    pub fn begin<'a>(&'a mut self, metric: &'a Metric) -> Lines<'a> {
        let Metric { name, kind, help } = metric;
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
        Lines {
            text: &mut self.0,
            metric,
        }
    }

    /// A metric of one value without labels.
    pub fn one(&mut self, metric: &Metric, value: impl Display) {
        self.begin(metric).value(&[], value);
    }

    /// All that was written.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Lines<'_> {
    /// One value.
    pub fn value(&mut self, labels: Labels<'_>, value: impl Display) {
        debug_assert!(self.metric.kind != Kind::Histogram, "{}", self.metric.name);
        write_line(self.text, self.metric.name, "", labels, None, value);
    }

    /// The times of a histogram.
    pub fn times(&mut self, labels: Labels<'_>, times: &Histogram) {
        self.buckets(labels, times.bounds_us(), &times.counts(), times.sum_us());
    }

    /// Times counted elsewhere: `counts` of each bucket alone, the last beyond all `bounds_us`; their sum in
    /// microseconds.
    pub fn buckets(&mut self, labels: Labels<'_>, bounds_us: &[u64], counts: &[u64], sum_us: u64) {
        let Metric { name, kind, .. } = *self.metric;
        debug_assert!(kind == Kind::Histogram, "{name}");
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
        let _ = write!(text, "{opening}{label}=\"{}\"", escape(of_label));
        opening = ',';
    }
    let closing = if opening == ',' { "}" } else { "" };
    let _ = writeln!(text, "{closing} {value}");
}

/// A label's value, which could end its quotes or its line.
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
