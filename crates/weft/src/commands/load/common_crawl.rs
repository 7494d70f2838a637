//! `weft load cc:CC-MAIN-2026-43 --match URL`: fetches the selected captures of a Common Crawl
//! crawl into local files, and loads these.
//!
//! Invariants:
//! - A file of fetched records gets its name only when it is complete. An existing file is not
//!   fetched again.
//! - A file holds the selected records of one block of the crawl's index, or of one WAT or WET
//!   file. Its folder is named after the selection.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use cdx::{MatchType, url_pattern};
use data_encoding::HEXLOWER;
use inputs::common_crawl::{Crawl, CrawlError, FetchReport, FilterReport, Kind, Line};
use sha2::{Digest as _, Sha256};
use urlkey::KeyRange;
use warc::{Compression, Draft, Writer};

use crate::context::Context;
use crate::flag_values::{choice, whole_from};
use crate::outcome::WrongUse;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::style::clean;
use crate::units::{bytes, count, counted};

/// Prefix of Common Crawl inputs.
const SCHEME: &str = "cc:";

/// Files read in parallel. Common Crawl asks clients to use few connections and answers 503 beyond
/// that.
const CONNECTIONS: usize = 4;

/// Number of records between progress lines for a file that is read whole.
const TOLD_EVERY_RECORDS: u64 = 10_000;

/// Flags for inputs of Common Crawl.
#[derive(Debug, clap::Args)]
// `Args` is the group of the command's own flags.
#[group(skip)]
pub(super) struct Args {
    /// For cc: crawls: captures of URLs that begin with this; *.example.com selects a domain
    #[arg(long = "match", value_name = "URL", help_heading = "Common Crawl")]
    wanted: Option<String>,
    /// What to load of them: captures, their metadata and links, or their text. The latter two read
    /// whole files
    #[arg(
        long,
        value_parser = choice([("warc", Kind::Warc), ("wat", Kind::Wat), ("wet", Kind::Wet)]),
        value_name = "KIND",
        default_value = "warc",
        help_heading = "Common Crawl", hide_short_help = true)]
    kind: Kind,
    /// Maximum number of captures per crawl
    #[arg(long, value_name = "N", help_heading = "Common Crawl", value_parser = whole_from(1_u64, 1000))]
    limit: Option<u64>,
    /// Folder for fetched records; the archive reads them from there
    #[arg(
        long,
        value_name = "DIR",
        default_value = "common-crawl",
        help_heading = "Common Crawl",
        hide_short_help = true
    )]
    crawl_dir: PathBuf,
    /// Server that hosts the crawls
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://data.commoncrawl.org",
        help_heading = "Common Crawl",
        hide_short_help = true
    )]
    crawl_url: String,
}

/// Replaces Common Crawl inputs by local files of fetched records.
pub(super) fn fetch_inputs(
    inputs: &[OsString],
    args: &Args,
    context: &Context,
) -> anyhow::Result<Vec<OsString>> {
    let crawl_of = |input: &OsString| Some(input.to_str()?.strip_prefix(SCHEME)?.to_owned());
    let crawls: Vec<String> = inputs.iter().filter_map(crawl_of).collect();
    if crawls.is_empty() {
        return match &args.wanted {
            Some(_) => {
                Err(WrongUse("--match works only with cc: inputs (cc:CC-MAIN-2026-43)".to_owned()).into())
            }
            None => Ok(inputs.to_vec()),
        };
    }
    let Some(wanted) = &args.wanted else {
        let what = "select captures of the crawl with --match: a URL prefix, or a domain (*.example.com); \
                    to load a whole crawl, use its path list (weft load @warc.paths.gz)";
        return Err(WrongUse(what.to_owned()).into());
    };
    let selection = Selection::new(wanted)?;
    let crawls = crawls
        .iter()
        .map(|name| Crawl::new(&args.crawl_url, name).map_err(|error| WrongUse(error.to_string()).into()))
        .collect::<anyhow::Result<Vec<Crawl>>>()?;
    let stop = Stop::listen()?;
    let mut files: Vec<OsString> = inputs
        .iter()
        .filter(|input| crawl_of(input).is_none())
        .cloned()
        .collect();
    for crawl in &crawls {
        let fetcher = Fetcher {
            crawl,
            selection: &selection,
            kind: args.kind,
            dir: args.crawl_dir.join(crawl.name()).join(&selection.folder),
            context,
            stop: &stop,
        };
        let fetched = fetcher.run(args.limit.unwrap_or(u64::MAX))?;
        if fetched.is_empty() {
            bail!("{} has no capture of {wanted}", crawl.name());
        }
        files.extend(fetched.into_iter().map(PathBuf::into_os_string));
    }
    Ok(files)
}

