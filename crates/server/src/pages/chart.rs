//! Small charts as SVG, drawn here. They stretch with their place, so words stand beside them, not in them,
//! and colours come from the styles.

use archive::question::CdxRow;
use maud::{Markup, html};

use crate::present::{self, Moment};

/// Width and height of the drawing in its own units; the place it stands in stretches it.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 80.0;
/// Bars of a timeline.
const BARS: usize = 60;

/// Captures over time as bars, with the first and last day below. Nothing for fewer than two.
pub(super) fn timeline(captures: &[CdxRow]) -> Markup {
    let mut moments: Vec<(Moment, bool)> = captures
        .iter()
        .filter_map(|row| Some((Moment::parse(&row.fetch_time)?, row.status >= 400)))
        .collect();
    moments.sort_by_key(|(moment, _)| moment.seconds());
    let (Some((first, _)), Some((last, _)), true) = (moments.first(), moments.last(), moments.len() > 1)
    else {
        return html! {};
    };
    let bars = bars(&moments);
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(1);
    let label = format!(
        "{} between {} and {}",
        present::counted(moments.len() as u64, "capture", "captures"),
        first.date(),
        last.date()
    );
    html! {
        figure.timeline {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(label) {
                line.base x1="0" x2=(WIDTH) y1=(HEIGHT - 0.5) y2=(HEIGHT - 0.5) {}
                @for (i, bar) in bars.iter().enumerate() { @if bar.count > 0 { (bar_rect(i, bar, most)) } }
            }
            figcaption { span { (first.date()) } span.soft { (label_between(first, last)) } span { (last.date()) } }
        }
    }
}

#[derive(Clone, Default)]
struct Bar {
    count: usize,
    refused: usize,
    days: String,
}

fn bars(moments: &[(Moment, bool)]) -> Vec<Bar> {
    let first = moments[0].0.seconds();
    let span = (moments[moments.len() - 1].0.seconds() - first).max(1);
    let mut bars = vec![Bar::default(); BARS];
    for (moment, refused) in moments {
        let place = (moment.seconds() - first) as f64 / span as f64 * (BARS - 1) as f64;
        let bar = &mut bars[(place.round() as usize).min(BARS - 1)];
        if bar.count == 0 {
            bar.days = moment.date_and_time();
        }
        bar.count += 1;
        bar.refused += usize::from(*refused);
    }
    bars
}

fn bar_rect(i: usize, bar: &Bar, most: usize) -> Markup {
    let step = WIDTH / BARS as f64;
    let height = (bar.count as f64 / most as f64 * (HEIGHT - 8.0)).max(6.0);
    html! {
        rect class=[(bar.refused == bar.count).then_some("refused")] x=(i as f64 * step + 1.0) y=(HEIGHT - height) width=(step - 2.0) height=(height) {
            title { (bar.days) ": " (present::counted(bar.count as u64, "capture", "captures")) }
        }
    }
}

fn label_between(first: &Moment, last: &Moment) -> String {
    let days = (last.seconds() - first.seconds()) / 86_400;
    match days {
        0 => "within a day".to_owned(),
        1..60 => format!("{} days", days + 1),
        60..730 => format!("{} months", days / 30),
        _ => format!("{} years", present::count(days as u64 / 365)),
    }
}

/// A line over time with what it stands at and its highest value.
pub(super) fn line(name: &str, values: &[f64], shown: impl Fn(f64) -> String) -> Markup {
    let now = values.last().copied().unwrap_or(0.0);
    let highest = values.iter().copied().fold(0.0, f64::max);
    let (line, area) = paths(values, highest);
    html! {
        figure.chart {
            figcaption { span.name { (name) } strong { (shown(now)) } }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
                aria-label=(format!("{name}: {} now, {} at most", shown(now), shown(highest))) {
                line.base x1="0" x2=(WIDTH) y1=(HEIGHT - 0.5) y2=(HEIGHT - 0.5) {}
                @if values.len() > 1 { path.area d=(area) {} path.line d=(line) {} }
            }
            p.soft { "Highest shown: " (shown(highest)) }
        }
    }
}

/// The path of the line, and of the area below it. The newest value is at the right edge.
fn paths(values: &[f64], highest: f64) -> (String, String) {
    let step = WIDTH / (values.len().max(2) - 1) as f64;
    let scale = if highest > 0.0 {
        (HEIGHT - 6.0) / highest
    } else {
        0.0
    };
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

    fn capture(time: &str, status: u16) -> CdxRow {
        CdxRow {
            fetch_time: time.into(),
            status,
            ..CdxRow::default()
        }
    }

    #[test]
    fn one_capture_needs_no_timeline_and_odd_times_are_left_out() {
        assert_eq!(timeline(&[]).into_string(), "");
        assert_eq!(
            timeline(&[capture("20140126", 200), capture("soon", 200)]).into_string(),
            ""
        );
    }

    #[test]
    fn bars_stand_at_their_times() {
        let rows = [
            capture("20100101", 404),
            capture("20120101", 200),
            capture("20140101", 200),
            capture("20140101", 200),
        ];
        let svg = timeline(&rows).into_string();
        assert_eq!(svg.matches("<rect").count(), 3, "{svg}");
        assert_eq!(svg.matches("class=\"refused\"").count(), 1);
        assert!(
            svg.contains("4 captures between 1 January 2010 and 1 January 2014"),
            "{svg}"
        );
    }

    #[test]
    fn lines_stay_within_their_place() {
        let (line, _) = paths(&[0.0, 5.0, 10.0], 10.0);
        assert_eq!(line, "M0.0 79.0L300.0 42.0L600.0 5.0");
        assert_eq!(paths(&[0.0, 0.0], 0.0).0, "M0.0 79.0L600.0 79.0");
    }
}
