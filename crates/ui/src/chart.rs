//! Small charts, drawn as SVG. They stretch to fit, so text is outside of them, and colours come
//! from the styles.

use std::time::Duration;

use maud::{Markup, html};

use crate::text::{clean, cut};

/// Width and height of the drawing in its own units. The page stretches it.
pub(crate) const WIDTH: f64 = 600.0;
pub(crate) const HEIGHT: f64 = 80.0;

/// How the end of an axis is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// The end is 1, 2 or 5 times a power of ten.
    Decimal,
    /// For bytes: the end is a power of two, or halfway to the next one.
    Binary,
}

/// Draws `drawing` in its axes. The vertical axis goes from 0 to `top`, and `ends` are texts along
/// the horizontal one. `label` describes the drawing.
pub(crate) fn plot(
    label: &str,
    top: f64,
    shown: impl Fn(f64) -> String,
    drawing: &Markup,
    ends: &[String],
) -> Markup {
    html! {
        div.plot {
            div.y-axis aria-hidden="true" { span { (shown(top)) } span { (shown(top / 2.0)) } span { "0" } }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(clean(label)) {
                @for share in [0.0, 0.5] { line.grid x1="0" x2=(WIDTH) y1=(share * HEIGHT + 0.5) y2=(share * HEIGHT + 0.5) {} }
                line.base x1="0" x2=(WIDTH) y1=(HEIGHT - 0.5) y2=(HEIGHT - 0.5) {}
                (drawing)
            }
            @if !ends.is_empty() { div.x-axis aria-hidden="true" { @for end in ends { span { (clean(end)) } } } }
        }
    }
}

/// Draws a line over time with its axes: values from 0 up, and their age. `every` is the time
/// between two values. The last value is the current one.
pub fn line(
    name: &str,
    values: &[f64],
    every: Duration,
    scale: Scale,
    shown: impl Fn(f64) -> String,
) -> Markup {
    let now = values.last().copied().unwrap_or(0.0);
    let highest = values.iter().copied().fold(0.0, f64::max);
    let top = scale.end(highest);
    let (line, area) = paths(values, top);
    let span = every.as_secs_f64() * values.len().saturating_sub(1) as f64;
    let label = format!(
        "{name}: {} now, at most {} in the last {}",
        shown(now),
        shown(highest),
        ago(span)
    );
    let drawing = html! {
        line.grid x1=(WIDTH / 2.0) x2=(WIDTH / 2.0) y1="0" y2=(HEIGHT) {}
        @if values.len() > 1 { path.area d=(area) {} path.line d=(line) {} }
    };
    let ends = if span > 0.0 {
        vec![format!("{} ago", ago(span)), ago(span / 2.0), "now".to_owned()]
    } else {
        Vec::new()
    };
    html! {
        figure.chart {
            figcaption { span.name { (name) } strong { (shown(now)) } }
            (plot(&label, top, shown, &drawing, &ends))
        }
    }
}

/// A value and its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Name of the value.
    pub name: String,
    /// The value, 0 or more.
    pub value: f64,
}

/// Draws horizontal bars below each other, each with its name.
pub fn bars(name: &str, bars: &[Bar]) -> Markup {
    let top = highest(bars);
    html! {
        figure.chart.bars {
            figcaption { span.name { (clean(name)) } }
            ul.lines.measured {
                @for bar in bars {
                    li {
                        span { (clean(cut(&bar.name, NAME_CHARS_MAX).0)) }
                        span.amount { (number(bar.value)) }
                        meter value=(bar.value) max=(top) {}
                    }
                }
            }
        }
    }
}

