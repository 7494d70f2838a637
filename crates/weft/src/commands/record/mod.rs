//! `weft record`: prints the archived record of a URL, or its payload.
//!
//! The archive returns the location of the record. This command reads its bytes directly from the
//! input, by a range request if it is remote.

pub(super) mod part;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use archive::question::{CaptureKind, Record, RecordBody};
use archive::{Interrupt, RecordError};
use inputs::Sources;
use warc::{Input as _, OpenRecord, ReadError};

use self::part::{Part, write_headers, write_payload, write_record_head};

use crate::ask;
use crate::context::Context;
use crate::flag_values::moment;
use crate::outcome::Outcome;
use crate::part_file::{is_standard_output, refuse_existing};
use crate::store_args::StoreArgs;

/// Number of bytes read at a time.
const PIECE_BYTES: usize = 256 << 10;

const EXAMPLES: &str = "\
Examples:
  weft record http://www.iana.org/                    the record of the current version
  weft record http://www.iana.org/ --at 2014-01-26    the capture nearest to a time
  weft record http://www.iana.org/ --payload > page.html
  weft record urn:text:http://www.iana.org/ --payload           the text that the crawler added
  weft record http://www.iana.org/ --capture 1858,one.warc.gz   an attachment, as weft page lists it
  weft record http://www.iana.org/ --stored --out one.warc.gz
  weft record http://www.iana.org/ --json             its location, not its bytes";

/// Flags of `weft record`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// URL or URL key, or the address of an attachment that names its page (urn:text:URL)
    url: String,
    /// Capture nearest to this time (2014, 20140126200624, 2014-01-26, 20140126200624123 with
    /// milliseconds) [default: the current version]
    #[arg(long, value_name = "TIME", value_parser = moment())]
    at: Option<String>,
    /// Exact capture by its location, as shown by `weft cdx`: several may share one second
    #[arg(long, value_name = "OFFSET,FILENAME")]
    capture: Option<String>,
    #[command(flatten)]
    part: Part,
    /// Write to a file instead of standard output; an existing one is not overwritten
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The store that holds inputs loaded from `store://`.
    #[command(flatten)]
    place: StoreArgs,
}

/// Runs `weft record`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    context.remote_inputs.use_given(&args.place);
    let question = Record {
        url: args.url.clone(),
        at: args.at.clone(),
        capture: args.capture.clone(),
        fuzzy: false,
        with_content: false,
    };
    let Some(answer) = ask::ask_or_print(context, question)? else {
        return Ok(Outcome::Done);
    };
    let place = &answer.body;
    let sources = context
        .remote_inputs
        .sources()
        .with_own(archive::own_inputs(&context.archive));
    match args.out.as_deref().filter(|path| !is_standard_output(path)) {
        None => write_part(place, &sources, &args.part, &mut context.out.untrusted())?,
        Some(path) => {
            // A pipe or a device is written to.
            if !fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
                refuse_existing(path)?;
            }
            let mut file = File::create(path).with_context(|| format!("create {}", path.display()))?;
            write_part(place, &sources, &args.part, &mut file)
                .with_context(|| format!("write {}", path.display()))?;
        }
    }
    Ok(Outcome::Done)
}

fn write_part(
    place: &RecordBody,
    sources: &Sources,
    part: &Part,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    if part.stored {
        return write_stored(place, sources, out);
    }
    let place = if part.payload { with_payload(place)? } else { place };
    let record = open(place, sources)?;
    let damage = record.damage();
    match (part.headers, part.payload) {
        (true, _) => write_headers(record, out)?,
        (_, true) => write_payload(record, out)?,
        _ => write_whole(record, out)?,
    }
    match damage.get() {
        None => Ok(()),
        Some(defect) => bail!(
            "{}: the record at offset {} is damaged ({}: {}); the readable part was written",
            place.location,
            place.capture.offset,
            defect.reason,
            defect.detail
        ),
    }
}

/// Returns the record with the payload of a capture. For a revisit this is the capture it refers
/// to.
fn with_payload(place: &RecordBody) -> anyhow::Result<&RecordBody> {
    let capture = &place.capture;
    match (&place.original, capture.kind) {
        (Some(original), CaptureKind::Revisit) => Ok(original),
        (None, CaptureKind::Revisit) => bail!(
            "the capture of {} at {} is a revisit with the payload {}, and the archive has no capture with \
             this payload",
            capture.url,
            capture.fetch_time,
            capture.digest
        ),
        _ => Ok(place),
    }
}

/// Opens the record in its input. Its block is streamed.
fn open(place: &RecordBody, sources: &Sources) -> anyhow::Result<OpenRecord> {
    archive::open_record(sources, place, &Interrupt::new()).map_err(|error| match error {
        RecordError::Read(ReadError::NoRecord { path, offset }) => {
            anyhow!("{path} has no record at offset {offset}: did the file change since it was loaded?")
        }
        error => error.into(),
    })
}

/// Writes the record in uncompressed form. An ARC record is written as a WARC record.
fn write_whole(mut record: OpenRecord, out: &mut impl Write) -> io::Result<()> {
    write_record_head(&record, out)?;
    io::copy(&mut record, out)?;
    out.write_all(b"\r\n\r\n")
}

fn write_stored(place: &RecordBody, sources: &Sources, out: &mut impl Write) -> anyhow::Result<()> {
    // Opened only to check that this is the record that was loaded.
    open(place, sources)?;
    let describe = || format!("read {} at offset {}", place.location, place.capture.offset);
    let input = sources.open(&place.location).with_context(describe)?;
    let mut piece = vec![0; PIECE_BYTES];
    let (mut at, mut left) = (place.capture.offset, place.capture.length);
    while left > 0 {
        let wanted = left.min(PIECE_BYTES as u64) as usize;
        let read = input.read_at(&mut piece[..wanted], at).with_context(describe)?;
        if read == 0 {
            bail!(
                "{} ends in the middle of the record at offset {}",
                place.location,
                place.capture.offset
            );
        }
        out.write_all(&piece[..read])?;
        at += read as u64;
        left -= read as u64;
    }
    Ok(())
}
