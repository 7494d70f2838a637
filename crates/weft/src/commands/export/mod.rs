//! `weft export`: exports captures for other tools, as a package, a WARC file or an index.

mod bag;
mod search_selection;
mod serving;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::Archive;
use export::{ExportReport, IndexForm, Subset};

use super::search::export::{bar, report};
use crate::ask;
use crate::context::Context;
use crate::outcome::{NotFound, Outcome, WrongUse};
use crate::part_file::{PartFile, check_name, refuse_existing};
use crate::stop::Stop;
use crate::style::clean;

const EXAMPLES: &str = "\
Examples:
  weft export --wacz museum.wacz --url-prefix http://museum.example/
  weft export --warc autumn.warc.gz --collection autumn
  weft export --wacz whole.wacz --with-requests       with requests and metadata records
  weft export --wacz flood.wacz 'flood from:1996 to:2010'   pages found, with their images and styles
  weft export --cdxj index.cdxj                       all captures
  weft export --zipnum indexes/                       a new folder that pywb can read
  weft export --bag autumn --collection autumn        its original files, as a bag
  weft export --serving tables/                       sorted tables of the whole archive
  weft export --serving s3://bucket/web               the same, in a store

Records are copied byte for byte. With a revisit, the record whose payload it repeats is also
written, and with a page its attachments (rendered text, pictures). Captures that are taken down, or
hidden from the groups of --as, are skipped.
A bag (BagIt 1.0, RFC 8493) contains whole files and packages, each compared with its digest in the
ledger while it is copied. Files from which anything is taken down are left out. Files that were not
loaded to their end are in it as they are now, and named, unless a takedown is in force.
Serving tables (docs/format-serving.md) answer look-ups without the archive. A second export to the
same folder adds a newer batch and replaces its manifest; files of older batches stay.
With a QUERY (syntax of weft search) the pages found are written, as of that time, together with
everything a browser loads for them; this selection is held in memory.
For lists of results: weft search QUERY --export csv -o FILE.
Exit code 1: there is no capture to export, and no file is written; or a record or file could not be
written: it is named, and the others are written.";

const FEW_EXAMPLES: &str = "\
Examples:
  weft export --wacz museum.wacz --url-prefix http://museum.example/
  weft export --warc autumn.warc.gz --collection autumn
  weft export --cdxj index.cdxj                       all captures";

/// Flags of `weft export`.
#[derive(Debug, clap::Args)]
#[command(after_help = FEW_EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    to: To,
    /// Only pages that match this search query (see weft search), with the resources they load
    #[arg(conflicts_with_all = ["url_prefix", "collection"])]
    query: Vec<String>,
    #[command(flatten)]
    of_query: search_selection::Args,
    /// Only captures of URLs that begin with this [default: all]
    #[arg(long, value_name = "URL")]
    url_prefix: Option<String>,
    /// Only captures of this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// With --wacz or --warc: include the request and metadata records of the captures; this reads
    /// their files once more
    #[arg(long)]
    with_requests: bool,
}

/// The output format and path. Existing files are not overwritten.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct To {
    /// Package (WACZ 1.1.1): records, index, pages
    #[arg(long, value_name = "FILE")]
    wacz: Option<PathBuf>,
    /// Gzipped WARC file
    #[arg(long, value_name = "FILE")]
    warc: Option<PathBuf>,
    /// Index with one JSON object per line
    #[arg(long, value_name = "FILE")]
    cdxj: Option<PathBuf>,
    /// Index of nine columns
    #[arg(long, value_name = "FILE")]
    cdx9: Option<PathBuf>,
    /// Index of eleven columns
    #[arg(long, value_name = "FILE")]
    cdx11: Option<PathBuf>,
    /// Index as a ZipNum cluster, in a new folder
    #[arg(long, value_name = "DIR")]
    zipnum: Option<PathBuf>,
    /// Input files as a bag with manifests, in a new folder
    #[arg(long, value_name = "DIR")]
    bag: Option<PathBuf>,
    /// Sorted Parquet tables that answer look-ups, in a folder or at an address of a store
    #[arg(long, value_name = "DIR")]
    serving: Option<PathBuf>,
}

