//! Writes a generated web of any size (`weft synth`), as WARC or WAT files like those of a real
//! crawl.
//!
//! It has sites of all sizes, and in-degrees follow Zipf's law. Each page has about 13 links to
//! other sites, some tens of links within its site, and text in an invented language. A share of
//! the pages is crawled again with some links changed. A visit is three records (request, response,
//! metadata), in WAT about 9.6 KB compressed.
//!
//! Invariants:
//! - The settings `seed`, `pages` and `recrawls_permille` determine the content of the web. The
//!   same settings give the same bytes on any machine, with any number of threads.
//! - The page, date and links of a visit are the same in WARC and in WAT.
//! - Any visit can be computed separately ([`Crawl::page`]); only the list of chunks uses memory
//!   that grows with the web.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use serde::Serialize;

use ballast::Ballasts;
use member::Members;
use page::Crawl;

mod ballast;
mod member;
mod page;
mod random;
mod record;
mod warc;
mod wat;
mod web;
mod words;

#[cfg(test)]
mod tests;

/// Number of visits that a thread generates at a time: about 600 KB of WAT.
const CHUNK_VISITS: u64 = 64;

/// Number of chunks that a thread may be ahead of the file.
const CHUNKS_AHEAD: usize = 2;

/// Most pages: page numbers have 32 bits.
const PAGES_MAX: u64 = 1 << 32;

/// Format of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Requests and responses with HTML.
    Warc,
    /// Metadata of the records as JSON, in Common Crawl's format.
    Wat,
}

/// Settings of a generated web.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Number of visits, including re-crawls: 1 to 2^32.
    pub pages: u64,
    /// Seed of all pseudorandom choices.
    pub seed: u64,
    /// Format of the files.
    pub format: Format,
    /// Number of visits per thousand that re-crawl a page: at most 900.
    pub recrawls_permille: u64,
    /// Number of files: one has the given name, several are numbered.
    pub files: u64,
    /// Number of threads that generate records.
    pub threads: usize,
}

/// The result of writing a web.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The files, in order.
    pub files: Vec<PathBuf>,
    /// Number of visits written.
    pub pages: u64,
    /// Number of these visits that are re-crawls.
    pub recrawls: u64,
    /// Number of links on the written pages; each target counts once per page.
    pub links: u64,
    /// Number of these links that lead to other sites.
    pub links_external: u64,
    /// Size of the files in bytes.
    pub bytes: u64,
}

/// Why writing failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting is out of range.
    #[error("{name} is {found}, expected {expected}")]
    Setting {
        /// The name of the setting.
        name: &'static str,
        /// Its value.
        found: u64,
        /// Its range in human-readable form.
        expected: &'static str,
    },
    /// A file could not be written.
    #[error("write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The I/O error.
        source: std::io::Error,
    },
}

/// Writes the web of `settings` to `out`. Calls `progress` with the number of pages written after
/// each step.
///
/// # Errors
/// If a setting is out of range (nothing is written then), or a file cannot be written completely.
pub fn write(settings: &Settings, out: &Path, progress: &mut dyn FnMut(u64)) -> Result<Report, Error> {
    check(settings)?;
    let maker = Generator::new(settings);
    let chunks = chunks(settings);
    let threads = settings.threads.clamp(1, chunks.len().max(1));
    std::thread::scope(|scope| {
        let mut generated = Vec::with_capacity(threads);
        for thread in 0..threads {
            let (sender, receiver) = sync_channel(CHUNKS_AHEAD);
            let (maker, chunks) = (&maker, &chunks);
            scope.spawn(move || maker.make_every(threads, thread, chunks, out, &sender));
            generated.push(receiver);
        }
        write_files(settings, out, &chunks, generated, progress)
    })
}

fn check(settings: &Settings) -> Result<(), Error> {
    let bounds = [
        ("pages", settings.pages, 1..=PAGES_MAX, "1 to 4294967296"),
        (
            "re-crawls per thousand",
            settings.recrawls_permille,
            0..=900,
            "at most 900",
        ),
        (
            "files",
            settings.files,
            1..=settings.pages.max(1),
            "1 to the number of pages",
        ),
    ];
    for (name, found, bounds, expected) in bounds {
        if !bounds.contains(&found) {
            return Err(Error::Setting {
                name,
                found,
                expected,
            });
        }
    }
    Ok(())
}

/// Consecutive visits in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chunk {
    file: u64,
    /// Whether it is the first chunk of its file.
    first: bool,
    visits: Range<u64>,
}

/// Returns all chunks, in file order.
fn chunks(settings: &Settings) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for file in 0..settings.files {
        // Computed in 128 bits, because pages times files may exceed 64.
        let begin_of =
            |file: u64| (u128::from(settings.pages) * u128::from(file) / u128::from(settings.files)) as u64;
        let (begin, end) = (begin_of(file), begin_of(file + 1));
        let mut at = begin;
        while at < end {
            let next = (at + CHUNK_VISITS).min(end);
            chunks.push(Chunk {
                file,
                first: at == begin,
                visits: at..next,
            });
            at = next;
        }
    }
    chunks
}

