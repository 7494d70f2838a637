//! Every simulation with some fixed seeds. `make simulate` continues with further ones.

use simulate::{Simulation, try_seed};

/// The first seed; `WEFT_TEST_SEED` overrides it.
fn first_seed() -> u64 {
    std::env::var("WEFT_TEST_SEED").map_or(1, |seed| seed.parse().expect("WEFT_TEST_SEED must be a number"))
}

/// Seeds of each simulation that run twice.
const SEEDS_REPLAYED: u64 = 3;

/// Runs the seeds. Those that run twice must give the same trace both times, byte for byte.
#[track_caller]
fn check(simulation: &Simulation) {
    let first = first_seed();
    for seed in first..first + simulation.seeds_short {
        let outcome = try_seed(simulation, seed);
        let trace = outcome.trace.lines().join("\n");
        if let Some(failure) = outcome.failure {
            let again = format!("make simulate SIMULATE_FLAGS='{} --seed {seed}'", simulation.name);
            panic!(
                "{trace}\n{}: seed {seed}: {failure}\nto repeat: {again}",
                simulation.name
            );
        }
        if seed < first + SEEDS_REPLAYED {
            let again = try_seed(simulation, seed).trace.lines().join("\n");
            assert_eq!(trace, again, "{} {seed} run again", simulation.name);
        }
    }
}

#[test]
fn seeds_of_the_store_pass_and_replay() {
    for simulation in simulate::store::SIMULATIONS {
        check(simulation);
    }
}

/// The program that simulations of the index start.
fn set_program() {
    simulate::index::set_program(env!("CARGO_BIN_EXE_simulate").into());
}

#[test]
fn seeds_of_the_index_pass_and_replay() {
    set_program();
    for simulation in simulate::index::SIMULATIONS {
        check(simulation);
    }
}
