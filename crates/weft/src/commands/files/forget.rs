//! `weft files forget`: removes trees from the catalogue.

use std::io::Write;
use std::path::PathBuf;

use ::files::{Forgotten, Progress, ScanError};

use super::{JsonPath, JsonUsage, number, open, shown, watched};
use crate::context::Context;
use crate::exit::{Outcome, WrongUse};
use crate::stop::Stop;
use crate::units::{bytes, counted};

const EXAMPLES: &str = "\
Examples:
  weft files forget /data/old             the tree leaves the catalogue
  weft files forget /data/old /data/older several trees
  weft files status                       what is left

Nothing on the disk is touched, and nothing is asked: a scan reads the tree in again. What goes are its entries and sums, what
could not be read, and what policies have found out of files that are nowhere else in the catalogue; its scans stay in the
history. A directory within a tree cannot be forgotten alone, nor a tree that is being watched.";

/// Flags of `weft files forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Trees to remove, including trees no longer on disk
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
}

/// Runs `weft files forget`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    if context.read_only {
        return Err(WrongUse("it writes: leave --read-only out".to_owned()).into());
    }
    let catalogue = open(context)?;
    let stop = Stop::listen()?;
    for dir in &args.dirs {
        let progress = Progress::default();
        let result = watched(&progress, &stop, || catalogue.forget(dir, &progress), || {});
        let forgotten = result.map_err(|error| match error.downcast_ref() {
            Some(ScanError::Stopped) => anyhow::anyhow!(
                "stopped: {} is no tree any more, and what is left of it goes with the next weft files forget or scan",
                dir.display()
            ),
            _ => error,
        })?;
        print(&forgotten, context)?;
    }
    Ok(Outcome::Done)
}

fn print(forgotten: &Forgotten, context: &mut Context) -> anyhow::Result<()> {
    let usage = &forgotten.usage;
    if context.json {
        context.out.json(&serde_json::json!({
            "dir": JsonPath::new(&forgotten.path),
            "forgotten": JsonUsage::new(usage),
            "faults": forgotten.faults,
            "digests": forgotten.digests,
            "resumed": forgotten.is_resumed,
        }))?;
        return Ok(());
    }
    let mut line = format!(
        "{} ({}), {}",
        counted(number(usage.entries), "entry", "entries"),
        counted(number(usage.directories), "directory", "directories"),
        bytes(number(usage.size_bytes)),
    );
    if forgotten.faults > 0 {
        line.push_str(&format!(", {}", counted(forgotten.faults, "fault", "faults")));
    }
    if forgotten.digests > 0 {
        line.push_str(&format!(", {}", counted(forgotten.digests, "digest", "digests")));
    }
    let rest = match forgotten.is_resumed {
        true => ", the rest after a stop",
        false => "",
    };
    let out = &mut context.out;
    let path = shown(&forgotten.path);
    writeln!(
        out,
        "{}: {line} left the catalogue{rest}; nothing on the disk was touched",
        out.style.bold(&path)
    )?;
    Ok(())
}
