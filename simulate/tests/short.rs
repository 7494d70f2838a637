//! Every simulation with some fixed seeds. `make simulate` continues with further ones.

use simulate::{Simulation, simulations, try_seed};

/// The first seed; `WEFT_TEST_SEED` overrides it.
fn first_seed() -> u64 {
    std::env::var("WEFT_TEST_SEED").map_or(1, |seed| seed.parse().expect("WEFT_TEST_SEED must be a number"))
}

#[track_caller]
fn check(simulation: &Simulation) {
    let first = first_seed();
    for seed in first..first + simulation.seeds_short {
        let outcome = try_seed(simulation, seed);
        if let Some(failure) = outcome.failure {
            let trace = outcome.trace.lines().join("\n");
            let again = format!("make simulate SIMULATE_FLAGS='{} --seed {seed}'", simulation.name);
            panic!(
                "{trace}\n{}: seed {seed}: {failure}\nto repeat: {again}",
                simulation.name
            );
        }
    }
}

#[test]
fn store() {
    for simulation in simulate::store::SIMULATIONS {
        check(simulation);
    }
}

/// The program that simulations of the index start.
fn set_program() {
    simulate::index::set_program(env!("CARGO_BIN_EXE_simulate").into());
}

#[test]
fn index() {
    set_program();
    for simulation in simulate::index::SIMULATIONS {
        check(simulation);
    }
}

/// A seed always gives the same trace, byte for byte.
#[test]
fn a_seed_replays_its_run() {
    set_program();
    for simulation in simulations() {
        for seed in first_seed()..first_seed() + 3 {
            let (once, again) = (try_seed(simulation, seed), try_seed(simulation, seed));
            assert_eq!(
                once.trace.lines().join("\n"),
                again.trace.lines().join("\n"),
                "{} {seed}",
                simulation.name
            );
        }
    }
}
