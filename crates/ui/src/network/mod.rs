//! A network diagram: nodes, larger ones for larger values, and lines between them, laid out and
//! drawn as SVG.
//!
//! Invariants:
//! - The same network gives the same drawing: the layout is deterministic.
//! - The work is bounded: at most [`NODES_MAX`] nodes, each compared with all others, in [`ROUNDS`]
//!   rounds.
//! - Every node is within the drawing.
//! - Names do not overlap (`labels`). The title of a node has its whole name.
//!
//! The drawing contains text, so it is made for two widths, and the styles show one of them. It
//! needs no script: nodes are links. The script enlarges a part of it.

mod labels;

use std::f64::consts::PI;

use maud::{Markup, html};

use self::labels::Circle;
use crate::text::clean;

/// Maximum number of nodes that are drawn. More of them would overlap.
pub const NODES_MAX: usize = 120;

/// Maximum number of lines that are drawn, heaviest first.
const LINES_MAX: usize = 600;

/// Number of rounds in which nodes move.
const ROUNDS: usize = 240;

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// Weight, shown as its area; 0 or more.
    pub weight: f64,
    /// Full description.
    pub title: String,
    /// Address of its link.
    pub link: Option<String>,
}

/// A line from one node to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Index of the first node.
    pub from: usize,
    /// Index of the second node.
    pub to: usize,
    /// Weight, shown as its width; above 0.
    pub weight: f64,
}

/// A drawing's width, its height, and the radius of its largest node.
#[derive(Clone, Copy)]
struct Size {
    width: f64,
    height: f64,
    radius_max: f64,
}

/// Approximately the number of pixels on screen, so that text has its nominal size.
const WIDE: Size = Size {
    width: 740.0,
    height: 660.0,
    radius_max: 24.0,
};
const NARROW: Size = Size {
    width: 358.0,
    height: 460.0,
    radius_max: 15.0,
};

/// Draws nodes, the most important first, and the lines between them. The first are named first, and
/// begin at the centre. `label` describes the drawing.
pub fn network(label: &str, nodes: &[Node], lines: &[Line]) -> Markup {
    let nodes = &nodes[..nodes.len().min(NODES_MAX)];
    let is_drawn = |line: &Line| line.from.max(line.to) < nodes.len() && line.from != line.to;
    let mut lines: Vec<Line> = lines.iter().copied().filter(is_drawn).collect();
    lines.sort_by(|a, b| {
        let heavier = b.weight.total_cmp(&a.weight);
        heavier.then_with(|| (a.from, a.to).cmp(&(b.from, b.to)))
    });
    lines.truncate(LINES_MAX);
    let places = laid_out(nodes, &lines);
    html! {
        div.network {
            (drawing(label, nodes, &lines, &fitted(&places, WIDE), WIDE, "wide"))
            (drawing(label, nodes, &lines, &fitted(&places, NARROW), NARROW, "narrow"))
        }
    }
}

/// A point, or a displacement.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

/// Returns places without a unit. Nodes repel each other and lines pull their ends together, in
/// decreasing steps (Fruchterman and Reingold, "Graph Drawing by Force-directed Placement", 1991).
/// Nodes begin on a spiral with the largest in its centre. A weak pull to the centre keeps
/// unconnected parts together.
fn laid_out(nodes: &[Node], lines: &[Line]) -> Vec<Point> {
    // The golden angle, as in the seeds of a sunflower: no two nodes begin at the same place.
    let golden_angle = PI * (3.0 - 5.0_f64.sqrt());
    let begin = |index: usize| {
        let (radius, angle) = ((index as f64 + 0.5).sqrt(), index as f64 * golden_angle);
        Point {
            x: radius * angle.cos(),
            y: radius * angle.sin(),
        }
    };
    let mut places: Vec<Point> = (0..nodes.len()).map(begin).collect();
    let heaviest = lines.iter().map(|line| line.weight).fold(1.0, f64::max);
    let spread = (nodes.len() as f64).sqrt();
    for round in 0..ROUNDS {
        let mut moves = pushed(&places);
        for line in lines {
            let (from, to) = (places[line.from], places[line.to]);
            let (x, y) = (to.x - from.x, to.y - from.y);
            let length = x.hypot(y);
            // The pull grows with the logarithm of the weight, so that heavy lines do not dominate.
            let pull = length * (0.2 + 0.8 * (1.0 + line.weight).ln() / (1.0 + heaviest).ln());
            moves[line.from].x += x * pull;
            moves[line.from].y += y * pull;
            moves[line.to].x -= x * pull;
            moves[line.to].y -= y * pull;
        }
        let step_max = 0.25 * spread * (1.0 - round as f64 / ROUNDS as f64) + 0.01;
        for (place, step) in places.iter_mut().zip(&moves) {
            let pull = 0.35;
            let (x, y) = (step.x - place.x * pull, step.y - place.y * pull);
            let shortened = step_max.min(x.hypot(y)) / x.hypot(y).max(f64::MIN_POSITIVE);
            place.x += x * shortened;
            place.y += y * shortened;
        }
    }
    places
}