/// Draws values over time as columns, in this order from left to right.
pub fn columns(name: &str, bars: &[Bar]) -> Markup {
    let top = Scale::Decimal.end(highest(bars));
    let width = WIDTH / bars.len().max(1) as f64;
    let height = |bar: &Bar| bar.value / top * (HEIGHT - 1.0);
    let drawing = html! {
        @for (place, bar) in bars.iter().enumerate() {
            rect.column x=(format!("{:.2}", place as f64 * width + width * 0.1)) width=(format!("{:.2}", width * 0.8))
                y=(format!("{:.2}", HEIGHT - 0.5 - height(bar))) height=(format!("{:.2}", height(bar))) {
                title { (clean(&bar.name)) ": " (number(bar.value)) }
            }
        }
    };
    let ends = match bars {
        [first, .., last] => vec![first.name.clone(), last.name.clone()],
        _ => Vec::new(),
    };
    html! {
        figure.chart {
            figcaption { span.name { (clean(name)) } }
            (plot(name, top, number, &drawing, &ends))
        }
    }
}

/// A value and its day.
#[derive(Debug, Clone, PartialEq)]
pub struct DayValue {
    /// Number of the day, relative to any first day.
    pub day: u32,
    /// The day for readers.
    pub name: String,
    /// The value, 0 or more.
    pub value: f64,
}

/// Draws a line over days. Days may be missing: horizontal distances are proportional to time.
pub fn days(name: &str, values: &[DayValue], scale: Scale, shown: impl Fn(f64) -> String) -> Markup {
    let now = values.last().map_or(0.0, |last| last.value);
    let top = scale.end(values.iter().map(|value| value.value).fold(0.0, f64::max));
    let (line, area) = day_paths(values, top);
    let (span, ends) = match values {
        [first, .., last] => (
            format!("from {} to {}", first.name, last.name),
            vec![first.name.clone(), last.name.clone()],
        ),
        [only] => (format!("on {}", only.name), vec![only.name.clone()]),
        [] => ("no days".to_owned(), Vec::new()),
    };
    let label = format!("{name}: {} at the end, {span}", shown(now));
    let drawing = html! { @if !values.is_empty() { path.area d=(area) {} path.line d=(line) {} } };
    html! {
        figure.chart {
            figcaption { span.name { (clean(name)) } strong { (shown(now)) } }
            (plot(&label, top, shown, &drawing, &ends))
        }
    }
}

fn day_paths(values: &[DayValue], top: f64) -> (String, String) {
    let first = values.first().map_or(0, |value| value.day);
    let days = values.last().map_or(0, |value| value.day.saturating_sub(first));
    let scale = (HEIGHT - 1.0) / top;
    let y = |value: &DayValue| HEIGHT - 1.0 - value.value * scale;
    let mut points: Vec<String> = values
        .iter()
        .map(|value| {
            let x = f64::from(value.day.saturating_sub(first)) / f64::from(days.max(1)) * WIDTH;
            format!("{x:.1} {:.1}", y(value))
        })
        .collect();
    // A single value is drawn as a level line.
    if let [only] = values {
        points.push(format!("{WIDTH:.1} {:.1}", y(only)));
    }
    let line = format!("M{}", points.join("L"));
    let area = format!("{line}L{WIDTH} {HEIGHT}L0 {HEIGHT}Z");
    (line, area)
}

/// Draws a bar for a cell of a table that contains the value. Its length is the share of `most`.
pub fn bar(value: u64, most: u64) -> Markup {
    let share = value as f64 / most.max(1) as f64 * 100.0;
    // Any value above 0 is visible.
    let width = if value > 0 { share.max(0.6) } else { 0.0 };
    html! {
        svg.bar-in-cell viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            rect.ground width="100" height="4" {}
            rect.column width=(format!("{width:.1}")) height="4" {}
        }
    }
}

/// Maximum length of a bar's name, in characters.
const NAME_CHARS_MAX: usize = 80;

fn highest(bars: &[Bar]) -> f64 {
    let highest = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    if highest > 0.0 { highest } else { 1.0 }
}