/// The captures to fetch.
struct Selection {
    /// The selection as typed.
    text: String,
    ranges: Vec<KeyRange>,
    /// Name of the folder for fetched files.
    folder: String,
}

impl Selection {
    fn new(text: &str) -> anyhow::Result<Selection> {
        let wrong = |error: &dyn std::fmt::Display| WrongUse(format!("--match {text:?}: {error}"));
        let (url, match_type) = match url_pattern(text, None).map_err(|error| wrong(&error))? {
            (url, MatchType::Exact) => (url, MatchType::Prefix),
            starred => starred,
        };
        let url = if url.contains("://") {
            url.to_owned()
        } else {
            format!("http://{url}")
        };
        let ranges = urlkey::url_ranges(&url, match_type).map_err(|error| wrong(&error))?;
        // A readable name, unique for each selection.
        let plain: String = ranges
            .first()
            .map_or("", |range| range.start.as_str())
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(60)
            .collect();
        let mut digest = Sha256::new();
        for range in &ranges {
            digest.update(format!("{}\0{}\0", range.start, range.end));
        }
        let digest = HEXLOWER.encode(&digest.finalize()[..4]);
        Ok(Selection {
            text: text.to_owned(),
            ranges,
            folder: format!("{}-{digest}", plain.trim_matches('-')),
        })
    }
}

/// Returns what to check if the list of a crawl cannot be read.
fn advice(name: &str, error: ErrorKind) -> String {
    match error {
        // A web server without the right to list files refuses those that do not exist.
        ErrorKind::NotFound | ErrorKind::PermissionDenied => format!("does the crawl {name} exist?"),
        _ => "is the network up?".to_owned(),
    }
}

/// The state of fetching one crawl.
struct Fetcher<'a> {
    crawl: &'a Crawl,
    selection: &'a Selection,
    kind: Kind,
    dir: PathBuf,
    context: &'a Context,
    stop: &'a Stop,
}

