//! Simulations of the store.

mod cluster;
mod disk;
mod machine;
mod volume;

use crate::Simulation;

/// The simulations of the store.
pub const SIMULATIONS: &[Simulation] = &[
    Simulation {
        name: "store-volume",
        about: "one volume, its disk and its machine fail at any operation",
        seeds_short: 100,
        run: volume::run,
    },
    Simulation {
        name: "store-cluster",
        about: "machines, disks, lines and clocks fail while clients write and layouts change",
        seeds_short: 12,
        run: cluster::run,
    },
];
