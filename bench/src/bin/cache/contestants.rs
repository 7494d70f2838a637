//! Compares disk tiers, each in a separate process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use bench::process;
use contest::Figures;

use crate::shared::median;

/// A tier, and the delay of its store.
struct Contestant {
    name: &'static str,
    /// Its name in `peers`; `None` for Weft's own tier.
    peer: Option<&'static str>,
    delay_ms: u64,
}

const fn contestant(name: &'static str, peer: Option<&'static str>, delay_ms: u64) -> Contestant {
    Contestant { name, peer, delay_ms }
}

/// A cache is meant for a store 10 ms away. A store that answers at once is faster than the disk,
/// so keeping its blocks would only cost time.
const CONTESTANTS: [Contestant; 5] = [
    contestant("the tier", None, 10),
    contestant("the tier, immediate store", None, 0),
    contestant("foyer, defaults", Some("foyer"), 10),
    contestant("foyer, 4 flushers, 512 MiB", Some("foyer-tuned"), 10),
    contestant("cacache", Some("cacache"), 10),
];

/// Interval at which to read a process's memory.
const LOOK_EVERY: Duration = Duration::from_millis(20);

struct Measured {
    figures: Figures,
    memory_bytes: u64,
}

pub(crate) fn measure(dir: &Path, blocks: u64, rounds: usize) -> anyhow::Result<()> {
    println!(
        "\na burst of {blocks} blocks of 1 MiB, 64 readers, 128 MiB of memory; median of {rounds}; MiB/s \
         of blocks found again"
    );
    println!(
        "{:<28}{:>9}{:>9}{:>11}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "", "found %", "reported", "burst s", "MiB/s", "memory", "disk", "open s", "warm", "cold"
    );
    for contestant in &CONTESTANTS {
        let Some(program) = program(contestant)? else {
            println!("{:<28} cargo build --release -p peers", contestant.name);
            continue;
        };
        let mut measured = Vec::new();
        for _ in 0..rounds.max(1) {
            contest::empty(dir)?;
            measured.push(run(&program, contestant, dir, blocks)?);
        }
        print(contestant.name, blocks, &measured)?;
    }
    std::fs::remove_dir_all(dir)?;
    Ok(())
}

/// Returns the program of a contestant; `None` if it was not built.
fn program(contestant: &Contestant) -> anyhow::Result<Option<PathBuf>> {
    let own = std::env::current_exe()?;
    let program = match contestant.peer {
        None => own,
        Some(_) => own.with_file_name("peers"),
    };
    Ok(program.exists().then_some(program))
}

fn run(program: &Path, contestant: &Contestant, dir: &Path, blocks: u64) -> anyhow::Result<Measured> {
    let mut child = Command::new(program)
        .arg(contestant.peer.unwrap_or("alone-contest"))
        .arg("--dir")
        .arg(dir)
        .args(["--blocks", &blocks.to_string()])
        .args(["--delay-ms", &contestant.delay_ms.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .context("start a contestant")?;
    let mut memory_bytes = 0;
    let status = loop {
        memory_bytes = memory_bytes.max(process::memory_bytes_max(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    ensure!(status.success(), "{}: {status}", contestant.name);
    let stdout = child.stdout.take().context("read the output of a contestant")?;
    Ok(Measured {
        figures: serde_json::from_reader(stdout).context("parse the figures of a contestant")?,
        memory_bytes,
    })
}

fn print(name: &str, blocks: u64, measured: &[Measured]) -> anyhow::Result<()> {
    let of = |figure: &dyn Fn(&Measured) -> f64| median(measured.iter().map(figure).collect());
    let told = match measured.first().and_then(|one| one.figures.told_lost) {
        None => "nothing".to_owned(),
        Some(_) => format!("{:.0}", of(&|one| one.figures.told_lost.unwrap_or(0) as f64)?),
    };
    println!(
        "{name:<28}{:>9.1}{told:>9}{:>5.1}{:>6.1}{:>9.0}{:>9.0}{:>9.0}{:>9.3}{:>9.0}{:>9.0}",
        100.0 * of(&|one| one.figures.kept as f64)? / blocks as f64,
        of(&|one| one.figures.readers_s)?,
        of(&|one| one.figures.burst_s)?,
        of(&|one| one.figures.kept as f64 / one.figures.burst_s)?,
        of(&|one| (one.memory_bytes >> 20) as f64)?,
        of(&|one| (one.figures.space_bytes >> 20) as f64)?,
        of(&|one| one.figures.open_s)?,
        of(&|one| one.figures.warm_mib_per_s)?,
        of(&|one| one.figures.cold_mib_per_s)?,
    );
    Ok(())
}