impl Fetcher<'_> {
    /// Fetches the missing files. Returns the paths of all files of the selection.
    fn run(&self, limit: u64) -> anyhow::Result<Vec<PathBuf>> {
        let remote = self.context.remote_inputs.remote();
        let open = |address: &str| remote.open(address, None);
        let name = self.crawl.name();
        let cluster = self.crawl.cluster();
        progress_line(&format!("{name}: reading the list of its index, {cluster}"));
        let input = open(&cluster).map_err(|error| {
            let advice = advice(name, error.kind());
            anyhow::Error::new(error).context(format!("read {cluster}: {advice}"))
        })?;
        let blocks = inputs::common_crawl::blocks(&*input, &cluster, &self.selection.ranges)?;
        fs::create_dir_all(&self.dir).with_context(|| format!("make {}", self.dir.display()))?;
        let (mut left, mut lines, mut files) = (limit, Vec::new(), Vec::new());
        let all = blocks.len();
        for (number, block) in blocks.into_iter().enumerate() {
            if left == 0 {
                break;
            }
            self.check_stop()?;
            let address = self.crawl.in_indexes(&block.file);
            let input = open(&address).with_context(|| format!("read {address}"))?;
            let mut found = inputs::common_crawl::lines(&*input, &address, &block, &self.selection.ranges)?;
            let is_cut = found.len() as u64 > left;
            found.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            left -= found.len() as u64;
            if found.is_empty() {
                continue;
            }
            if self.kind != Kind::Warc {
                lines.extend(found);
                continue;
            }
            let stem = block.file.trim_end_matches(".gz");
            let cut = if is_cut {
                format!("-first-{}", found.len())
            } else {
                String::new()
            };
            let file = self.dir.join(format!("{stem}-{}{cut}.warc.gz", block.offset));
            if !file.exists() {
                self.fetch(&found, &file, &|address: &str| open(address))?;
            }
            progress_line(&format!(
                "{name}: block {} of {}, {}",
                count(number as u64 + 1),
                count(all as u64),
                clean(&file.display().to_string())
            ));
            files.push(file);
        }
        if self.kind != Kind::Warc {
            files = self.filter_all(&lines, &|address: &str| open(address))?;
        }
        Ok(files)
    }

    fn check_stop(&self) -> anyhow::Result<()> {
        if self.stop.is_requested() {
            bail!("stopped; run the same command again to continue")
        } else {
            Ok(())
        }
    }

    fn fetch(
        &self,
        lines: &[Line],
        file: &Path,
        open: &inputs::common_crawl::Open<'_>,
    ) -> anyhow::Result<()> {
        let name = self.crawl.name();
        let mut told = 0;
        self.make(file, |out| {
            inputs::common_crawl::fetch(
                self.crawl,
                lines,
                open,
                CONNECTIONS,
                out,
                &mut |fetched: FetchReport| {
                    if fetched.records >= told + 500 {
                        told = fetched.records;
                        progress_line(&format!(
                            "{name}: {} of {} records, {}",
                            count(told),
                            count(lines.len() as u64),
                            bytes(fetched.bytes)
                        ));
                    }
                    !self.stop.is_requested()
                },
            )
            .map(drop)
        })
    }

    /// Reads the WAT or WET files that contain the captures of these index lines.
    fn filter_all(
        &self,
        lines: &[Line],
        open: &inputs::common_crawl::Open<'_>,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let (name, kind) = (self.crawl.name(), self.kind);
        let paths = kind.paths(lines);
        progress_line(&format!(
            "{name}: {} in {} files of {kind}, which are read completely",
            counted(lines.len() as u64, "capture", "captures"),
            count(paths.len() as u64)
        ));
        let mut files = Vec::new();
        for path in paths {
            self.check_stop()?;
            let address = self.crawl.file(&path);
            // The last segment of a path in the index: it contains no slash and is not `..`.
            let file = self.dir.join(path.rsplit('/').next().unwrap_or_default());
            if !file.exists() {
                let input = open(&address).with_context(|| format!("read {address}"))?;
                self.make(&file, |out| {
                    let ranges = &self.selection.ranges;
                    let goes_on = &mut |filtered: FilterReport| {
                        if filtered.read.is_multiple_of(TOLD_EVERY_RECORDS) {
                            progress_line(&format!(
                                "{address}: {} records read, {} kept",
                                count(filtered.read),
                                count(filtered.records)
                            ));
                        }
                        !self.stop.is_requested()
                    };
                    inputs::common_crawl::filter(input, &address, ranges, out, goes_on).map(drop)
                })?;
            }
            files.push(file);
        }
        Ok(files)
    }

    /// Writes a file of records. It gets its name once it is complete and synced.
    fn make(
        &self,
        file: &Path,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), CrawlError>,
    ) -> anyhow::Result<()> {
        let mut begun = file.as_os_str().to_owned();
        begun.push(".fetching");
        let begun = PathBuf::from(begun);
        let made = || -> anyhow::Result<()> {
            let mut out = self.begin(&begun).context("start the file")?;
            write(&mut out)?;
            let out = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            out.sync_all()?;
            fs::rename(&begun, file)?;
            Ok(())
        };
        let ended = made();
        if ended.is_err() {
            // A leftover is overwritten by the next attempt anyway.
            let _ = fs::remove_file(&begun);
        }
        match ended {
            Err(error) if matches!(error.downcast_ref(), Some(CrawlError::Stopped)) => self.check_stop(),
            ended => ended.with_context(|| format!("fetch {}", file.display())),
        }
    }

    /// Creates a file that begins with a record about the source of the others (ISO 28500, section
    /// 6.2).
    fn begin(&self, path: &Path) -> std::io::Result<BufWriter<File>> {
        let (crawl, index) = (self.crawl.name(), self.crawl.cluster());
        let description = format!(
            "{} records of {crawl} that match {}",
            self.kind, self.selection.text
        );
        let software = format!("weft {}", archive::VERSION);
        let fields = [
            ("software", software.as_str()),
            ("format", "WARC File Format 1.1"),
            ("isPartOf", crawl),
            ("description", &description),
            ("source", &index),
        ];
        let now_ms = system::time_ms();
        let info = Draft::warcinfo(now_ms, &fields);
        let mut writer = Writer::new(BufWriter::new(File::create(path)?), Compression::GZIP)?;
        writer.write(&info)?;
        let mut out = writer.finish()?;
        out.flush()?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_list_asks_whether_the_crawl_exists() {
        for (kind, expected) in [
            (ErrorKind::NotFound, "does the crawl X exist?"),
            (ErrorKind::PermissionDenied, "does the crawl X exist?"),
            (ErrorKind::Other, "is the network up?"),
            (ErrorKind::TimedOut, "is the network up?"),
        ] {
            assert_eq!(advice("X", kind), expected, "{kind:?}");
        }
    }

    #[test]
    fn each_selection_has_a_folder_of_its_own() {
        let folder = |text: &str| Selection::new(text).expect("a valid selection").folder;
        let all = [
            "example.com/a",
            "example.com/a/",
            "*.example.com",
            "example.com",
            "example.org",
        ]
        .map(folder);
        assert_eq!(folder("http://example.com/a"), all[0]);
        assert_eq!(folder("example.com/a*"), all[0]);
        for (n, one) in all.iter().enumerate() {
            assert!(
                one.starts_with("com-example") || one.starts_with("org-example"),
                "{one}"
            );
            assert!(!all[..n].contains(one), "{one}");
        }
        assert!(Selection::new("http://").is_err());
    }
}
