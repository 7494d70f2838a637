//! A whole result set, written from its beginning to its end however long it is.
//!
//! Results come a thousand at a time, in the order of their URL keys, so that memory is bounded and what is loaded meanwhile moves nothing:
//! a page that is there throughout is written once. Each thousand is of the newest epoch. Results in groups come in the order of the
//! question, because the first of each group is the one that is shown.

mod table;

use std::fmt;
use std::io::{self, Seek, Write};
use std::str::FromStr;

use facts::{RowStream, RowStreamError};
use flate2::Compression as Level;
use flate2::write::GzEncoder;
use serde::Serialize;
use tempfile::SpooledTempFile;
use warc::{Compression, Draft, RawRecord, Writer};

use archive::question::{Answer, Question, Record, RecordBody, SearchHit, SearchOrder, SearchQuestion};
use archive::{Archive, AskError, Interrupt, raw_record};
use inputs::Sources;

/// Results asked for at a time.
const HITS_AT_ONCE: usize = 1000;

/// Records up to this size are held in memory before they are written, longer ones in a temporary file.
const SPOOL_MEMORY_BYTES: usize = 8 << 20;

/// That of gzip itself.
const GZIP_LEVEL: u32 = 6;

/// What results are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A JSON object a line, with the fields of a result.
    Jsonl,
    /// Comma-separated values with a line of names (RFC 4180).
    Csv,
    /// A Parquet file with the columns of CSV, times and numbers as what they are.
    Parquet,
    /// The captures, as lines of CDXJ.
    Cdxj,
    /// The records, as a gzipped WARC file.
    Warc,
}

impl ExportFormat {
    /// All of them.
    pub const ALL: [ExportFormat; 5] = [
        ExportFormat::Jsonl,
        ExportFormat::Csv,
        ExportFormat::Parquet,
        ExportFormat::Cdxj,
        ExportFormat::Warc,
    ];

    /// Its name on the command line and in the API.
    pub fn name(self) -> &'static str {
        match self {
            ExportFormat::Jsonl => "jsonl",
            ExportFormat::Csv => "csv",
            ExportFormat::Parquet => "parquet",
            ExportFormat::Cdxj => "cdxj",
            ExportFormat::Warc => "warc",
        }
    }

    /// What names of such files end in, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            ExportFormat::Warc => "warc.gz",
            other => other.name(),
        }
    }

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            ExportFormat::Jsonl => "application/jsonl",
            ExportFormat::Csv => "text/csv; charset=utf-8; header=present",
            ExportFormat::Parquet => "application/vnd.apache.parquet",
            ExportFormat::Cdxj => "text/x-cdxj; charset=utf-8",
            ExportFormat::Warc => "application/warc",
        }
    }

    /// Whether it is lines of text, which a terminal can show.
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
    type Err = String;

    fn from_str(name: &str) -> Result<ExportFormat, String> {
        let found = ExportFormat::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| format!("no format {name:?}: jsonl, csv, parquet, cdxj or warc is expected"))
    }
}

/// Why an export ended early. What was written before is there.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The archive did not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The output does not take more.
    #[error("write results: {0}")]
    Output(#[source] io::Error),
    /// The results do not become a Parquet file.
    #[error(transparent)]
    Parquet(#[from] RowStreamError),
    /// Whoever asked has ended it.
    #[error("stopped after {0} results")]
    Stopped(u64),
}

/// What an export came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Results written.
    pub results: u64,
    /// Results whose captures or records could not be had, and why.
    pub left_out: Vec<LeftOut>,
    /// Captures left out because an index alone tells of them: their records are not loaded.
    pub index_only: u64,
    /// Records of requests and metadata written beside those of captures.
    pub related: u64,
    /// Inputs in which such records could not be looked for, and why; and lists of pages that could not be used.
    pub problems: Vec<String>,
}

/// A result that could not be written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its URL.
    pub url: String,
    /// When it was captured (ISO 8601).
    pub fetch_time: String,
    /// Why.
    pub why: String,
}

/// How questions are asked.
pub type AskBy<'a> = dyn Fn(Question) -> Result<Answer, AskError> + 'a;

/// An export on its way.
#[derive(Debug)]
pub struct Export {
    format: ExportFormat,
    question: SearchQuestion,
    begun: bool,
    ended: bool,
    /// The rest of a Parquet file, which is written as its row groups come to be.
    parquet: Option<RowStream>,
    /// What it came to so far.
    pub exported: Exported,
    /// Results that there are to write, by the last answer.
    pub total: u64,
}

impl Export {
    /// Of all results of a search in the order of their URL keys. Of the question the query counts, and whether all versions are
    /// searched. Where it groups results, those are written that it shows, in its order.
    pub fn new(question: &SearchQuestion, format: ExportFormat) -> Export {
        let is_grouped = question.per_site > 0 || question.distinct || question.near;
        Export {
            format,
            question: SearchQuestion {
                query: question.query.clone(),
                all_versions: question.all_versions,
                limit: HITS_AT_ONCE,
                order: match is_grouped {
                    true => question.order,
                    false => SearchOrder::Url,
                },
                per_site: question.per_site,
                distinct: question.distinct,
                near: question.near,
                ..SearchQuestion::default()
            },
            begun: false,
            ended: false,
            parquet: None,
            exported: Exported::default(),
            total: 0,
        }
    }

