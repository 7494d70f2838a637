//! Exports a complete result set of any length.
//!
//! Results are requested in batches, in the order of their URL keys. So memory is bounded, and
//! loads in between move nothing: a page that exists throughout is written once. Each batch is from
//! the newest epoch. Grouped results come in the order of the question, because the first result of
//! each group is the one that is shown.

mod table;

use std::fmt;
use std::io::{self, Seek, Write};
use std::str::FromStr;
use std::sync::Arc;

use facts::{RowStream, RowStreamError};
use flate2::Compression as Level;
use flate2::write::GzEncoder;
use format::ParseValueError;
use serde::Serialize;
use tempfile::SpooledTempFile;
use warc::{Compression, Draft, RawRecord, ReadError, Writer};

use archive::question::{Answer, Question, Record, RecordBody, SearchHit, SearchOrder, SearchQuestion};
use archive::{Archive, AskError, Interrupt, RecordError, raw_record};
use inputs::Sources;

/// Number of results requested at a time.
const HITS_AT_ONCE: usize = 1000;

/// Records up to this size are held in memory before they are written, longer ones in a temporary
/// file.
const SPOOL_MEMORY_BYTES: usize = 8 << 20;

/// The default level of gzip.
const GZIP_LEVEL: u32 = 6;

/// File format of exported results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// One JSON object per line, with the fields of a result.
    Jsonl,
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
    /// A Parquet file with the columns of CSV, with times and numbers in their own types.
    Parquet,
    /// The captures, as lines of CDXJ.
    Cdxj,
    /// The records, as a gzipped WARC file.
    Warc,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [ExportFormat; 5] = [
        ExportFormat::Jsonl,
        ExportFormat::Csv,
        ExportFormat::Parquet,
        ExportFormat::Cdxj,
        ExportFormat::Warc,
    ];

    /// The formats of lists, which are tables.
    pub const TABLES: [ExportFormat; 3] = [ExportFormat::Jsonl, ExportFormat::Csv, ExportFormat::Parquet];

    /// Returns the name on the command line and in the API.
    pub fn name(self) -> &'static str {
        match self {
            ExportFormat::Jsonl => "jsonl",
            ExportFormat::Csv => "csv",
            ExportFormat::Parquet => "parquet",
            ExportFormat::Cdxj => "cdxj",
            ExportFormat::Warc => "warc",
        }
    }

    /// Returns the file extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            ExportFormat::Warc => "warc.gz",
            other => other.name(),
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            ExportFormat::Jsonl => "application/jsonl",
            ExportFormat::Csv => "text/csv; charset=utf-8; header=present",
            ExportFormat::Parquet => "application/vnd.apache.parquet",
            ExportFormat::Cdxj => "text/x-cdxj; charset=utf-8",
            ExportFormat::Warc => "application/warc",
        }
    }

    /// Returns whether the format is lines of text, which a terminal can show.
    pub fn is_text(self) -> bool {
        match self {
            ExportFormat::Jsonl | ExportFormat::Csv | ExportFormat::Cdxj => true,
            ExportFormat::Parquet | ExportFormat::Warc => false,
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ExportFormat {
    type Err = ParseValueError;

    fn from_str(name: &str) -> Result<ExportFormat, ParseValueError> {
        let found = ExportFormat::ALL.into_iter().find(|format| format.name() == name);
        found
            .ok_or_else(|| ParseValueError::new("unknown format ", name, "jsonl, csv, parquet, cdxj or warc"))
    }
}

/// Why an export ended early. Output written before remains.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The archive did not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// Writing to the output failed.
    #[error("write results: {0}")]
    Output(#[source] io::Error),
    /// The Parquet file could not be written.
    #[error(transparent)]
    Parquet(#[from] RowStreamError),
    /// The caller stopped the export.
    #[error("stopped after {0} results")]
    Stopped(u64),
}

/// The result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    /// Number of results written.
    pub results: u64,
    /// Results whose captures or records could not be read, and why.
    pub left_out: Vec<OmittedRecord>,
    /// Number of captures whose record could not be copied, of which the same capture was written
    /// from another file.
    pub left_out_copies: u64,
    /// Number of captures left out because they are known only from an index: their records are not
    /// loaded.
    pub index_only: u64,
    /// Number of records of requests and metadata written in addition to those of captures.
    pub related: u64,
    /// Number of attachments of pages written, such as their rendered text and pictures.
    pub attachments: u64,
    /// Inputs in which records of requests and metadata could not be searched, URLs with more
    /// attachments than are looked at, and lists of pages that could not be used, with the reasons.
    pub problems: Vec<String>,
}

/// A result that could not be written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OmittedRecord {
    /// URL of the result.
    pub url: String,
    /// When it was captured (ISO 8601).
    pub fetch_time: String,
    /// The reason.
    pub why: String,
}

/// A function that answers questions.
pub type AskFn<'a> = dyn Fn(Question) -> Result<Answer, AskError> + 'a;

/// An export in progress.
#[derive(Debug)]
pub struct ResultExport {
    format: ExportFormat,
    question: SearchQuestion,
    begun: bool,
    ended: bool,
    /// The rest of a Parquet file, whose row groups are written one by one.
    parquet: Option<RowStream>,
    /// The result so far.
    pub exported: ExportReport,
    /// Number of results to write, according to the last answer.
    pub total: u64,
}

impl ResultExport {
    /// Begins an export of all results of a search in the order of their URL keys. Only the query
    /// and `all_versions` of the question are used. If the question groups results, only the
    /// results shown are written, in the order of the question.
    pub fn new(question: &SearchQuestion, format: ExportFormat) -> ResultExport {
        let is_grouped = question.per_site > 0 || question.distinct || question.near;
        ResultExport {
            format,
            question: SearchQuestion {
                query: question.query.clone(),
                all_versions: question.all_versions,
                limit: HITS_AT_ONCE,
                // The order decides which result of a group is shown. Without groups, the order of
                // URL keys does not depend on scores.
                order: if is_grouped {
                    question.order
                } else {
                    SearchOrder::Url
                },
                per_site: question.per_site,
                distinct: question.distinct,
                near: question.near,
                ..SearchQuestion::default()
            },
            begun: false,
            ended: false,
            parquet: None,
            exported: ExportReport::default(),
            total: 0,
        }
    }

    /// Returns the number of results processed.
    pub fn done(&self) -> u64 {
        self.exported.results + self.exported.left_out.len() as u64
    }

    /// Writes the next batch. Returns `false` at the end. Only completed row groups of a Parquet
    /// file are written.
    ///
    /// # Errors
    /// [`ExportError`].
    pub fn next(
        &mut self,
        ask: &AskFn<'_>,
        sources: &Sources,
        out: &mut dyn Write,
    ) -> Result<bool, ExportError> {
        if self.ended {
            return Ok(false);
        }
        if !std::mem::replace(&mut self.begun, true) {
            begin(self.format, &self.question.query, out).map_err(ExportError::Output)?;
            if self.format == ExportFormat::Parquet {
                self.parquet = Some(RowStream::new(&table::COLUMNS)?);
            }
        }
        let found = ask(self.question.clone().into())?.to::<SearchQuestion>()?.body;
        self.total = found.summary.shown_total;
        let mut exporter = Exporter {
            ask,
            sources,
            format: self.format,
            out: &mut *out,
            parquet: self.parquet.as_mut(),
            exported: &mut self.exported,
        };
        for hit in &found.hits {
            exporter.put(hit)?;
        }
        match found.next {
            // An answer that leads to itself would be written forever.
            Some(next) if self.question.after.as_ref() == Some(&next) => {
                return Err(AskError::internal("the next page of results has the same cursor").into());
            }
            Some(next) => self.question.after = Some(next),
            None => self.ended = true,
        }
        self.put_parquet(out)?;
        Ok(true)
    }

    /// Writes the completed row groups of a Parquet file, if that is the format.
    fn put_parquet(&mut self, out: &mut dyn Write) -> Result<(), ExportError> {
        let piece = match (self.ended, self.parquet.take()) {
            (_, None) => return Ok(()),
            (true, Some(pieces)) => pieces.finish()?,
            (false, Some(mut pieces)) => {
                let piece = pieces.take()?;
                self.parquet = Some(pieces);
                piece
            }
        };
        out.write_all(&piece).map_err(ExportError::Output)
    }
}

/// Writes all results of a search ([`ResultExport::new`]). `progress` gets the number of results
/// written and the total, and returns whether to continue.
///
/// ```
/// use archive::question::SearchQuestion;
/// use archive::{Archive, OpenSettings};
/// use export::{ExportFormat, write_results};
///
/// let dir = tempfile::tempdir()?;
/// let mut settings = OpenSettings::default();
/// settings.create = true;
/// let archive = Archive::open(dir.path(), settings)?;
/// let question = SearchQuestion { query: "otter".into(), ..SearchQuestion::default() };
/// let mut csv = Vec::new();
/// let progress = &mut |_, _| true;
/// let exported = write_results(&archive, &question, ExportFormat::Csv, &mut csv, progress)?;
/// assert_eq!(exported.results, 0);
/// assert!(csv.starts_with(b"url_key,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ExportError`].
pub fn write_results(
    archive: &Archive,
    question: &SearchQuestion,
    format: ExportFormat,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<ExportReport, ExportError> {
    let mut export = ResultExport::new(question, format);
    while export.next(&|question| archive.ask(question), archive.sources(), out)? {
        if !progress(export.done(), export.total) {
            return Err(ExportError::Stopped(export.done()));
        }
    }
    out.flush().map_err(ExportError::Output)?;
    Ok(export.exported)
}

struct Exporter<'a> {
    ask: &'a AskFn<'a>,
    sources: &'a Sources,
    format: ExportFormat,
    out: &'a mut dyn Write,
    parquet: Option<&'a mut RowStream>,
    exported: &'a mut ExportReport,
}

/// Writes the beginning of the file, before all results.
fn begin(format: ExportFormat, query: &str, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ExportFormat::Csv => table::csv_head(out),
        ExportFormat::Warc => begin_warc(&format!("records of the results of a search for {query}"), out),
        ExportFormat::Jsonl | ExportFormat::Parquet | ExportFormat::Cdxj => Ok(()),
    }
}

