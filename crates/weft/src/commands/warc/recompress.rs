//! `weft warc recompress`: rewrites a file with each record compressed separately.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use inputs::path_text;
use serde::Serialize;
use warc_tools::recompress::{self, RecompressReport};

use super::output::{CompressionArgs, Progress, check_out, size_bytes};
use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::style::clean;
use crate::units::{bytes, counted};

const EXAMPLES: &str = "\
Examples:
  weft warc recompress whole.warc.gz -o crawl.warc.gz            one member per record
  weft warc recompress crawl.warc.gz -o crawl.warc.zst --level 19
  weft warc recompress crawl.warc.gz -o crawl.warc.zst --dictionary train
  weft warc recompress crawl.warc.zst -o crawl.warc

The header and block of each record stay byte for byte: the output is read back and compared
before it gets its name. A damaged file is rejected; repair it with weft warc repair.";

/// Flags of `weft warc recompress`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// File of records (WARC or ARC, compressed or not)
    input: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    compression: CompressionArgs,
    /// Dictionary for zstd: 'train' builds one from the file's records, FILE takes it from a file
    /// that has one
    #[arg(long, value_name = "train|FILE")]
    dictionary: Option<PathBuf>,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Report {
    input: String,
    out: String,
    /// Size of the dictionary, uncompressed.
    dictionary_bytes: Option<u64>,
    #[serde(flatten)]
    numbers: RecompressReport,
}

/// Runs `weft warc recompress`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    check_out(&args.out, &[&args.input], args.force)?;
    // Report an invalid level or dictionary before reading anything.
    args.compression
        .compression(&args.out, args.dictionary.is_some().then(Vec::new))?;
    let progress = Progress::new(context)?;
    let input_bytes = size_bytes(&args.input);
    let dictionary = match args.dictionary.as_deref() {
        None => None,
        Some(name) if name == Path::new("train") => Some(progress.step("training", input_bytes, |each| {
            recompress::train(&args.input, &args.out, each)
        })?),
        Some(file) => Some(dictionary(file)?),
    };
    let dictionary_bytes = dictionary.as_ref().map(|dictionary| dictionary.len() as u64);
    let compression = args.compression.compression(&args.out, dictionary)?;
    let (written, numbers) = progress.step("writing", input_bytes, |each| {
        recompress::write(&args.input, &args.out, compression, each)
    })?;
    progress.put(written, args.force)?;
    let report = Report {
        input: path_text(&args.input),
        out: path_text(&args.out),
        dictionary_bytes,
        numbers,
    };
    if context.json {
        context.out.json(&report)?
    } else {
        print(&report, context)?
    }
    Ok(Outcome::Done)
}

fn dictionary(file: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = fs::read(file).with_context(|| format!("read {}", file.display()))?;
    if !warc::is_dictionary(&bytes) {
        let message = format!(
            "{} is not a zstd dictionary; make one with zstd --train, or use --dictionary train",
            file.display()
        );
        return Err(WrongUse(message).into());
    }
    Ok(bytes)
}

fn print(report: &Report, context: &mut Context) -> anyhow::Result<()> {
    let numbers = &report.numbers;
    let dictionary = report
        .dictionary_bytes
        .map(|size| format!(", a dictionary of {}", bytes(size)));
    writeln!(
        context.out,
        "{}: {}, {} of {}{}",
        clean(&report.out),
        counted(numbers.records, "record", "records"),
        bytes(numbers.output_bytes),
        bytes(numbers.input_bytes),
        dictionary.unwrap_or_default()
    )?;
    Ok(())
}
