//! Several lines over the same years, for comparison.

use maud::{Markup, html};

use crate::chart::{HEIGHT, Scale, WIDTH, number, plot};
use crate::text::{clean, cut};

/// Maximum number of lines, which styles distinguish by colour and by dashes.
pub const SERIES_MAX: usize = 5;

/// Width of a value between gaps.
const DOT: f64 = 16.0;

/// Maximum length of a name in the legend, in characters.
const NAME_CHARS_MAX: usize = 60;

/// Values of successive years.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the values.
    pub name: String,
    /// One value for each year, 0 or more. `None` is drawn as a gap.
    pub values: Vec<Option<f64>>,
    /// Values of other years that say little: drawn as single dashes, without a line between them.
    pub uncertain: Vec<Option<f64>>,
}

/// Draws lines over the years from `first` on, at most [`SERIES_MAX`], with a legend. The drawing
/// shows no numbers; the page has them in a table.
pub fn years(name: &str, first: u64, series: &[Series]) -> Markup {
    let highest = series
        .iter()
        .flat_map(|one| one.values.iter().chain(&one.uncertain))
        .flatten()
        .copied()
        .fold(0.0, f64::max);
    let top = Scale::Decimal.end(highest);
    let count = series.iter().map(|one| one.values.len()).max().unwrap_or(0);
    let last = first + count.saturating_sub(1) as u64;
    let drawing = html! {
        @for (number, one) in series.iter().take(SERIES_MAX).enumerate() {
            path class=(format!("line series-{number}")) d=(path(&one.values, top)) { title { (clean(&one.name)) } }
            path class=(format!("line uncertain series-{number}")) d=(dashes(&one.uncertain, top)) { title { (clean(&one.name)) } }
        }
    };
    let mut ends = vec![first.to_string(), last.to_string()];
    // A single year is named once.
    ends.dedup();
    html! {
        figure.chart.series {
            figcaption { span.name { (clean(name)) } }
            (plot(&format!("{name}, {first} to {last}"), top, number, &drawing, &ends))
            ul.legend {
                @for (number, one) in series.iter().take(SERIES_MAX).enumerate() {
                    li {
                        svg viewBox="0 0 24 4" aria-hidden="true" focusable="false" { path class=(format!("line series-{number}")) d="M0 2L24 2" {} }
                        bdi { (clean(cut(&one.name, NAME_CHARS_MAX).0)) }
                    }
                }
            }
        }
    }
}

/// Returns the path of values that are each drawn as a short level line.
fn dashes(values: &[Option<f64>], top: f64) -> String {
    let mut path = String::new();
    for (place, value) in values.iter().enumerate() {
        if let Some(value) = value {
            path.push_str(&dash(place, values.len(), *value, top));
        }
    }
    path
}

fn dash(place: usize, count: usize, value: f64, top: f64) -> String {
    let step = WIDTH / count.saturating_sub(1).max(1) as f64;
    let from = (place as f64 * step - DOT / 2.0).clamp(0.0, WIDTH - DOT);
    format!("M{from:.1} {:.1}h{DOT}", height(value, top))
}

/// Returns the vertical place of a value.
fn height(value: f64, top: f64) -> f64 {
    HEIGHT - 1.0 - value / top * (HEIGHT - 1.0)
}

/// Returns the path of a line. A value between gaps is a short level line.
fn path(values: &[Option<f64>], top: f64) -> String {
    let step = WIDTH / values.len().saturating_sub(1).max(1) as f64;
    let mut path = String::new();
    let mut place = 0;
    for run in values.split(Option::is_none) {
        if let [Some(only)] = run {
            path.push_str(&dash(place, values.len(), *only, top));
        } else {
            for (number, value) in run.iter().flatten().enumerate() {
                let command = if number == 0 { 'M' } else { 'L' };
                path.push_str(&format!(
                    "{command}{:.1} {:.1}",
                    (place + number) as f64 * step,
                    height(*value, top)
                ));
            }
        }
        // The gap counts as one more value.
        place += run.len() + 1;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_from_edge_to_edge_with_gaps() {
        let values = [Some(0.0), Some(10.0), Some(5.0)];
        assert_eq!(path(&values, 10.0), "M0.0 79.0L300.0 0.0L600.0 39.5");
        assert_eq!(path(&[Some(10.0)], 10.0), "M0.0 0.0h16");
        let values = [Some(10.0), None, None, Some(0.0), Some(10.0)];
        assert_eq!(path(&values, 10.0), "M0.0 0.0h16M450.0 79.0L600.0 0.0");
        assert_eq!(path(&[None], 1.0), "");
    }

    #[test]
    fn uncertain_values_are_not_joined() {
        let values = [Some(10.0), Some(0.0), None];
        assert_eq!(dashes(&values, 10.0), "M0.0 0.0h16M292.0 79.0h16");
    }

    #[test]
    fn names_are_text() {
        let one = Series {
            name: "<b>".into(),
            values: vec![Some(1.0), Some(2.0)],
            uncertain: Vec::new(),
        };
        let drawn = years("A & B", 2010, &[one]).into_string();
        assert!(drawn.contains("&lt;b&gt;") && !drawn.contains("<b>"), "{drawn}");
        assert!(drawn.contains("A &amp; B, 2010 to 2011"), "{drawn}");
    }
}