    /// Results that were gone through.
    pub fn done(&self) -> u64 {
        self.exported.results + self.exported.left_out.len() as u64
    }

    /// Goes on with the next thousand; `false` at the end. What of it can be written is: of a Parquet file, whole row groups.
    ///
    /// # Errors
    /// [`ExportError`].
    pub fn next(
        &mut self,
        ask: &AskBy<'_>,
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
        self.total = found.shown_total;
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
            // An answer that leads to itself would be written for ever.
            Some(next) if self.question.after.as_ref() == Some(&next) => {
                return Err(AskError::internal("the results lead to themselves again").into());
            }
            Some(next) => self.question.after = Some(next),
            None => self.ended = true,
        }
        self.put_parquet(out)?;
        Ok(true)
    }

    /// Writes what has come to be of a Parquet file, if it is to be one.
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

/// Writes all results of a search ([`Export::new`]). `progress` is told how many are written of how many, and gives whether to go on.
///
/// # Errors
/// [`ExportError`].
pub fn write_results(
    archive: &Archive,
    question: &SearchQuestion,
    format: ExportFormat,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Exported, ExportError> {
    let mut export = Export::new(question, format);
    while export.next(&|question| archive.ask(question), archive.sources(), out)? {
        if !progress(export.done(), export.total) {
            return Err(ExportError::Stopped(export.done()));
        }
    }
    out.flush().map_err(ExportError::Output)?;
    Ok(export.exported)
}

struct Exporter<'a> {
    ask: &'a AskBy<'a>,
    sources: &'a Sources,
    format: ExportFormat,
    out: &'a mut dyn Write,
    parquet: Option<&'a mut RowStream>,
    exported: &'a mut Exported,
}

/// What stands before all results.
fn begin(format: ExportFormat, query: &str, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ExportFormat::Csv => table::csv_head(out),
        ExportFormat::Warc => begin_warc(&format!("records of the results of a search for {query}"), out),
        ExportFormat::Jsonl | ExportFormat::Parquet | ExportFormat::Cdxj => Ok(()),
    }
}

/// The record at the beginning of a gzipped WARC file.
pub(crate) fn begin_warc(description: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::new(out, Compression::Gzip { level: GZIP_LEVEL })?;
    let fields = [
        ("software", concat!("weft/", env!("CARGO_PKG_VERSION"))),
        ("format", "WARC File Format 1.1"),
        ("description", description),
    ];
    let now_ms = i64::try_from(system::wall_ms()).unwrap_or(i64::MAX);
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
                    Err(error) => Err(error.to_string()),
                };
                if let Err(why) = put {
                    self.exported.left_out.push(LeftOut {
                        url: hit.url.clone(),
                        fetch_time: hit.fetch_time.clone(),
                        why,
                    });
                    return Ok(());
                }
            }
        }
        self.exported.results += 1;
        Ok(())
    }

    /// Where the capture of a result is.
    fn record(&self, hit: &SearchHit) -> Result<RecordBody, AskError> {
        let digits: String = hit.fetch_time.chars().filter(char::is_ascii_digit).collect();
        let question = Record {
            url: hit.url.clone(),
            at: Some(digits),
            capture: None,
            fuzzy: false,
        };
        let found = (self.ask)(question.into())?.to::<Record>()?.body;
        match found.capture.fetch_time == hit.fetch_time {
            true => Ok(found),
            false => Err(AskError::not_found("its capture is not there any more")),
        }
    }
}

/// Copies a record into a gzipped WARC file; `Err` says why that cannot be.
pub(crate) fn copy_record(
    sources: &Sources,
    record: &RecordBody,
    out: &mut dyn Write,
) -> Result<Result<(), String>, ExportError> {
    match raw_record(sources, record, &Interrupt::new()) {
        Ok(raw) => copy_raw(raw, out),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// The same of a record that is open.
pub(crate) fn copy_raw(mut raw: RawRecord, out: &mut dyn Write) -> Result<Result<(), String>, ExportError> {
    let extension = raw.extension();
    let is_member = match extension.as_str() {
        "warc.gz" => true,
        "warc" => false,
        other => {
            return Ok(Err(format!(
                "it is kept as {other}, and not copied into a WARC file"
            )));
        }
    };
    // Read whole before any of it is written, so that what breaks off leaves nothing of itself.
    let mut spool = SpooledTempFile::new(SPOOL_MEMORY_BYTES);
    if let Err(error) = io::copy(&mut raw, &mut spool).and_then(|_| spool.rewind()) {
        return Ok(Err(error.to_string()));
    }
    let copied = match is_member {
        true => io::copy(&mut spool, out).map(drop),
        false => {
            let mut member = GzEncoder::new(out, Level::new(GZIP_LEVEL));
            io::copy(&mut spool, &mut member).and_then(|_| member.finish().map(drop))
        }
    };
    copied.map(Ok).map_err(ExportError::Output)
}