/// Writes the record at the beginning of a gzipped WARC file.
pub(crate) fn begin_warc(description: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::new(out, Compression::Gzip { level: GZIP_LEVEL })?;
    let fields = [
        ("software", concat!("weft/", env!("CARGO_PKG_VERSION"))),
        ("format", "WARC File Format 1.1"),
        ("description", description),
    ];
    let now_ms = system::time_ms();
    writer.write(&Draft::warcinfo(now_ms, &fields))?;
    writer.finish().map(drop)
}

impl Exporter<'_> {
    fn put(&mut self, hit: &SearchHit) -> Result<(), ExportError> {
        match self.format {
            ExportFormat::Jsonl => {
                let line = serde_json::to_string(hit).map_err(|error| ExportError::Output(error.into()))?;
                writeln!(self.out, "{line}").map_err(ExportError::Output)?;
            }
            ExportFormat::Csv => table::csv_hit(self.out, hit).map_err(ExportError::Output)?,
            ExportFormat::Parquet => {
                if let Some(pieces) = &mut self.parquet {
                    table::parquet_hit(pieces, hit)?;
                }
            }
            ExportFormat::Cdxj | ExportFormat::Warc => {
                let put = match self.record(hit) {
                    Ok(record) if self.format == ExportFormat::Cdxj => {
                        let line = cdx::cdxj_line(&record.capture);
                        self.out.write_all(line.as_bytes()).map_err(ExportError::Output)?;
                        Ok(())
                    }
                    Ok(record) => copy_record(self.sources, &record, self.out)?,
                    Err(error) => Err(error.into()),
                };
                if let Err(error) = put {
                    self.exported.left_out.push(OmittedRecord {
                        url: hit.url.clone(),
                        fetch_time: hit.fetch_time.clone(),
                        why: error.to_string(),
                    });
                    return Ok(());
                }
            }
        }
        self.exported.results += 1;
        Ok(())
    }

    /// Returns the location of the capture of a result.
    fn record(&self, hit: &SearchHit) -> Result<RecordBody, AskError> {
        // A record is requested by the digits of its time alone.
        let digits: String = hit.fetch_time.chars().filter(char::is_ascii_digit).collect();
        let question = Record {
            url: hit.url.clone(),
            at: Some(digits),
            capture: None,
            fuzzy: false,
            with_content: false,
        };
        let found = (self.ask)(question.into())?.to::<Record>()?.body;
        // The nearest capture is returned if the wanted one was removed in the meantime.
        if found.capture.fetch_time == hit.fetch_time {
            Ok(found)
        } else {
            Err(AskError::not_found("its capture no longer exists"))
        }
    }
}

