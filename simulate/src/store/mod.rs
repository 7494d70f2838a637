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
        about: "one volume, whose disk and machine can fail at any operation",
        seeds_short: 60,
        run: volume::run,
    },
    Simulation {
        name: "store-cluster",
        about: "a cluster whose machines, disks, connections and clocks fail while clients write and layouts change",
        seeds_short: 8,
        run: cluster::run,
    },
];
