//! Exports captures as a package: WACZ 1.1.1, with records, index and pages, each with its digest.
//!
//! Records are written directly into the package. The index and the lists of pages are built in
//! unnamed files, and follow.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, Write};

use archive::Archive;
use archive::question::{Page, PageBody};
use cdx::{CdxRow, cdxj_line};
use inputs::{MAIN_LIST, digest_text};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::Subset;
use super::hashing_writer::HashingWriter;
use super::pages::{PageFiles, Pages};
use super::sorted_lines::SortedLines;
use super::warc_file::{WarcFile, WrittenCapture};
use super::zipnum::{Block, ZipNum};
use crate::results::{AskFn, ExportError, ExportReport};

/// Name of the file of records, which the lines of the index repeat.
const WARC: &str = "data.warc.gz";

/// Version of the specification.
const WACZ_VERSION: &str = "1.1.1";

const SOFTWARE: &str = concat!("weft/", env!("CARGO_PKG_VERSION"));

/// Writes captures into a package (WACZ); if `with_requests`, also their records of requests
/// and metadata. `progress` gets the number of captures read so far, and returns whether to
/// continue.
///
/// # Errors
/// [`ExportError`].
pub fn write_wacz(
    archive: &Archive,
    subset: &Subset,
    with_requests: bool,
    out: File,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<ExportReport, ExportError> {
    let ask = |question| archive.ask(question);
    let mut package = Package::begin(out).map_err(ExportError::Output)?;
    package
        .start("archive/data.warc.gz")
        .map_err(ExportError::Output)?;
    let mut index = PackageIndex::begin(subset).map_err(ExportError::Output)?;
    let mut warc = WarcFile::begin(&ask, archive.sources(), subset, with_requests, &mut package.zip)?;
    let index_only = subset.for_each(&ask, false, progress, &mut |row| {
        for written in warc.put(&row)? {
            index.put(&ask, written)?;
        }
        Ok(())
    })?;
    warc.end_key()?;
    let captures = warc.exported.results;
    let mut should_continue = || progress(captures);
    warc.put_related(&mut should_continue)?;
    let (mut exported, bytes) = (std::mem::take(&mut warc.exported), warc.out.bytes);
    exported.index_only = index_only;
    let (_, digest) = warc.out.finish();
    package.listed("archive/data.warc.gz", bytes, digest);
    let problems = index.pages.read_lists(&ask, &mut should_continue)?;
    exported.problems.extend(problems);
    let title = ("title".to_owned(), Value::from(subset.described()));
    index
        .finish(&mut package)
        .and_then(|()| package.finish(Map::from_iter([title])))
        .map_err(ExportError::Output)?;
    Ok(exported)
}

/// The parts that follow the records.
struct PackageIndex {
    index: SortedLines,
    pages: Pages,
    /// The current URL key. The index has its captures in the order of time.
    key: String,
    of_key: Vec<CdxRow>,
    /// The page of that URL, if known.
    page: Option<PageBody>,
}

impl PackageIndex {
    fn begin(subset: &Subset) -> io::Result<PackageIndex> {
        // A search result counts as a page even if its package does not list it.
        let pages = Pages::new(matches!(subset, Subset::Chosen(_)));
        Ok(PackageIndex {
            index: SortedLines::new(BufWriter::new(tempfile::tempfile()?)),
            pages,
            key: String::new(),
            of_key: Vec::new(),
            page: None,
        })
    }

    fn put(&mut self, ask: &AskFn<'_>, written: WrittenCapture) -> Result<(), ExportError> {
        let WrittenCapture {
            mut row,
            name,
            location,
        } = written;
        if self.key != row.url_key {
            self.end_key().map_err(ExportError::Output)?;
            self.key.clone_from(&row.url_key);
        }
        let mut listed = None;
        if is_page(&row) {
            if self.page.is_none() {
                let question = Page {
                    url: row.url_key.clone(),
                };
                self.page = Some(ask(question.into())?.to::<Page>()?.body);
            }
            let title = self.page.as_ref().map_or("", |page| title_of(page, &row));
            // The id depends on the capture alone: exporting again gives the same ids.
            let id = digest_text(&Sha256::digest(format!("{} {}", row.fetch_time, row.url)));
            let id = &id["sha256:".len()..][..32];
            listed = Some(json!({"id": id, "url": row.url, "ts": row.fetch_time, "title": title}));
        }
        let pages = self.pages.push(&row, &name, &location, listed);
        pages.map_err(ExportError::Output)?;
        // The row names its source, but in the package all records are in one file.
        row.filename = WARC.to_owned();
        self.of_key.push(row);
        Ok(())
    }

    fn end_key(&mut self) -> io::Result<()> {
        self.page = None;
        self.of_key.sort_by(|a, b| a.timestamp.cmp(&b.timestamp));
        for row in self.of_key.drain(..) {
            self.index.push(cdxj_line(&row))?;
        }
        Ok(())
    }

    fn finish(mut self, package: &mut Package) -> io::Result<()> {
        self.end_key()?;
        let index = self.index;
        package.put_index(|each| index.finish(each))?;
        let PageFiles { main, extra } = self.pages.finish()?;
        package.put_file(MAIN_LIST, main)?;
        match extra {
            Some(extra) => package.put_file("pages/extraPages.jsonl", extra),
            None => Ok(()),
        }
    }
}

fn index_line(block: &Block) -> String {
    let Block {
        place,
        offset,
        length,
        digest,
        ..
    } = block;
    let object = json!({"offset": offset, "length": length, "digest": digest});
    format!("{place} {object}\n")
}

/// Returns whether players should list the capture as a page.
fn is_page(row: &CdxRow) -> bool {
    row.status == 200
        && matches!(&*row.mime, "text/html" | "application/xhtml+xml")
        && matches!(&*row.method, "" | "GET")
}

/// Returns the title of the page at the time of a capture, if known.
fn title_of<'p>(page: &'p PageBody, row: &CdxRow) -> &'p str {
    let is_current = page
        .current
        .as_ref()
        .is_some_and(|current| current.digest == row.digest);
    let then = |version: &&archive::question::PastVersionRow| {
        version.since <= row.fetch_time && row.fetch_time < version.until
    };
    match page.past_versions.iter().find(then) {
        Some(version) => &version.title,
        None if is_current => &page.title,
        None => "",
    }
}

