//! Places the names of nodes in a network diagram.
//!
//! Invariants:
//! - a name covers no other name and is within the drawing;
//! - a name covers no node, except that those of the first nodes may cover later ones;
//! - names are placed in the order of their nodes. A name is left out if it does not fit next to
//!   its node.

use super::{Node, Point, Size};
use crate::text::{clean, cut};

/// Maximum length of a name in the drawing, in characters.
const CHARS_MAX: usize = 28;

/// Approximate widths of letters at the text size of the styles. Characters of three and more bytes
/// are mostly Chinese, Japanese or Korean, which are twice as wide.
const LETTER: f64 = 6.9;
const WIDE_LETTER: f64 = 12.0;

/// Height of a name above and below its baseline.
const ASCENT: f64 = 10.0;
const DESCENT: f64 = 3.0;

/// Distance of a name from its node.
const GAP: f64 = 3.0;

/// Number of nodes, from the first on, whose names may cover later nodes if there is no other place.
const COVERING_MAX: usize = 8;

/// A node as drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circle {
    pub(super) centre: Point,
    pub(super) radius: f64,
}

/// A name to draw.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Label {
    pub(super) text: String,
    /// The middle of its baseline.
    pub(super) place: Point,
}

/// The area of a name.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn of(place: Point, width: f64) -> Area {
        Area {
            left: place.x - width / 2.0,
            top: place.y - ASCENT,
            right: place.x + width / 2.0,
            bottom: place.y + DESCENT,
        }
    }

    fn is_within(&self, size: Size) -> bool {
        self.left >= 0.0 && self.top >= 0.0 && self.right <= size.width && self.bottom <= size.height
    }

    fn overlaps(&self, other: &Area) -> bool {
        let (x, y) = (
            self.left < other.right && other.left < self.right,
            self.top < other.bottom && other.top < self.bottom,
        );
        x && y
    }

    fn covers(&self, circle: &Circle) -> bool {
        let nearest_x = circle.centre.x.max(self.left).min(self.right);
        let nearest_y = circle.centre.y.max(self.top).min(self.bottom);
        (circle.centre.x - nearest_x).hypot(circle.centre.y - nearest_y) < circle.radius
    }
}

/// Returns the names that fit, in the order of their nodes. `circles` are the nodes as drawn.
pub(super) fn fitting(nodes: &[Node], circles: &[Circle], size: Size) -> Vec<Label> {
    let mut taken: Vec<Area> = Vec::new();
    let mut labels = Vec::new();
    for (index, (node, circle)) in nodes.iter().zip(circles).enumerate() {
        let text = shortened(&node.name);
        let width: f64 = text.chars().map(letter_width).sum();
        let fits = |place: &Point, beside: &[Circle]| {
            let area = Area::of(*place, width);
            area.is_within(size)
                && !taken.iter().any(|other| area.overlaps(other))
                && !beside.iter().any(|circle| area.covers(circle))
        };
        let places = places(circle, width, size);
        let free = places.into_iter().find(|place| fits(place, circles));
        let covering = || {
            let mut places = places.into_iter().filter(|_| index < COVERING_MAX);
            places.find(|place| fits(place, &circles[..index]))
        };
        if let Some(place) = free.or_else(covering) {
            taken.push(Area::of(place, width));
            labels.push(Label { text, place });
        }
    }
    labels
}

/// Returns places for a name of this width: below its node, above, to the right, and to the left.
fn places(circle: &Circle, width: f64, size: Size) -> [Point; 4] {
    let Circle { centre, radius } = *circle;
    let half = width / 2.0;
    // Near an edge, a name above or below its node is moved so that all of it is visible.
    let x = centre.x.min(size.width - half).max(half);
    let beside_y = centre.y + (ASCENT - DESCENT) / 2.0;
    [
        (x, centre.y + radius + GAP + ASCENT),
        (x, centre.y - radius - GAP - DESCENT),
        (centre.x + radius + GAP + half, beside_y),
        (centre.x - radius - GAP - half, beside_y),
    ]
    .map(|(x, y)| Point { x, y })
}

