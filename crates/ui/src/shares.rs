//! Shares over the years, such as 2 of 5, as columns with their figures as text.
//!
//! A share of few looks like a certainty if only its column is shown: 1 of 2 is as high as 500 of
//! 1,000. So columns of few are drawn as outlines, and the figures are next to the drawing.

use maud::{Markup, html};

use crate::chart::{HEIGHT, Scale, WIDTH, number, plot};
use crate::text::clean;

/// A share of fewer than this many is drawn as an outline.
pub const FEW: u64 = 30;

/// Maximum number of years whose figures are shown without a click.
const OPEN_YEARS: usize = 8;

/// What part of a whole, in one year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The year.
    pub year: u64,
    /// At most `whole`.
    pub part: u64,
    /// More than 0.
    pub whole: u64,
}

impl Share {
    /// Returns whether the share says little, because the whole is small.
    pub fn is_of_few(&self) -> bool {
        self.whole < FEW
    }

    /// Returns the share per thousand.
    pub fn per_mille(&self) -> f64 {
        self.part as f64 * 1000.0 / self.whole.max(1) as f64
    }

    /// Formats as `2 of 5`.
    pub fn words(&self) -> String {
        let count = format::number::count;
        format!("{} of {}", count(self.part), count(self.whole))
    }
}

/// Draws shares per thousand as columns from left to right, oldest first, with their figures below.
pub fn columns(name: &str, shares: &[Share]) -> Markup {
    let highest = shares.iter().map(Share::per_mille).fold(0.0, f64::max);
    let top = Scale::Decimal.end(highest);
    let label = format!("{name}; the list below has the figures");
    let drawing = html! { @for (place, share) in shares.iter().enumerate() { (column(share, place, shares.len(), top)) } };
    let ends = match shares {
        [first, .., last] => vec![first.year.to_string(), last.year.to_string()],
        _ => Vec::new(),
    };
    html! {
        figure.chart {
            figcaption { span.name { (clean(name)) } }
            (plot(&label, top, number, &drawing, &ends))
            @if shares.iter().any(Share::is_of_few) { p.soft { "Years with fewer than " (FEW) " documents are drawn as outlines." } }
            @if shares.len() > OPEN_YEARS {
                details { summary { "Figures of each year" } (figures(shares)) }
            } @else {
                (figures(shares))
            }
        }
    }
}

fn column(share: &Share, place: usize, count: usize, top: f64) -> Markup {
    let width = WIDTH / count.max(1) as f64;
    let height = share.per_mille() / top * (HEIGHT - 1.0);
    html! {
        rect.column.few[share.is_of_few()] x=(format!("{:.2}", place as f64 * width + width * 0.1)) width=(format!("{:.2}", width * 0.8))
            y=(format!("{:.2}", HEIGHT - 0.5 - height)) height=(format!("{height:.2}")) {
            title { (share.year) ": " (share.words()) }
        }
    }
}

fn figures(shares: &[Share]) -> Markup {
    html! {
        ul.lines.shares {
            @for share in shares.iter().rev() { li { span { (share.year) } span.amount { (share.words()) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_is_an_outline_with_its_figures() {
        let share = |year, part, whole| Share { year, part, whole };
        let html = columns("Results", &[share(2012, 1, 2), share(2013, 500, 1_000)]).into_string();
        for part in [
            "<rect class=\"column few\"",
            "<rect class=\"column\"",
            "<span class=\"amount\">1 of 2</span>",
            "<span class=\"amount\">500 of 1,000</span>",
            "fewer than 30 documents",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        let many: Vec<Share> = (2000..2020).map(|year| share(year, 30, 40)).collect();
        let html = columns("Results", &many).into_string();
        assert!(
            html.contains("<details>") && !html.contains("fewer than"),
            "{html}"
        );
    }

    #[test]
    fn columns_of_nothing_stay_within_their_place() {
        let html = columns(
            "Results",
            &[Share {
                year: 2012,
                part: 0,
                whole: 9,
            }],
        )
        .into_string();
        assert!(html.contains("height=\"0.00\""), "{html}");
    }
}