/// Returns the displacements by which nodes repel each other.
fn pushed(places: &[Point]) -> Vec<Point> {
    let mut moves = vec![Point::default(); places.len()];
    for (index, one) in places.iter().enumerate() {
        for (other_index, other) in places.iter().enumerate().skip(index + 1) {
            let (x, y) = (one.x - other.x, one.y - other.y);
            let square = (x * x + y * y).max(1e-4);
            moves[index].x += x / square;
            moves[index].y += y / square;
            moves[other_index].x -= x / square;
            moves[other_index].y -= y / square;
        }
    }
    moves
}

/// Scales places to a drawing, with a margin for the largest node and for text.
fn fitted(places: &[Point], size: Size) -> Vec<Point> {
    let extent = |of: fn(&Point) -> f64| {
        let least = places.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = places.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        (least, most - least)
    };
    let ((left, width), (top, height)) = (extent(|place| place.x), extent(|place| place.y));
    let (edge_x, edge_y) = (size.radius_max + size.width / 14.0, size.radius_max + 12.0);
    let along = |at: f64, least: f64, extent: f64, edge: f64, whole: f64| {
        if extent > 1e-9 {
            edge + (at - least) / extent * (whole - 2.0 * edge)
        } else {
            whole / 2.0
        }
    };
    let fit = |place: &Point| Point {
        x: along(place.x, left, width, edge_x, size.width),
        y: along(place.y, top, height, edge_y, size.height),
    };
    places.iter().map(fit).collect()
}

