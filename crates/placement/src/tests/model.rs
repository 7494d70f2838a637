//! Plain models of the optimized parts: trying every set of volumes for a partition, and settling
//! without tuning.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::support::*;
use crate::assign::Assignment;
use crate::capacity::{ALL, Tree};
use crate::draw::{self, Draw};
use crate::pick::Picker;

/// Returns the cheapest set of volumes within the bounds of all groups, found by trying every one.
fn cheapest(tree: &Tree, draws: &[Draw], prices: &[i64]) -> Vec<u32> {
    let members = tree.members.len();
    let within = |set: u32, group: usize| -> u32 {
        let below = |leaf: usize| {
            let (node, zone) = tree.above(leaf);
            [leaf, node, zone, 0].contains(&group)
        };
        (0..members)
            .filter(|i| set >> i & 1 == 1 && below(tree.first_leaf + i))
            .count() as u32
    };
    let allowed = |set: &u32| {
        let mut groups = tree.groups.iter().enumerate();
        groups.all(|(i, group)| (group.lo..=group.hi).contains(&within(*set, i)))
    };
    let cost = |set: &u32| -> i64 {
        let taken = (0..members).filter(|i| set >> i & 1 == 1);
        taken.map(|i| i64::from(draws[i].score) + prices[i]).sum()
    };
    let best = (0..1_u32 << members).filter(allowed).min_by_key(cost).unwrap();
    (0..members as u32).filter(|i| best >> i & 1 == 1).collect()
}

/// Returns the draws of all members for all partitions.
fn draws(tree: &Tree, seed: u64) -> Vec<Draw> {
    let columns: Vec<Vec<Draw>> = tree
        .members
        .iter()
        .map(|member| draw::all(seed, &member.id))
        .collect();
    (0..ALL as usize)
        .flat_map(|partition| columns.iter().map(move |column| column[partition]))
        .collect()
}

/// Returns random trees of at most `most` volumes.
fn trees(most: usize) -> impl Iterator<Item = (u64, StdRng, Tree)> {
    let tree = |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        let tree = Tree::new(&random(&mut rng));
        (seed, rng, tree)
    };
    (0..400)
        .map(tree)
        .filter(move |(_, _, tree)| tree.members.len() <= most)
}

#[test]
fn picks_are_the_cheapest_allowed() {
    for (seed, mut rng, tree) in trees(10) {
        let members = tree.members.len();
        let draws = draws(&tree, seed);
        let prices: Vec<i64> = (0..members).map(|_| rng.random_range(0..1 << 28)).collect();
        for draws in draws.chunks(members).take(5) {
            let mut picks = Vec::new();
            Picker::new(&tree).pick(draws, &prices, &mut picks);
            assert_eq!(picks, cheapest(&tree, draws, &prices), "seed {seed}");
        }
    }
}

#[test]
fn settling_meets_every_quota_from_any_prices() {
    for (seed, mut rng, tree) in trees(12).take(12) {
        let draws = draws(&tree, seed);
        let mut assignment = Assignment::new(&tree, &draws);
        assignment.prices = tree
            .members
            .iter()
            .map(|_| rng.random_range(0..1 << 27))
            .collect();
        assignment.pick(&mut Picker::new(&tree));
        assignment.settle();
        for (leaf, group) in tree.groups.iter().enumerate().skip(tree.first_leaf) {
            assert_eq!(assignment.counts[leaf], group.quota, "seed {seed}, volume {leaf}");
        }
    }
}
