//! `weft warc repair`: recovers the intact parts of a damaged file.

use std::io::Write;
use std::path::PathBuf;

use inputs::path_text;
use serde::Serialize;
use warc_tools::repair::{self, QuarantinedPiece, RecordRepair, RepairReport, quarantine_paths};

use super::output::{CompressionArgs, Progress, check_out, size_bytes};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::style::clean;
use crate::units::{bytes, count, counted};

const EXAMPLES: &str = "\
Examples:
  weft warc repair broken.warc.gz -o mended.warc.gz
  weft warc repair broken.warc.gz -o mended.warc.gz --json | jq .mends

Lengths are corrected, truncated records are marked (WARC-Truncated: unspecified), and missing
line ends are added; intact records stay byte for byte. Other bytes go to OUT.quarantine, and
OUT.quarantine.jsonl says where each piece was and why it is there.

Exit code 1: something is in quarantine, a record is truncated, or there is no record at all.";

/// Flags of `weft warc repair`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Damaged file of records (WARC or ARC, compressed or not)
    input: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    compression: CompressionArgs,
    /// Replace OUT and its quarantine if they exist
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Report {
    input: String,
    /// Absent if no record could be kept.
    out: Option<String>,
    #[serde(flatten)]
    repaired: RepairReport,
}

/// Runs `weft warc repair`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    for path in quarantine_paths(&args.out).iter().chain([&args.out]) {
        check_out(path, &[&args.input], args.force)?;
    }
    let compression = args.compression.compression(&args.out, None)?;
    let progress = Progress::new(context)?;
    let (written, repaired) = progress.step("mending", size_bytes(&args.input), |each| {
        repair::write(&args.input, &args.out, compression, each)
    })?;
    let proved = progress.step("verifying", written.size_bytes(), |each| written.verify(each))?;
    proved.put(args.force)?;
    let is_lossless = repaired.quarantine.is_empty() && repaired.records_cut == 0 && repaired.records > 0;
    let report = Report {
        input: path_text(&args.input),
        out: (repaired.records > 0).then(|| path_text(&args.out)),
        repaired,
    };
    if context.json {
        context.out.json(&report)?
    } else {
        print(args, &report, context)?
    }
    Ok(if is_lossless {
        Outcome::Done
    } else {
        Outcome::Losses
    })
}

fn print(args: &Args, report: &Report, context: &mut Context) -> anyhow::Result<()> {
    let (out, repaired) = (&mut context.out, &report.repaired);
    for RecordRepair {
        offset,
        record_id,
        reasons,
        done,
    } in &repaired.mends
    {
        let id = record_id.as_deref().unwrap_or_default();
        writeln!(out, "at {offset}: {}: {done} {}", reasons.join(", "), clean(id))?;
    }
    for QuarantinedPiece {
        offset,
        length,
        reason,
        detail,
        ..
    } in &repaired.quarantine
    {
        let what = out.style.warn("quarantine");
        writeln!(
            out,
            "{what} at {offset}, {}: {reason}: {}",
            bytes(*length),
            clean(detail)
        )?;
    }
    match &report.out {
        Some(path) => writeln!(
            out,
            "{}: {}, {} repaired, {} truncated",
            clean(path),
            counted(repaired.records, "record", "records"),
            count(repaired.records_mended),
            count(repaired.records_cut),
        )?,
        None => writeln!(
            out,
            "no record could be recovered, so {} was not written",
            clean(&path_text(&args.out))
        )?,
    }
    writeln!(
        out,
        "{} bytes in: {} in records, {} padding, {} not in any record",
        count(repaired.input_bytes),
        count(repaired.record_bytes),
        count(repaired.padding_bytes),
        count(repaired.quarantined_bytes)
    )?;
    if !repaired.quarantine.is_empty() {
        let [pieces, _] = quarantine_paths(&args.out);
        let pieces = clean(&path_text(&pieces));
        let number = counted(repaired.quarantine.len() as u64, "piece", "pieces");
        writeln!(out, "{pieces}: {number}")?;
    }
    Ok(())
}
