//! Runs simulations, seed after seed.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::ensure;
use clap::Parser;
use simulate::{Simulation, simulations, try_seed};

/// Runs the store and the index with faults and crashes that a seed determines
#[derive(Debug, Parser)]
#[command(after_help = "Examples:
  simulate                            every simulation with 100 seeds each
  simulate store --seed 17            only seed 17, with its trace
  simulate store --seed 1 --seeds 5000
  simulate --forever                  until a run fails")]
struct Arguments {
    /// Names of simulations, or their first words; all by default
    simulations: Vec<String>,
    /// First seed; without --seeds and --forever only this seed is run, and its trace is printed
    #[arg(long)]
    seed: Option<u64>,
    /// Number of seeds
    #[arg(long)]
    seeds: Option<u64>,
    /// Run further seeds until one fails
    #[arg(long, conflicts_with = "seeds")]
    forever: bool,
    /// List the simulations
    #[arg(long)]
    list: bool,
}

/// Number of seeds between two lines of output.
const ROUND: u64 = 100;

fn main() -> anyhow::Result<ExitCode> {
    // A simulation may have started this process.
    if let Some(code) = simulate::index::serve() {
        return Ok(code);
    }
    let arguments = Arguments::parse();
    let chosen = chosen(&arguments.simulations)?;
    if arguments.list {
        for simulation in &chosen {
            println!("{:12}  {}", simulation.name, simulation.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let first = arguments.seed.unwrap_or(1);
    let is_alone = arguments.seed.is_some() && arguments.seeds.is_none() && !arguments.forever;
    let seeds = match arguments.seeds {
        Some(seeds) => seeds,
        None if is_alone => 1,
        None => ROUND,
    };
    let mut from = first;
    loop {
        let mut are_good = true;
        for simulation in &chosen {
            are_good &= run(simulation, from, seeds, is_alone);
        }
        if !are_good {
            return Ok(ExitCode::FAILURE);
        }
        if !arguments.forever {
            return Ok(ExitCode::SUCCESS);
        }
        from = from.wrapping_add(seeds);
    }
}

/// Returns the named simulations: `store` selects `store` and `store-...`.
fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Simulation>> {
    let is_named = |simulation: &Simulation, name: &str| {
        let rest = simulation.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    for name in names {
        let known = simulations().any(|simulation| is_named(simulation, name));
        ensure!(known, "there is no simulation {name:?}; --list shows their names");
    }
    let wanted =
        |simulation: &&Simulation| names.is_empty() || names.iter().any(|name| is_named(simulation, name));
    Ok(simulations().filter(wanted).collect())
}

/// Runs some seeds of one simulation; returns whether all succeeded.
fn run(simulation: &Simulation, first: u64, seeds: u64, show: bool) -> bool {
    let begun = Instant::now();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut failed = 0;
    for seed in (0..seeds).map(|at| first.wrapping_add(at)) {
        let outcome = try_seed(simulation, seed);
        for (what, count) in outcome.trace.counts() {
            *counts.entry(what).or_default() += count;
        }
        if show || outcome.failure.is_some() {
            for line in outcome.trace.lines() {
                println!("  {line}");
            }
        }
        if let Some(failure) = outcome.failure {
            failed += 1;
            println!("{}: seed {seed} FAILED: {failure}", simulation.name);
            println!("  to repeat: simulate {} --seed {seed}", simulation.name);
        }
    }
    let took = begun.elapsed().as_secs_f64();
    let last = first.wrapping_add(seeds.saturating_sub(1));
    let counts: Vec<_> = counts
        .iter()
        .map(|(what, count)| format!("{what} {count}"))
        .collect();
    println!(
        "{}: seeds {first} to {last} in {took:.1} s, {failed} failed; {}",
        simulation.name,
        counts.join(", ")
    );
    failed == 0
}