/// The bytes of a chunk, and its part of the report.
#[derive(Debug, Default)]
struct GeneratedChunk {
    bytes: Vec<u8>,
    report: Report,
}

/// Generates visits in one of the two formats.
#[derive(Debug)]
struct Generator {
    crawl: Crawl,
    form: Form,
    files: u64,
}

#[derive(Debug)]
enum Form {
    Warc(warc::WarcForm),
    Wat(wat::WatForm),
}

impl Generator {
    fn new(settings: &Settings) -> Generator {
        let crawl = Crawl::new(settings.seed, settings.pages, settings.recrawls_permille);
        let form = match settings.format {
            Format::Warc => Form::Warc(warc::WarcForm {
                ballasts: Ballasts::of_html(&crawl.web),
            }),
            Format::Wat => Form::Wat(wat::WatForm {
                ballasts: Ballasts::of_wat(&crawl.web),
            }),
        };
        Generator {
            crawl,
            form,
            files: settings.files,
        }
    }

    /// Generates every `step`th chunk from `first` on, until the receiver is dropped.
    fn make_every(
        &self,
        step: usize,
        first: usize,
        chunks: &[Chunk],
        out: &Path,
        sender: &SyncSender<GeneratedChunk>,
    ) {
        let mut members = Members::new();
        for chunk in chunks.iter().skip(first).step_by(step) {
            // Sending blocks when the thread is `CHUNKS_AHEAD` chunks ahead of the file, which
            // bounds memory.
            if sender.send(self.make(chunk, out, &mut members)).is_err() {
                return;
            }
        }
    }

    fn make(&self, chunk: &Chunk, out: &Path, members: &mut Members) -> GeneratedChunk {
        let mut generated = GeneratedChunk::default();
        if chunk.first {
            let path = file_path(out, chunk.file, self.files);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            warc::append_warcinfo(self.crawl.web.seed, &name, members, &mut generated.bytes);
        }
        for index in chunk.visits.clone() {
            self.make_visit(index, members, &mut generated);
        }
        generated
    }

    fn make_visit(&self, index: u64, members: &mut Members, generated: &mut GeneratedChunk) {
        let visit = self.crawl.visit(index);
        // Only WARC needs the text of the page.
        let page = self.crawl.page(visit, matches!(self.form, Form::Warc(_)));
        match &self.form {
            Form::Warc(form) => form.append(&self.crawl, visit, &page, members, &mut generated.bytes),
            Form::Wat(form) => form.append(&self.crawl, visit, &page, members, &mut generated.bytes),
        }
        generated.report.pages += 1;
        generated.report.recrawls += u64::from(visit.again);
        generated.report.links += page.links.len() as u64;
        generated.report.links_external += page.links.iter().filter(|link| link.external).count() as u64;
    }
}

/// Receives the chunks from the threads in turn and writes them to their files.
fn write_files(
    settings: &Settings,
    out: &Path,
    chunks: &[Chunk],
    generated: Vec<Receiver<GeneratedChunk>>,
    progress: &mut dyn FnMut(u64),
) -> Result<Report, Error> {
    let mut report = Report::default();
    let mut file: Option<Output> = None;
    // Chunk n comes from thread n modulo the number of threads, so taking turns gives file order.
    for (chunk, receiver) in chunks.iter().zip(generated.iter().cycle()) {
        // A thread ends early only by a panic, which the scope propagates.
        let Ok(part) = receiver.recv() else { break };
        if chunk.first {
            file.take().map_or(Ok(()), Output::finish)?;
            let path = file_path(out, chunk.file, settings.files);
            report.files.push(path.clone());
            file = Some(Output::create(path)?);
        }
        if let Some(file) = &mut file {
            file.write(&part.bytes)?;
        }
        report.bytes += part.bytes.len() as u64;
        report.pages += part.report.pages;
        report.recrawls += part.report.recrawls;
        report.links += part.report.links;
        report.links_external += part.report.links_external;
        progress(report.pages);
    }
    file.take().map_or(Ok(()), Output::finish)?;
    Ok(report)
}

/// A file being written. Errors contain its name.
#[derive(Debug)]
struct Output {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Output {
    fn create(path: PathBuf) -> Result<Output, Error> {
        match File::create(&path) {
            Ok(file) => Ok(Output {
                file: BufWriter::with_capacity(1 << 20, file),
                path,
            }),
            Err(source) => Err(Error::Write {
                path: path.display().to_string(),
                source,
            }),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|source| self.failed(source))
    }

    fn finish(mut self) -> Result<(), Error> {
        self.file.flush().map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::Write {
            path: self.path.display().to_string(),
            source,
        }
    }
}

/// Returns `web.wat.gz`, or `web-00000.wat.gz` and so on if there are several files.
fn file_path(out: &Path, file: u64, files: u64) -> PathBuf {
    if files == 1 {
        return out.to_path_buf();
    }
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extensions) = match name.split_once('.') {
        Some((stem, extensions)) if !stem.is_empty() => (stem, format!(".{extensions}")),
        _ => (name.as_ref(), String::new()),
    };
    out.with_file_name(format!("{stem}-{file:05}{extensions}"))
}