/// Why one record cannot be copied. The others can.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its input was read before, without success.
    #[error(transparent)]
    Input(#[from] Arc<CopyError>),
    #[error("it is stored as {0}, which cannot be copied into a WARC file")]
    Container(String),
    /// A request.
    #[error("it no longer exists")]
    Gone,
}

/// Copies a record into a gzipped WARC file. The inner error says why that is impossible.
pub(crate) fn copy_record(
    sources: &Sources,
    record: &RecordBody,
    out: &mut dyn Write,
) -> Result<Result<(), CopyError>, ExportError> {
    match raw_record(sources, record, &Interrupt::new()) {
        Ok(raw) => copy_raw(raw, out),
        Err(error) => Ok(Err(error.into())),
    }
}

/// Copies an open record.
pub(crate) fn copy_raw(
    mut raw: RawRecord,
    out: &mut dyn Write,
) -> Result<Result<(), CopyError>, ExportError> {
    let extension = raw.extension();
    let is_member = match extension.as_str() {
        "warc.gz" => true,
        "warc" => false,
        _ => return Ok(Err(CopyError::Container(extension))),
    };
    // The record is read completely before any of it is written, so that a failed read writes
    // nothing.
    let mut spool = SpooledTempFile::new(SPOOL_MEMORY_BYTES);
    if let Err(error) = io::copy(&mut raw, &mut spool).and_then(|_| spool.rewind()) {
        return Ok(Err(error.into()));
    }
    let copied = if is_member {
        io::copy(&mut spool, out).map(drop)
    } else {
        let mut member = GzEncoder::new(out, Level::new(GZIP_LEVEL));
        io::copy(&mut spool, &mut member).and_then(|_| member.finish().map(drop))
    };
    copied.map(Ok).map_err(ExportError::Output)
}
