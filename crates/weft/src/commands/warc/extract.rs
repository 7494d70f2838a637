//! `weft warc extract`: extracts single records of a file, or their payloads.

use std::ffi::OsString;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use extract::PayloadReader;
use serde::Serialize;
use warc::{Input, Kind};
use warc_tools::extract::{FoundRecord, Selector, find, open, uncompressed_reader};

use super::output::{Progress, check_out};
use crate::commands::inspect::files;
use crate::commands::record::part::{Part, write_decoded, write_headers};
use crate::context::Context;
use crate::flag_values::whole_from;
use crate::outcome::{Outcome, WrongUse};
use crate::part_file::PartFile;
use crate::store_args::StoreArgs;
use crate::style::clean;
use crate::units::counted;

const EXAMPLES: &str = "\
Examples:
  weft warc extract crawl.warc.gz --offset 4821
  weft warc extract crawl.warc.gz --url http://www.iana.org/ --payload > page.html
  weft warc extract crawl.warc.gz --record-id '<urn:uuid:...>' --stored -o one.warc.gz
  weft warc extract crawl.warc.gz --url http://www.iana.org/ --json      their location, not their bytes

Records are written one after the other, as in an uncompressed file. --payload and --headers write
those of one record: with --url, of its only response, resource or conversion. Digests declared by
a record are checked.
Exit code 1: a record is damaged, or there is none.";

/// Flags of `weft warc extract`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// File of records (WARC or ARC, compressed or not), or its address (s3://, https://, store://)
    #[arg(value_name = "FILE")]
    input: OsString,
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    part: Part,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// Replace OUT if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// The store that holds `store://` inputs.
    #[command(flatten)]
    place: StoreArgs,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct WhichArgs {
    /// Record that begins at this byte of the file
    #[arg(long, value_name = "BYTES", value_parser = whole_from(0_u64, 4096))]
    offset: Option<u64>,
    /// Records with this id
    #[arg(long, value_name = "ID")]
    record_id: Option<String>,
    /// Records of this URL
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// A found record, for `--json`.
#[derive(Serialize)]
struct Row<'a> {
    offset: u64,
    length: u64,
    #[serde(rename = "type")]
    kind: &'static str,
    url: Option<&'a str>,
    date: Option<&'a str>,
    /// Defects, each with its reason and details.
    defects: Vec<String>,
}

/// Runs `weft warc extract`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    context.remote_inputs.use_given(&args.place);
    let sources = context.remote_inputs.sources();
    let locations = files::expand(std::slice::from_ref(&args.input), &sources)?;
    let [location] = &locations[..] else {
        let several = format!(
            "got {}; name one file",
            counted(locations.len() as u64, "file", "files")
        );
        return Err(WrongUse(several).into());
    };
    if args.out.as_deref() == Some(Path::new("-")) {
        let message = "records go to standard output without -o; remove -o -";
        return Err(WrongUse(message.to_owned()).into());
    }
    if let Some(out) = &args.out {
        check_out(out, &[Path::new(&args.input)], args.force)?;
    }
    let input = sources
        .open(location)
        .with_context(|| format!("read {location}"))?;
    let size_bytes = input.size().with_context(|| format!("read {location}"))?;
    let which = args.which.which();
    let progress = Progress::new(context)?;
    let mut found = progress.step("looking", size_bytes, |each| find(&input, location, &which, each))?;
    if args.part.payload || args.part.headers {
        choose_one(&mut found, args)?;
    }
    if found.is_empty() {
        return Err(anyhow!("{location} has no record {}", args.which.described()));
    }
    if context.json {
        for found in &found {
            context.out.json(&row(found))?;
        }
    } else {
        let file = (&input, &**location);
        match &args.out {
            None => write(file, &found, &args.part, &mut context.out)?,
            Some(out) => write_file(file, &found, args, out)?,
        }
    }
    context.out.flush()?;
    Ok(print_damage(location, &found))
}

impl WhichArgs {
    fn which(&self) -> Selector {
        match (self.offset, &self.record_id, &self.url) {
            (Some(offset), ..) => Selector::At(offset),
            (_, Some(id), _) => Selector::Id(id.clone()),
            (_, _, url) => Selector::Url(url.clone().unwrap_or_default()),
        }
    }

    fn described(&self) -> String {
        match self.which() {
            Selector::At(offset) => format!("at offset {offset}"),
            Selector::Id(id) => format!("with the id {id}"),
            Selector::Url(url) => format!("of {url}"),
        }
    }
}

/// Narrows `found` to the one record whose payload or headers to write.
fn choose_one(found: &mut Vec<FoundRecord>, args: &Args) -> anyhow::Result<()> {
    let has_content =
        |found: &FoundRecord| matches!(found.kind, Kind::Response | Kind::Resource | Kind::Conversion);
    if args.which.url.is_some() && found.iter().any(has_content) {
        found.retain(has_content);
    }
    if found.len() > 1 {
        let offsets: Vec<String> = found
            .iter()
            .map(|found| {
                let date = found.date.as_deref().unwrap_or("without a date");
                format!(
                    "--offset {} ({}, {})",
                    found.offset,
                    found.kind.as_str(),
                    clean(date)
                )
            })
            .collect();
        let several = format!(
            "there are {} records {}; choose one: {}",
            found.len(),
            args.which.described(),
            offsets.join(", ")
        );
        return Err(WrongUse(several).into());
    }
    Ok(())
}

fn row(found: &FoundRecord) -> Row<'_> {
    let defect = |defect: &warc::Defect| format!("{}: {}", defect.reason, defect.detail);
    Row {
        offset: found.offset,
        length: found.length,
        kind: found.kind.as_str(),
        url: found.url.as_deref(),
        date: found.date.as_deref(),
        defects: found.defects.iter().map(defect).collect(),
    }
}

/// Writes to a file, which gets its name when it is complete.
fn write_file(
    input: (&Arc<dyn Input>, &str),
    found: &[FoundRecord],
    args: &Args,
    out: &Path,
) -> anyhow::Result<()> {
    let (part, mut file) = PartFile::begin(out)?;
    let written = write(input, found, &args.part, &mut file)
        .and_then(|()| Ok(file.sync_all()?))
        .and_then(|()| Ok(part.finish()?));
    written.with_context(|| format!("write {}", out.display()))
}

fn write(
    (input, name): (&Arc<dyn Input>, &str),
    found: &[FoundRecord],
    part: &Part,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    for found in found {
        if part.headers {
            write_headers(open(input, name, found)?.0, out)?;
        } else if part.payload {
            let (opened, block_bytes) = open(input, name, found)?;
            let (kind, headers) = (opened.kind(), opened.headers().clone());
            let payload = PayloadReader::of_block(kind, &headers, opened.take(block_bytes), u64::MAX)?;
            write_decoded(payload, out)?;
        } else if part.stored {
            io::copy(&mut warc::raw_from(Arc::clone(input), name, found.offset)?, out)?;
        } else {
            io::copy(&mut uncompressed_reader(input, name, found)?, out)?;
        }
    }
    Ok(())
}

fn print_damage(location: &str, found: &[FoundRecord]) -> Outcome {
    let mut outcome = Outcome::Done;
    for found in found {
        for defect in &found.defects {
            eprintln!(
                "{} at {}: {}: {}",
                clean(location),
                found.offset,
                defect.reason,
                clean(&defect.detail)
            );
            outcome = Outcome::Losses;
        }
    }
    outcome
}
