//! A treemap: rectangles with areas proportional to their weights, drawn as SVG.
//!
//! The drawing contains text, so it is made for two widths, and the styles show one of them. It
//! needs no script: rectangles are links, and their titles contain text that does not fit.

use maud::{Markup, html};

use crate::text::{clean, cut};

/// A rectangle.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// Name of the item.
    pub name: String,
    /// Weight relative to the others; above 0.
    pub weight: f64,
    /// The weight for readers.
    pub amount: String,
    /// Full description.
    pub title: String,
    /// Address of its link.
    pub link: Option<String>,
    /// Appearance.
    pub tint: Tint,
}

/// Appearance of a rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// An item with children.
    Inner,
    /// An item without children.
    Leaf,
    /// Many items together.
    Rest,
}

impl Tint {
    fn class(self) -> &'static str {
        match self {
            Tint::Inner => "tile inner",
            Tint::Leaf => "tile leaf",
            Tint::Rest => "tile rest",
        }
    }
}

/// Position and size of a rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rect {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Width and height for wide and for narrow screens. Approximately the number of pixels on screen,
/// so that text has its nominal size.
const WIDE: (f64, f64) = (1160.0, 520.0);
const NARROW: (f64, f64) = (358.0, 440.0);

/// Draws tiles, heaviest first: one set for wide screens, and one for narrow screens, which should
/// have fewer. `label` describes the whole.
pub fn treemap(label: &str, wide: &[Tile], narrow: &[Tile]) -> Markup {
    html! {
        div.treemap {
            (drawing(label, wide, WIDE, "wide"))
            (drawing(label, narrow, NARROW, "narrow"))
        }
    }
}

fn drawing(label: &str, tiles: &[Tile], (width, height): (f64, f64), class: &str) -> Markup {
    let weights: Vec<f64> = tiles.iter().map(|tile| tile.weight).collect();
    let whole = Rect {
        x: 0.0,
        y: 0.0,
        width,
        height,
    };
    html! {
        svg class=(class) viewBox=(format!("0 0 {width} {height}")) role="group" aria-label=(clean(label)) {
            @for (tile, place) in tiles.iter().zip(squarified(&weights, whole)) {
                @match &tile.link {
                    Some(link) => a href=(link) { (drawn(tile, place)) },
                    None => g { (drawn(tile, place)) },
                }
            }
        }
    }
}

/// Space between two rectangles.
const GAP: f64 = 2.0;

fn drawn(tile: &Tile, place: Rect) -> Markup {
    let (width, height) = ((place.width - GAP).max(0.5), (place.height - GAP).max(0.5));
    let one = |number: f64| format!("{number:.1}");
    // The inner `svg` element clips text whose width was underestimated.
    html! {
        title { (clean(&tile.title)) }
        svg x=(one(place.x)) y=(one(place.y)) width=(one(width)) height=(one(height)) {
            rect class=(tile.tint.class()) width="100%" height="100%" rx="3" {}
            @if let Some(name) = fitting(&tile.name, width, height) {
                text x="7" y="19" { (name) }
                @if height >= LINES_2_MIN && letters(&tile.amount) * AMOUNT_LETTER <= width - 2.0 * MARGIN {
                    text.amount x="7" y="36" { (tile.amount) }
                }
            }
        }
    }
}

/// Approximate width of a letter of a name and of an amount, at the text sizes of the styles.
const LETTER: f64 = 7.4;
const AMOUNT_LETTER: f64 = 6.4;
const MARGIN: f64 = 7.0;
const LINE_MIN: f64 = 25.0;
const LINES_2_MIN: f64 = 43.0;

/// Minimum number of letters of a name that is shown.
const LETTERS_MIN: f64 = 4.0;

/// Returns the width of a text in letters. ASCII letters count as one, others as two.
fn letters(text: &str) -> f64 {
    text.chars().map(|c| if c.is_ascii() { 1.0 } else { 2.0 }).sum()
}

/// Returns as much of a name as fits, or `None` if that is too little.
fn fitting(name: &str, width: f64, height: f64) -> Option<String> {
    let name = clean(name);
    let room = ((width - 2.0 * MARGIN) / LETTER).floor();
    if height < LINE_MIN || room < LETTERS_MIN.min(letters(&name)) {
        return None;
    }
    if letters(&name) <= room {
        return Some(name.into_owned());
    }
    let mut used = 2.0;
    let fitting = name.chars().take_while(|c| {
        used += if c.is_ascii() { 1.0 } else { 2.0 };
        used <= room
    });
    let count = fitting.count();
    Some(format!("{}\u{2026}", cut(&name, count).0))
}