fn shortened(name: &str) -> String {
    let name = clean(name);
    match cut(&name, CHARS_MAX) {
        (shown, true) => format!("{shown}\u{2026}"),
        (shown, false) => shown.to_owned(),
    }
}

fn letter_width(letter: char) -> f64 {
    if letter.len_utf8() < 3 {
        LETTER
    } else {
        WIDE_LETTER
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NARROW, WIDE};
    use super::*;

    fn node(name: &str) -> Node {
        Node {
            name: name.to_owned(),
            weight: 1.0,
            title: String::new(),
            link: None,
        }
    }

    fn circle(x: f64, y: f64) -> Circle {
        Circle {
            centre: Point { x, y },
            radius: 5.0,
        }
    }

    fn area(label: &Label) -> Area {
        Area::of(label.place, label.text.chars().map(letter_width).sum())
    }

    #[test]
    fn names_cover_no_name_and_those_of_small_nodes_no_node() {
        for (count, size) in [(1, WIDE), (40, WIDE), (120, WIDE), (40, NARROW), (120, NARROW)] {
            let nodes: Vec<Node> = (0..count).map(|n| node(&format!("n{n}.example.org"))).collect();
            // Many places over the drawing, some of them close to each other.
            let place = |n: usize| {
                let (x, y) = ((n * 37 % 101) as f64 / 101.0, (n * 53 % 89) as f64 / 89.0);
                circle(10.0 + x * (size.width - 20.0), 10.0 + y * (size.height - 20.0))
            };
            let circles: Vec<Circle> = (0..count).map(place).collect();
            let labels = fitting(&nodes, &circles, size);
            assert_eq!(
                labels.first().map(|label| label.text.as_str()),
                Some("n0.example.org")
            );
            for (number, label) in labels.iter().enumerate() {
                let area = area(label);
                assert!(area.is_within(size), "{label:?}");
                let of_first = (0..COVERING_MAX).any(|n| label.text == format!("n{n}.example.org"));
                let covers = circles.iter().any(|circle| area.covers(circle));
                assert!(of_first || !covers, "{label:?}");
                for other in &labels[number + 1..] {
                    assert!(!area.overlaps(&self::area(other)), "{label:?} and {other:?}");
                }
            }
        }
    }

    #[test]
    fn of_nodes_close_together_the_first_are_named() {
        let names = ["a.org", "b.org", "c.org", "d.org", "e.org", "f.org"];
        let nodes = names.map(node);
        let circles = names.map(|_| circle(100.0, 100.0));
        let labels = fitting(&nodes, &circles, WIDE);
        let texts: Vec<&str> = labels.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(texts, names[..4], "one on each side");
    }

    #[test]
    fn the_name_of_a_large_node_may_cover_smaller_ones() {
        let all_around: Vec<Circle> = (0..40_i32)
            .flat_map(|x| {
                (0..10_i32).map(move |y| circle(60.0 + f64::from(x) * 12.0, 50.0 + f64::from(y) * 12.0))
            })
            .collect();
        let nodes: Vec<Node> = all_around.iter().map(|_| node("n.example.org")).collect();
        let middle = [circle(300.0, 100.0)];
        let circles: Vec<Circle> = middle.into_iter().chain(all_around).collect();
        let nodes: Vec<Node> = [node("large.org")].into_iter().chain(nodes).collect();
        assert_eq!(fitting(&nodes, &circles, WIDE)[0].text, "large.org");
    }

    #[test]
    fn names_at_the_edges_are_visible_and_long_ones_are_cut() {
        let nodes = [node(&"x".repeat(40)), node(&"\u{4e2d}".repeat(40))];
        let circles = [circle(3.0, 3.0), circle(NARROW.width - 3.0, NARROW.height - 3.0)];
        let labels = fitting(&nodes, &circles, NARROW);
        assert_eq!(labels.len(), 2);
        for label in &labels {
            assert_eq!(label.text.chars().count(), CHARS_MAX + 1, "{label:?}");
            assert!(area(label).is_within(NARROW), "{label:?}");
        }
    }
}