/// Formats integers in groups of three digits, and others with as many decimals as they need, at
/// most three.
pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value < 1e15 {
        return format::number::count(value as u64);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn ago(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

impl Scale {
    /// Returns the end of an axis that includes `highest`, or 1 if no value is above 0.
    pub(crate) fn end(self, highest: f64) -> f64 {
        let (base, steps): (f64, &[f64]) = match self {
            Scale::Decimal => (10.0, &[1.0, 2.0, 5.0, 10.0]),
            Scale::Binary => (2.0, &[1.0, 1.5, 2.0]),
        };
        if highest <= 0.0 || !highest.is_finite() {
            return 1.0;
        }
        let power = base.powf(highest.log(base).floor());
        let step = steps.iter().find(|step| **step * power >= highest);
        step.unwrap_or(&base) * power
    }
}

/// Returns the paths of the line and of the area below it. The newest value is at the right edge.
fn paths(values: &[f64], top: f64) -> (String, String) {
    let step = WIDTH / (values.len().max(2) - 1) as f64;
    let scale = (HEIGHT - 1.0) / top;
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(i, value)| format!("{:.1} {:.1}", i as f64 * step, HEIGHT - 1.0 - value * scale))
        .collect();
    let line = format!("M{}", points.join("L"));
    let area = format!("{line}L{WIDTH} {HEIGHT}L0 {HEIGHT}Z");
    (line, area)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_within_their_place() {
        let (line, _) = paths(&[0.0, 5.0, 10.0], 10.0);
        assert_eq!(line, "M0.0 79.0L300.0 39.5L600.0 0.0");
        assert_eq!(paths(&[0.0, 0.0], 1.0).0, "M0.0 79.0L600.0 79.0");
    }

    #[test]
    fn days_are_as_far_apart_as_in_time() {
        let value = |day, value| DayValue {
            day,
            name: format!("day {day}"),
            value,
        };
        let (line, _) = day_paths(&[value(10, 0.0), value(11, 5.0), value(14, 10.0)], 10.0);
        assert_eq!(line, "M0.0 79.0L150.0 39.5L600.0 0.0");
        assert_eq!(day_paths(&[value(10, 1.0)], 1.0).0, "M0.0 0.0L600.0 0.0");
        let drawn = days("size", &[value(3, 2.0)], Scale::Decimal, format::number::rate).into_string();
        assert!(drawn.contains("size: 2.0 at the end, on day 3"), "{drawn}");
    }

    #[test]
    fn axes_end_at_round_values() {
        let decimal = [0.0, 0.3, 1.0, 27.0, 5.1, 999.0].map(|value| Scale::Decimal.end(value));
        assert_eq!(
            decimal.map(|end| format!("{end:.1}")),
            ["1.0", "0.5", "1.0", "50.0", "10.0", "1000.0"]
        );
        let mib = f64::from(1 << 20);
        let binary = [100.0, 121.0, 130.0].map(|value| Scale::Binary.end(value * mib) / mib);
        assert_eq!(binary, [128.0, 128.0, 192.0]);
    }

    #[test]
    fn axes_say_values_and_times() {
        let chart = line(
            "Pages",
            &[0.0, 30.0, 10.0],
            Duration::from_secs(60),
            Scale::Decimal,
            format::number::rate,
        );
        let html = chart.into_string();
        for part in ["<span>50</span><span>25</span><span>0</span>", "2 min ago", "now"] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn bars_stay_within_their_place_and_are_named() {
        let bar = |name: &str, value| Bar {
            name: name.to_owned(),
            value,
        };
        let drawn = columns("captures by month", &[bar("2014-01", 0.0), bar("2014-02", 40.0)]).into_string();
        assert!(
            drawn.contains("<span>50</span><span>25</span><span>0</span>"),
            "{drawn}"
        );
        assert!(drawn.contains(r#"y="16.30" height="63.20""#), "{drawn}");
        let drawn = bars("n by tld", &[bar("<org>", 1500.0), bar("com", 0.25)]).into_string();
        for part in ["&lt;org&gt;", ">1,500<", ">0.25<", r#"max="1500""#] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
    }
}
