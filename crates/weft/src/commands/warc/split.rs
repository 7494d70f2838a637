//! `weft warc split`: splits a file into several.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;
use inputs::path_text;
use serde::Serialize;
use warc_tools::split::{self, SplitKey, SplitLimit, SplitReport};

use super::output::{CompressionArgs, Progress, check_out_dir, size_bytes};
use crate::context::Context;
use crate::flag_values::{choice, described, size, whole_from};
use crate::outcome::Outcome;
use crate::style::clean;
use crate::units::{bytes, counted};

const EXAMPLES: &str = "\
Examples:
  weft warc split big.warc.gz -o parts/ --size 1G
  weft warc split big.warc.gz -o parts/ --records 10000
  weft warc split big.warc.gz -o parts/ --by host

Every record is in exactly one part, byte for byte. Each part begins with the warcinfo record
of its records, or a copy of it with its own id and WARC-Filename. DIR gets all parts or none.";

/// Flags of `weft warc split`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("how").required(true))]
pub(super) struct Args {
    /// File of records (WARC or ARC, compressed or not)
    input: PathBuf,
    /// Folder to write: missing or empty
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// End a part with the record that brings it to this stored size
    #[arg(long, value_name = "BYTES", value_parser = size(), group = "how")]
    size: Option<u64>,
    /// End a part after this many records
    #[arg(long, value_name = "N", value_parser = whole_from(1_u64, 1000), group = "how")]
    records: Option<u64>,
    /// Make one part per host, record type or day
    #[arg(long, value_parser = keys(), group = "how")]
    by: Option<SplitKey>,
    #[command(flatten)]
    compression: CompressionArgs,
}

/// Returns the parser of keys by which records are grouped.
fn keys() -> impl TypedValueParser<Value = SplitKey> {
    choice([
        (described("host", "The host of their URL"), SplitKey::Host),
        (described("type", "Their type"), SplitKey::Type),
        (described("date", "The day of their date"), SplitKey::Date),
    ])
}

#[derive(Serialize)]
struct Report {
    input: String,
    out: String,
    #[serde(flatten)]
    split: SplitReport,
}

/// Runs `weft warc split`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    check_out_dir(&args.out)?;
    let compression = args.compression.compression(&args.input, None)?;
    let progress = Progress::new(context)?;
    let (written, split) = progress.step("writing", size_bytes(&args.input), |each| {
        split::write(&args.input, &args.out, args.how(), &compression, each)
    })?;
    progress.put_folder(written)?;
    let report = Report {
        input: path_text(&args.input),
        out: path_text(&args.out),
        split,
    };
    if context.json {
        context.out.json(&report)?
    } else {
        print(&args.out, &report.split, context)?
    }
    Ok(Outcome::Done)
}

impl Args {
    /// Returns where a part ends. clap ensures that exactly one of the flags is given.
    fn how(&self) -> SplitLimit {
        match (self.size, self.records, self.by) {
            (Some(bytes), ..) => SplitLimit::Size(bytes),
            (_, Some(records), _) => SplitLimit::Records(records),
            (.., by) => SplitLimit::By(by.unwrap_or(SplitKey::Host)),
        }
    }
}

fn print(dir: &Path, split: &SplitReport, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    for part in &split.parts {
        let path = clean(&path_text(&dir.join(&part.name)));
        let records = counted(part.records, "record", "records");
        writeln!(out, "{path}: {records}, {}", bytes(part.bytes))?;
    }
    writeln!(
        out,
        "{} in {}, and {} of warcinfo records",
        counted(split.records, "record", "records"),
        counted(split.parts.len() as u64, "part", "parts"),
        counted(split.copies, "copy", "copies")
    )?;
    Ok(())
}