/// Runs `weft export`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let path = args.to.path().to_owned();
    check_name(&path)?;
    if let Some(place) = &args.to.serving {
        if args.is_part() {
            let whole = "--serving writes tables of the whole archive: it takes no query and no flag for a part of it";
            return Err(WrongUse(whole.to_owned()).into());
        }
        return serving::run(place, context);
    }
    refuse_existing(&path)?;
    if args.with_requests && args.to.wacz.is_none() && args.to.warc.is_none() {
        let which = "--with-requests requires --wacz or --warc";
        return Err(WrongUse(which.to_owned()).into());
    }
    if args.to.bag.is_some() {
        if args.url_prefix.is_some() || !args.query.is_empty() {
            let whole = "a bag contains whole files: --bag cannot be used with --url-prefix or a query";
            return Err(WrongUse(whole.to_owned()).into());
        }
        return bag::run(args.collection.as_deref(), &path, context);
    }
    let archive = ask::open(context)?;
    let (bar, stop) = (bar(true), Stop::listen()?);
    let (subset, mut left_out) = if args.query.is_empty() {
        let (url_prefix, collection) = (args.url_prefix, args.collection);
        let part = Subset::Part {
            url_prefix,
            collection,
        };
        (part, Vec::new())
    } else {
        let found = search_selection::find(&archive, &args.of_query, &args.query.join(" "), &bar, &stop)?;
        for note in &found.notes {
            eprintln!("note: {}", clean(note));
        }
        (Subset::Chosen(found.chosen), found.left_out)
    };
    let mut progress = |done: u64| {
        bar.set_length(done);
        bar.set_position(done);
        !stop.is_requested()
    };
    let exported = args
        .to
        .write(&archive, &subset, args.with_requests, &mut progress);
    bar.finish_and_clear();
    let mut exported = exported.with_context(|| format!("write {}", path.display()))?;
    exported.left_out.append(&mut left_out);
    if exported.results > 0 {
        return report(&exported, Some(&path), ["capture", "captures"], context);
    }
    report(&exported, None, ["capture", "captures"], context)?;
    let nothing = format!("no capture to export; {} was not written", path.display());
    Err(NotFound(nothing).into())
}

impl Args {
    /// Returns whether a flag selects a part of the archive, or other records.
    fn is_part(&self) -> bool {
        let is_selected = self.url_prefix.is_some() || self.collection.is_some();
        is_selected || self.with_requests || !self.query.is_empty()
    }
}

impl To {
    fn path(&self) -> &Path {
        let To {
            wacz,
            warc,
            cdxj,
            cdx9,
            cdx11,
            zipnum,
            bag,
            serving,
        } = self;
        let given = [wacz, warc, cdxj, cdx9, cdx11, zipnum, bag, serving]
            .into_iter()
            .flatten()
            .next();
        given.map_or(Path::new(""), PathBuf::as_path)
    }

    /// Returns the format of an index that is a single file.
    fn index_form(&self) -> IndexForm {
        match (&self.cdx9, &self.cdx11) {
            (Some(_), _) => IndexForm::Cdx9,
            (_, Some(_)) => IndexForm::Cdx11,
            _ => IndexForm::Cdxj,
        }
    }

    fn write(
        &self,
        archive: &Archive,
        subset: &Subset,
        with_requests: bool,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> anyhow::Result<ExportReport> {
        if let Some(path) = &self.zipnum {
            let part = PartFile::begin_folder(path)?;
            let making = part.temporary_path();
            let file = |name: &str| Ok::<_, std::io::Error>(BufWriter::new(File::create(making.join(name))?));
            let [mut members, mut second, mut places] =
                [file("cdx-00000.gz")?, file("cluster.idx")?, file("cluster.loc")?];
            let exported = export::write_zipnum(
                archive,
                subset,
                [&mut members, &mut second, &mut places],
                progress,
            )?;
            for file in [members, second, places] {
                synced(file)?;
            }
            return finished(part, exported);
        }
        let (part, file) = PartFile::begin(self.path())?;
        let exported = if self.wacz.is_some() {
            export::write_wacz(archive, subset, with_requests, file, progress)?
        } else {
            let mut out = BufWriter::new(file);
            let exported = match &self.warc {
                Some(_) => export::write_warc(archive, subset, with_requests, &mut out, progress)?,
                None => export::write_index(archive, subset, self.index_form(), &mut out, progress)?,
            };
            synced(out)?;
            exported
        };
        finished(part, exported)
    }
}

/// Gives the output its name, unless it has no capture: an empty package passes for a complete one.
fn finished(part: PartFile, exported: ExportReport) -> anyhow::Result<ExportReport> {
    if exported.results > 0 {
        part.finish()?;
    }
    Ok(exported)
}

fn synced(mut out: BufWriter<File>) -> anyhow::Result<()> {
    out.flush()?;
    out.get_ref().sync_all()?;
    Ok(())
}
