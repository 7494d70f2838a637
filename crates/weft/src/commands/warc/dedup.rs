//! `weft warc dedup`: replaces repeated payloads by revisit records.

use std::io::Write;
use std::path::{Path, PathBuf};

use inputs::path_text;
use serde::Serialize;
use warc::Compression;
use warc_tools::dedup::{self, DedupReport};

use super::output::{CompressionArgs, Progress, check_out_dir, size_bytes};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::style::clean;
use crate::units::{bytes, count, counted};

const EXAMPLES: &str = "\
Examples:
  weft warc dedup 2023.warc.gz 2024.warc.gz -o smaller/
  weft warc dedup crawls/*.warc.gz -o smaller/ --json

The first of equal payloads is kept, in the order of the files; later ones become revisit
records (identical-payload-digest) that refer to it and keep their HTTP header. All other
records are copied byte for byte. DIR gets one file per input: all of them or none.";

/// Flags of `weft warc dedup`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files of records, in the order of their crawls
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// Folder to write: missing or empty
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    compression: CompressionArgs,
}

#[derive(Serialize)]
struct Report {
    out: String,
    #[serde(flatten)]
    numbers: DedupReport,
}

/// Runs `weft warc dedup`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    check_out_dir(&args.out)?;
    // Validate the level before reading anything. The compression follows from the file's name.
    for input in &args.inputs {
        args.compression.compression(input, None)?;
    }
    let compression = |name: &Path| {
        args.compression
            .compression(name, None)
            .unwrap_or(Compression::GZIP)
    };
    let progress = Progress::new(context)?;
    let input_bytes = args.inputs.iter().map(|input| size_bytes(input)).sum();
    let relations = progress.step("reading", input_bytes, |each| {
        dedup::relations(&args.inputs, each)
    })?;
    let (written, numbers) = progress.step("writing", input_bytes, |each| {
        dedup::write(&args.inputs, &args.out, &relations, &compression, each)
    })?;
    progress.put_folder(written)?;
    let report = Report {
        out: path_text(&args.out),
        numbers,
    };
    if context.json {
        context.out.json(&report)?
    } else {
        print(&report, context)?
    }
    Ok(Outcome::Done)
}

fn print(report: &Report, context: &mut Context) -> anyhow::Result<()> {
    let numbers = &report.numbers;
    let out = &mut context.out;
    writeln!(
        out,
        "{}: {}, {}, {} of {}",
        clean(&report.out),
        counted(numbers.files, "file", "files"),
        counted(numbers.records, "record", "records"),
        bytes(numbers.output_bytes),
        bytes(numbers.input_bytes)
    )?;
    writeln!(
        out,
        "{}, without {} of payload",
        counted(
            numbers.revisits,
            "response became a revisit",
            "responses became revisits"
        ),
        bytes(numbers.payload_bytes)
    )?;
    if numbers.differing > 0 {
        let number = count(numbers.differing);
        writeln!(
            out,
            "{number} kept although their payload occurred before: they declare another digest"
        )?;
    }
    if numbers.referred > 0 {
        let number = count(numbers.referred);
        writeln!(
            out,
            "{number} kept although their payload occurred before: revisits refer to them"
        )?;
    }
    Ok(())
}
