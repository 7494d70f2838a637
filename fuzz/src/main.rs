//! Runs fuzz targets with the plain driver.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Parser;
use fuzz::{Driver, TARGETS, Target};

/// Fuzzes all code that reads untrusted bytes, with mutated inputs
#[derive(Debug, Parser)]
#[command(after_help = "Examples:
  fuzz                                    every target for ten seconds each
  fuzz warc_reader --seconds 600 --files ../shared/data/edge
  fuzz extract --input fuzz/artifacts/extract/crash-0123456789abcdef")]
struct Arguments {
    /// Names of targets; all by default
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Seed of all inputs; a failure reports it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File or folder of further initial inputs, in addition to `fuzz/corpus` if it exists
    #[arg(long)]
    corpus: Vec<PathBuf>,
    /// File or folder of real content to start from, such as archives for `warc_reader`
    #[arg(long)]
    files: Vec<PathBuf>,
    /// Folder for inputs that fail
    #[arg(long, default_value = "fuzz/artifacts")]
    artifacts: PathBuf,
    /// Try only this input
    #[arg(long)]
    input: Option<PathBuf>,
    /// List the targets
    #[arg(long)]
    list: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if arguments.list {
        for target in TARGETS {
            println!("{:12}  {}", target.name, target.about);
        }
        return Ok(());
    }
    for target in chosen(&arguments.targets)? {
        match &arguments.input {
            Some(path) => {
                let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
                (target.run)(&bytes);
                println!("{}: no failure", target.name);
            }
            None => fuzz_one(target, &arguments)?,
        }
    }
    Ok(())
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Target>> {
    for name in names {
        let known = TARGETS.iter().any(|target| target.name == name);
        ensure!(known, "there is no target {name:?}; --list shows their names");
    }
    let wanted = |target: &&&Target| names.is_empty() || names.iter().any(|name| name == target.name);
    Ok(TARGETS.iter().filter(wanted).copied().collect())
}

fn fuzz_one(target: &Target, arguments: &Arguments) -> anyhow::Result<()> {
    let own = PathBuf::from("fuzz/corpus").join(target.name);
    let own = own.is_dir().then_some(own);
    let driver = Driver {
        seed: arguments.seed,
        time_max: Duration::from_secs(arguments.seconds),
        steps_max: u64::MAX,
        corpus: arguments.corpus.iter().cloned().chain(own).collect(),
        files: arguments.files.clone(),
        artifacts_dir: arguments.artifacts.clone(),
    };
    let outcome = driver.run(target)?;
    println!(
        "{:12}  {} corpus inputs, {} mutated inputs: no failure",
        target.name, outcome.corpus_inputs, outcome.steps
    );
    Ok(())
}