/// A package being written.
pub(crate) struct Package {
    zip: ZipWriter<BufWriter<File>>,
    resources: Vec<Value>,
}

impl Package {
    pub(crate) fn begin(out: File) -> io::Result<Package> {
        Ok(Package {
            zip: ZipWriter::new(BufWriter::new(out)),
            resources: Vec::new(),
        })
    }

    /// Begins a member. It is stored uncompressed, so that it can be read by ranges.
    fn start(&mut self, name: &str) -> io::Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(true);
        self.zip.start_file(name, options).map_err(io::Error::from)
    }

    /// Adds a member with its digest to the description.
    fn listed(&mut self, path: &str, bytes: u64, hash: String) {
        // Names are in lower case (Data Package, "name"), unlike paths.
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        self.resources
            .push(json!({"name": name, "path": path, "hash": hash, "bytes": bytes}));
    }

    /// Adds a member with the bytes that `write` writes.
    pub(crate) fn put(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.start(name)?;
        let mut out = HashingWriter::new(&mut self.zip);
        write(&mut out)?;
        let (bytes, (_, digest)) = (out.bytes, out.finish());
        self.listed(name, bytes, digest);
        Ok(())
    }

    fn put_file(&mut self, name: &str, file: BufWriter<File>) -> io::Result<()> {
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.put(name, |out| io::copy(&mut BufReader::new(file), out).map(drop))
    }

    /// Adds the index. `lines` passes its lines of CDXJ on, in order.
    pub(crate) fn put_index(
        &mut self,
        lines: impl FnOnce(&mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()>,
    ) -> io::Result<()> {
        let file = || tempfile::tempfile().map(BufWriter::new);
        let mut second = file()?;
        // Players learn from this line that the index is compressed and where it is.
        let head = json!({"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"});
        writeln!(second, "!meta 0 {head}")?;
        let mut index = ZipNum::new(file()?, second, index_line);
        lines(&mut |line| index.push_line(line))?;
        let (index, second) = index.finish()?;
        self.put_file("indexes/index.cdx.gz", index)?;
        self.put_file("indexes/index.idx", second)
    }

    /// Writes the description, with these further fields.
    pub(crate) fn finish(mut self, fields: Map<String, Value>) -> io::Result<()> {
        let now_ms = system::time_ms();
        let mut described = json!({
            "profile": "data-package",
            "wacz_version": WACZ_VERSION,
            "software": SOFTWARE,
            "created": format::date::iso_short(now_ms),
            "resources": self.resources,
        });
        for (name, value) in fields {
            described[name] = value;
        }
        let described = serde_json::to_vec_pretty(&described)?;
        // WACZ stores the digest of the description in a second file, which can hold a signature.
        let digest = json!({"path": "datapackage.json", "hash": digest_text(&Sha256::digest(&described))});
        self.start("datapackage.json")?;
        self.zip.write_all(&described)?;
        self.start("datapackage-digest.json")?;
        self.zip.write_all(&serde_json::to_vec_pretty(&digest)?)?;
        let out = self.zip.finish().map_err(io::Error::from)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_html_that_a_get_was_answered_with() {
        for (status, mime, method, expected) in [
            (200, "text/html", "", true),
            (200, "application/xhtml+xml", "GET", true),
            (200, "text/html", "POST", false),
            (404, "text/html", "GET", false),
            (200, "image/png", "GET", false),
        ] {
            let row = CdxRow {
                status,
                mime: mime.into(),
                method: method.into(),
                ..CdxRow::default()
            };
            assert_eq!(is_page(&row), expected, "{row:?}");
        }
    }
}