/// Returns places of rectangles with areas in proportion to `weights`, as close to squares as
/// possible. Rows are laid along the shorter side of the remaining space, and each row takes
/// weights while that does not worsen its worst aspect ratio (Bruls, Huizing and van Wijk,
/// "Squarified Treemaps", 2000). Weights must be above 0 and in falling order.
fn squarified(weights: &[f64], whole: Rect) -> Vec<Rect> {
    let sum: f64 = weights.iter().sum();
    let scale = whole.width * whole.height / sum.max(f64::MIN_POSITIVE);
    let areas: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
    let mut places = Vec::with_capacity(areas.len());
    let (mut left, mut rest) = (whole, areas.as_slice());
    while !rest.is_empty() {
        let side = left.width.min(left.height).max(f64::MIN_POSITIVE);
        let mut count = 1;
        while count < rest.len() && worst(&rest[..=count], side) <= worst(&rest[..count], side) {
            count += 1;
        }
        let (row, after) = rest.split_at(count);
        left = lay(row, left, &mut places);
        rest = after;
    }
    places
}

/// Returns the largest aspect ratio in a row of areas along a side.
fn worst(row: &[f64], side: f64) -> f64 {
    let depth = row.iter().sum::<f64>() / side;
    let ratios = row.iter().map(|area| {
        let length = area / depth;
        (length / depth).max(depth / length)
    });
    ratios.fold(0.0, f64::max)
}

/// Lays a row along the shorter side, and returns the remaining space.
fn lay(row: &[f64], left: Rect, places: &mut Vec<Rect>) -> Rect {
    let side = left.width.min(left.height).max(f64::MIN_POSITIVE);
    let depth = row.iter().sum::<f64>() / side;
    let mut at = 0.0;
    for area in row {
        let length = area / depth;
        places.push(if left.width >= left.height {
            Rect {
                x: left.x,
                y: left.y + at,
                width: depth,
                height: length,
            }
        } else {
            Rect {
                x: left.x + at,
                y: left.y,
                width: length,
                height: depth,
            }
        });
        at += length;
    }
    if left.width >= left.height {
        Rect {
            x: left.x + depth,
            width: (left.width - depth).max(0.0),
            ..left
        }
    } else {
        Rect {
            y: left.y + depth,
            height: (left.height - depth).max(0.0),
            ..left
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper: areas 6, 6, 4, 3, 2, 2, 1 in a rectangle of 6 by 4.
    #[test]
    fn places_are_those_of_the_paper() {
        let whole = Rect {
            x: 0.0,
            y: 0.0,
            width: 6.0,
            height: 4.0,
        };
        let places = squarified(&[6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0], whole);
        let sizes: Vec<String> = places
            .iter()
            .map(|place| format!("{:.2}x{:.2}", place.width, place.height))
            .collect();
        assert_eq!(
            sizes,
            [
                "3.00x2.00",
                "3.00x2.00",
                "1.71x2.33",
                "1.29x2.33",
                "1.20x1.67",
                "1.20x1.67",
                "0.60x1.67"
            ]
        );
    }

    #[test]
    fn areas_are_in_proportion_and_stay_within_the_whole() {
        let weights: Vec<f64> = (1..200).rev().map(|n| f64::from(n).powi(3)).collect();
        let whole = Rect {
            x: 0.0,
            y: 0.0,
            width: 358.0,
            height: 440.0,
        };
        let scale = whole.width * whole.height / weights.iter().sum::<f64>();
        for (weight, place) in weights.iter().zip(squarified(&weights, whole)) {
            assert!(
                (place.width * place.height - weight * scale).abs() < 1e-6,
                "{place:?}"
            );
            assert!(
                place.x >= 0.0 && place.x + place.width <= whole.width + 1e-6,
                "{place:?}"
            );
            assert!(
                place.y >= 0.0 && place.y + place.height <= whole.height + 1e-6,
                "{place:?}"
            );
        }
        assert!(squarified(&[], whole).is_empty());
    }

    #[test]
    fn words_are_escaped_and_cut_to_their_place() {
        let tile = |name: &str, weight| Tile {
            name: name.to_owned(),
            weight,
            amount: "1.0 GiB".to_owned(),
            title: format!("{name}: all of it"),
            link: Some("/files/tree?path=%2Fa%22".to_owned()),
            tint: Tint::Inner,
        };
        let long = "x".repeat(500);
        let tiles = [tile("<script>", 99.0), tile(&long, 1.0)];
        let drawn = treemap("of <b>", &tiles, &tiles).into_string();
        assert!(
            drawn.contains("&lt;script&gt;") && !drawn.contains("<script>"),
            "{drawn}"
        );
        assert!(drawn.contains("aria-label=\"of &lt;b&gt;\""), "{drawn}");
        assert!(!drawn.contains(&format!(">{long}<")), "{drawn}");
        assert_eq!(fitting("crawls", 60.0, 30.0), Some("crawls".to_owned()));
        assert_eq!(
            fitting("crawls of 2014", 60.0, 30.0),
            Some("craw\u{2026}".to_owned())
        );
        assert_eq!(fitting("crawls of 2014", 30.0, 30.0), None);
        assert_eq!(fitting("crawls", 60.0, 20.0), None);
    }
}
