//! Figures: how even placement is, and how little a change moves, in the standard cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::layout::{Layout, NodeRole, Roles, VolumeRole};
use crate::placement::Placement;
use crate::plan::{Sizes, plan};

/// Seed of the measured tables.
const SEED: u64 = 2009;

/// A measured value with the best possible one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// Measured value, in per cent of all copies.
    pub found_percent: f64,
    /// Best possible value, in per cent of all copies.
    pub best_percent: f64,
    /// Allowed distance from the best, in percentage points.
    pub limit_points: f64,
}

/// Volumes by name, each with its zone and weight; every volume has its own node.
type Disks = BTreeMap<String, (String, u32)>;

impl Figure {
    /// Returns whether the measured value is within its limit.
    pub fn holds(&self) -> bool {
        (self.found_percent - self.best_percent).abs() <= self.limit_points
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            found_percent,
            best_percent,
            limit_points,
        } = self;
        let verdict = if self.holds() { "holds" } else { "exceeded" };
        write!(
            f,
            "{what:<56} {found_percent:>7.3} % of copies, best {best_percent:>7.3}, limit {limit_points:.3} points: {verdict}"
        )
    }
}

/// Computes all figures, with two copies of every partition.
pub fn figures() -> Vec<Figure> {
    let even = grid(5);
    let mut figures = evenness(&even);
    let mut fewer = even.clone();
    fewer.remove("z1-v1");
    let mut doubled = even.clone();
    doubled.insert("z1-v1".to_owned(), ("z1".to_owned(), 2));
    let changes = [
        ("a sixth zone of three volumes", grid(6)),
        ("one volume less", fewer),
        ("one zone less", grid(4)),
        ("one weight doubled", doubled),
    ];
    figures.extend(changes.map(|(what, after)| movement(what, &even, &after)));
    figures.extend(weights());
    figures
}

/// Returns the shares of 5 zones of 3 equal volumes.
fn evenness(disks: &Disks) -> Vec<Figure> {
    let shares = shares(disks);
    let best = 100.0 / disks.len() as f64;
    let figure = |what: &str, found: f64| Figure {
        what: format!("5 zones x 3 equal volumes: {what} share"),
        found_percent: found,
        best_percent: best,
        limit_points: best * 0.035,
    };
    vec![
        figure("greatest", shares.values().copied().fold(0.0, f64::max)),
        figure("least", shares.values().copied().fold(100.0, f64::min)),
    ]
}

/// Returns the share of copies that a change moves.
fn movement(what: &str, before: &Disks, after: &Disks) -> Figure {
    let plan = plan(&layout(before), &layout(after), Sizes::Unknown);
    let percent = |copies: u32| 100.0 * f64::from(copies) / f64::from(plan.copies);
    Figure {
        what: format!("5 zones x 3 equal volumes: moved by {what}"),
        found_percent: percent(plan.moved),
        best_percent: percent(plan.moved_least),
        limit_points: 2.0,
    }
}

/// Returns the shares of volumes with weights 4, 2, 1 and 1.
fn weights() -> Vec<Figure> {
    let weights = [4, 2, 1, 1];
    let disk = |(i, weight): (usize, u32)| (format!("z{i}-v0"), (format!("z{i}"), weight));
    let found = shares(&weights.into_iter().enumerate().map(disk).collect());
    let figures = weights.iter().zip(found.values()).map(|(weight, found)| Figure {
        what: format!("weights 4:2:1:1: share of weight {weight}"),
        found_percent: *found,
        best_percent: 12.5 * f64::from(*weight),
        limit_points: 1.0,
    });
    figures.collect()
}

/// Returns each volume's percentage of all copies.
fn shares(disks: &Disks) -> BTreeMap<crate::ids::VolumeId, f64> {
    let copies = Placement::compute(&layout(disks)).copies();
    let all: u32 = copies.values().sum();
    copies
        .into_iter()
        .map(|(id, n)| (id, 100.0 * f64::from(n) / f64::from(all)))
        .collect()
}

/// Returns zones of three volumes of weight 1.
fn grid(zones: usize) -> Disks {
    let all = (0..zones).flat_map(|zone| (0..3).map(move |volume| (zone, volume)));
    all.map(|(zone, volume)| (format!("z{zone}-v{volume}"), (format!("z{zone}"), 1)))
        .collect()
}

fn layout(disks: &Disks) -> Layout {
    let node = |(name, (zone, _)): (&String, &(String, u32))| NodeRole {
        id: NodeId::from(name.clone()),
        zone: zone.clone(),
        address: String::new(),
    };
    let volume = |(name, (zone, weight)): (&String, &(String, u32))| VolumeRole {
        id: format!("{name}/disk").into(),
        node: NodeId::from(name.clone()),
        zone: zone.clone(),
        weight: *weight,
    };
    let roles = Roles {
        replicas: 2,
        nodes: disks.iter().map(node).collect(),
        volumes: disks.iter().map(volume).collect(),
        retired: BTreeSet::new(),
    };
    Layout {
        number: 1,
        seed: SEED,
        roles,
    }
}