fn drawing(label: &str, nodes: &[Node], lines: &[Line], places: &[Point], size: Size, class: &str) -> Markup {
    let heaviest = lines.iter().map(|line| line.weight).fold(1.0, f64::max);
    let largest = nodes.iter().map(|node| node.weight).fold(1.0, f64::max);
    let one = |number: f64| format!("{number:.1}");
    let circle = |(node, centre): (&Node, &Point)| Circle {
        centre: *centre,
        radius: size.radius_max * (node.weight / largest).sqrt().max(0.2),
    };
    let circles: Vec<Circle> = nodes.iter().zip(places).map(circle).collect();
    html! {
        svg class=(class) viewBox=(format!("0 0 {} {}", size.width, size.height)) role="group" aria-label=(clean(label)) {
            // The heaviest last, on top of the others.
            @for line in lines.iter().rev() {
                @let (from, to) = (places[line.from], places[line.to]);
                line.tie x1=(one(from.x)) y1=(one(from.y)) x2=(one(to.x)) y2=(one(to.y))
                    stroke-width=(one(0.8 + 4.2 * (line.weight / heaviest).sqrt())) {}
            }
            @for (node, circle) in nodes.iter().zip(&circles).rev() {
                @let drawn = html! {
                    title { (clean(&node.title)) }
                    circle.node cx=(one(circle.centre.x)) cy=(one(circle.centre.y)) r=(one(circle.radius)) {}
                };
                @match &node.link {
                    Some(link) => a href=(link) aria-label=(clean(&node.title)) { (drawn) },
                    None => g { (drawn) },
                }
            }
            @for label in labels::fitting(nodes, &circles, size) {
                text x=(one(label.place.x)) y=(one(label.place.y)) text-anchor="middle" aria-hidden="true" { (label.text) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: usize) -> Node {
        Node {
            name: format!("n{number}.example"),
            weight: 100.0 / (number + 1) as f64,
            title: format!("n{number}.example: <{number}> links"),
            link: Some(format!("/domain?name=n{number}.example")),
        }
    }

    /// Returns a ring of this many nodes, and lines from the first to all others.
    fn made(count: usize) -> (Vec<Node>, Vec<Line>) {
        let nodes = (0..count).map(node).collect();
        let line = |from, to| Line {
            from,
            to,
            weight: (to + 1) as f64,
        };
        let ring = (1..count).map(|number| line(number, (number + 1) % count));
        (
            nodes,
            (1..count).map(|number| line(0, number)).chain(ring).collect(),
        )
    }

    /// Returns the values of an attribute in a drawing.
    fn numbers(drawn: &str, name: &str) -> Vec<f64> {
        let begin = format!(" {name}=\"");
        let parts = drawn.split(&begin).skip(1);
        parts
            .map(|part| part.split('"').next().unwrap().parse().unwrap())
            .collect()
    }

    #[test]
    fn every_node_is_within_the_drawing_and_apart_from_others() {
        for count in [0, 1, 2, 3, 10, 60, NODES_MAX, NODES_MAX + 30] {
            let (nodes, lines) = made(count);
            let drawn = network("domains", &nodes, &lines).into_string();
            let (wide, narrow) = drawn.split_once("class=\"narrow\"").unwrap();
            for (drawn, size) in [(wide, WIDE), (narrow, NARROW)] {
                let (xs, ys, radii) = (numbers(drawn, "cx"), numbers(drawn, "cy"), numbers(drawn, "r"));
                assert_eq!(xs.len(), count.min(NODES_MAX));
                for ((x, y), r) in xs.iter().zip(&ys).zip(&radii) {
                    assert!(x - r >= 0.0 && x + r <= size.width, "{x} {r} of {count}");
                    assert!(y - r >= 0.0 && y + r <= size.height, "{y} {r} of {count}");
                }
                let mut places: Vec<_> = xs
                    .iter()
                    .zip(&ys)
                    .map(|(x, y)| (format!("{x}"), format!("{y}")))
                    .collect();
                places.sort();
                places.dedup();
                assert_eq!(places.len(), xs.len(), "two of {count} nodes share a position");
            }
        }
    }

    #[test]
    fn the_same_network_is_drawn_the_same() {
        let (nodes, lines) = made(40);
        let mut shuffled = lines.clone();
        shuffled.reverse();
        let drawn = network("domains", &nodes, &lines).into_string();
        assert_eq!(drawn, network("domains", &nodes, &shuffled).into_string());
        assert!(drawn.contains("n1.example: &lt;1&gt; links"), "{drawn}");
        assert!(
            drawn.contains(">n0.example</text>"),
            "the first node is named: {drawn}"
        );
    }

    #[test]
    fn lines_lead_to_nodes_that_are_drawn_alone() {
        let (nodes, _) = made(2);
        let line = |from, to, weight| Line { from, to, weight };
        let lines = [line(0, 1, 4.0), line(1, 5, 2.0), line(1, 1, 9.0)];
        let drawn = network("domains", &nodes, &lines).into_string();
        assert_eq!(drawn.matches("<line ").count(), 2, "one in each drawing: {drawn}");
    }

    #[test]
    fn nodes_with_lines_between_are_nearer_than_others() {
        let (nodes, _) = made(4);
        let line = |from, to| Line {
            from,
            to,
            weight: 1.0,
        };
        let places = laid_out(&nodes, &[line(0, 1), line(2, 3)]);
        let length = |a: usize, b: usize| (places[a].x - places[b].x).hypot(places[a].y - places[b].y);
        assert!(
            length(0, 1) < length(0, 2) && length(2, 3) < length(1, 3),
            "{places:?}"
        );
    }
}
