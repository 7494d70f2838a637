//! `weft files forget`: removes trees from the catalogue.

use std::io::Write;
use std::path::PathBuf;

use ::catalogue::{ForgetReport, Progress, ScanError};

use super::{JsonPath, JsonUsage, display_path, number, open, run_interruptibly};
use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::stop::Stop;
use crate::units::{bytes, counted};

const EXAMPLES: &str = "\
Examples:
  weft files forget /data/old             remove the tree from the catalogue
  weft files forget /data/old /data/older several trees
  weft files status                       list the remaining trees

Nothing on the disk is changed, and there is no confirmation: a scan adds the tree again. This
removes its entries, sums and faults, and what policies know of files that are nowhere else in the
catalogue; its scans stay in the history. A directory within a tree cannot be removed alone, nor a
tree that is being watched.";

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
        return Err(WrongUse("weft files forget writes: run it without --read-only".to_owned()).into());
    }
    let catalogue = open(context)?;
    let stop = Stop::listen()?;
    for dir in &args.dirs {
        let progress = Progress::default();
        let result = run_interruptibly(&progress, &stop, || catalogue.forget(dir, &progress), || {});
        let forgotten = result.map_err(|error| match error.downcast_ref() {
            Some(ScanError::Stopped) => anyhow::anyhow!(
                "stopped: {} is no longer a tree; the next weft files forget or scan removes the rest of \
                 its entries",
                dir.display()
            ),
            _ => error,
        })?;
        print(&forgotten, context)?;
    }
    Ok(Outcome::Done)
}

fn print(forgotten: &ForgetReport, context: &mut Context) -> anyhow::Result<()> {
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
    let rest = if forgotten.is_resumed {
        " (the rest after a stopped run)"
    } else {
        ""
    };
    let out = &mut context.out;
    let path = display_path(&forgotten.path);
    writeln!(
        out,
        "{}: {line} removed from the catalogue{rest}; nothing on the disk was changed",
        out.style.bold(&path)
    )?;
    Ok(())
}
