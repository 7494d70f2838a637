//! Writes whole lists: all rows of a question, however many, as JSON lines, CSV or Parquet.
//!
//! The rows are asked for in batches, so memory is bounded. Each batch is from the newest epoch.
//! Counts of links are added first, up to 100,000 groups.

mod columns;
mod counts;
mod trends;

use std::io::{self, Write};

use archive::AskError;
use archive::question::{
    Body, CdxBody, DomainsBody, ImagesBody, LinkGrouping, LinksBody, ListedPagesBody, Question, TopBody,
    TrendsBody,
};
use facts::RowStream;
use serde::Serialize;

use crate::results::{AskFn, ExportError, ExportFormat};
pub use counts::LinkCountSum;
pub use trends::{TrendYear, trend_years};

use columns::{
    CAPTURES, Columns, DOMAINS, IMAGES, LINKS, LISTED_PAGES, RANKING, TRENDS, VERSION_LINKS, link_counts,
};

/// Rows asked for at a time.
const ROWS_AT_ONCE: usize = 10_000;

/// Most groups of links that are counted in memory for one file.
const GROUPS_MAX: usize = 100_000;

/// A list whose rows can be written as a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// Links of current versions: to a URL or of a page.
    Links,
    /// Links of the versions of a time, or of all versions.
    VersionLinks,
    /// Counts of links.
    LinkCounts(LinkGrouping),
    /// URIs ranked by in-links.
    Ranking,
    /// Domains.
    Domains,
    /// Captures.
    Captures,
    /// Pages that packages list.
    ListedPages,
    /// Images that match a query.
    Images,
    /// Matches of queries by year.
    Trends,
}

impl List {
    /// Returns the list that a question asks for, if it is one that can be written as a table.
    pub fn of(question: &Question) -> Option<List> {
        match question {
            Question::Inlinks(links) if links.ever || links.at.is_some() => Some(List::VersionLinks),
            Question::Inlinks(_) | Question::Outlinks(_) => Some(List::Links),
            Question::LinkCounts(counts) => Some(List::LinkCounts(counts.by)),
            Question::Top(_) => Some(List::Ranking),
            Question::Domains(_) => Some(List::Domains),
            Question::Cdx(_) => Some(List::Captures),
            Question::ListedPages(_) => Some(List::ListedPages),
            Question::Images(_) => Some(List::Images),
            Question::Trends(_) => Some(List::Trends),
            _ => None,
        }
    }

    fn columns(self) -> Columns {
        match self {
            List::Links => LINKS,
            List::VersionLinks => VERSION_LINKS,
            List::LinkCounts(by) => link_counts(by),
            List::Ranking => RANKING,
            List::Domains => DOMAINS,
            List::Captures => CAPTURES,
            List::ListedPages => LISTED_PAGES,
            List::Images => IMAGES,
            List::Trends => TRENDS,
        }
    }

    /// Returns the first part of the name of a file with this list.
    pub fn file_name(self) -> &'static str {
        match self {
            List::Links | List::VersionLinks => "links",
            List::LinkCounts(_) => "link-counts",
            List::Ranking => "ranking",
            List::Domains => "domains",
            List::Captures => "captures",
            List::ListedPages => "pages",
            List::Images => "images",
            List::Trends => "trends",
        }
    }
}

/// Writes rows of a list as one of [`ExportFormat::TABLES`].
pub struct ListWriter {
    columns: Columns,
    format: ExportFormat,
    parquet: Option<RowStream>,
    /// Number of rows written.
    rows: u64,
}

impl ListWriter {
    /// Begins a file: CSV gets its header line.
    ///
    /// # Errors
    /// [`ExportError`]: `out` cannot be written to, or the format is not one of
    /// [`ExportFormat::TABLES`].
    pub fn begin(list: List, format: ExportFormat, out: &mut dyn Write) -> Result<ListWriter, ExportError> {
        let columns = list.columns();
        let mut parquet = None;
        match format {
            ExportFormat::Jsonl => {}
            ExportFormat::Csv => csv_line(out, columns.names()).map_err(ExportError::Output)?,
            ExportFormat::Parquet => parquet = Some(RowStream::new(columns.fields)?),
            ExportFormat::Cdxj | ExportFormat::Warc => {
                let wrong = format!("a list cannot be written as {format}: expected jsonl, csv or parquet");
                return Err(AskError::bad_request(wrong).into());
            }
        }
        Ok(ListWriter {
            columns,
            format,
            parquet,
            rows: 0,
        })
    }

    /// Writes rows. JSON lines have all fields of a row, the other formats the columns.
    ///
    /// # Errors
    /// [`ExportError`]: `out` cannot be written to.
    pub fn rows<R: Serialize>(&mut self, rows: &[R], out: &mut dyn Write) -> Result<(), ExportError> {
        for row in rows {
            let json = serde_json::to_value(row).map_err(|error| ExportError::Output(error.into()))?;
            match &mut self.parquet {
                Some(stream) => self.columns.put(&json, stream)?,
                None if self.format == ExportFormat::Csv => {
                    csv_line(out, self.columns.texts(&json)).map_err(ExportError::Output)?;
                }
                None => {
                    let line =
                        serde_json::to_string(row).map_err(|error| ExportError::Output(error.into()))?;
                    writeln!(out, "{line}").map_err(ExportError::Output)?;
                }
            }
            self.rows += 1;
        }
        if let Some(stream) = &mut self.parquet {
            out.write_all(&stream.take()?).map_err(ExportError::Output)?;
        }
        Ok(())
    }

    /// Writes the end of the file and returns the number of rows.
    ///
    /// # Errors
    /// [`ExportError`]: `out` cannot be written to.
    pub fn end(self, out: &mut dyn Write) -> Result<u64, ExportError> {
        if let Some(stream) = self.parquet {
            out.write_all(&stream.finish()?).map_err(ExportError::Output)?;
        }
        out.flush().map_err(ExportError::Output)?;
        Ok(self.rows)
    }
}

fn csv_line<V: AsRef<[u8]>>(out: &mut dyn Write, values: impl Iterator<Item = V>) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    writer.write_record(values).map_err(io::Error::other)?;
    writer.flush()
}

/// Writes all rows of a question, batch by batch.
pub struct ListExport {
    question: Question,
    list: List,
    format: ExportFormat,
    writer: Option<ListWriter>,
    /// Number of rows that may still be written.
    left: u64,
    /// Counts of links, which are written when all are added.
    counts: LinkCountSum,
    /// The answer with the whole list, if it is known already.
    whole: Option<Body>,
    ended: bool,
}

impl ListExport {
    /// Prepares to write all rows of a question in one of [`ExportFormat::TABLES`]. The question's
    /// own limit is not used; its cursor is where the list begins. Returns `None` if its answer is
    /// not a list ([`List::of`]).
    pub fn new(question: Question, format: ExportFormat) -> Option<ListExport> {
        Some(ListExport {
            list: List::of(&question)?,
            question,
            format,
            writer: None,
            left: u64::MAX,
            counts: LinkCountSum::default(),
            whole: None,
            ended: false,
        })
    }

    /// Ends the list after this many rows.
    pub fn at_most(self, rows: u64) -> ListExport {
        ListExport { left: rows, ..self }
    }

    /// Returns the question for the first row alone, or the whole question if its answer has no
    /// parts. Its error tells whether the list can be written at all.
    pub fn first_row(&self) -> Question {
        let mut question = self.question.clone();
        if let Some((_, limit)) = paging(&mut question) {
            *limit = 1;
        }
        question
    }

    /// Takes the answer to [`ListExport::first_row`]. If it is the whole list, it is written and
    /// not asked for again.
    pub fn take_first(&mut self, body: Body) {
        if paging(&mut self.question).is_none() {
            self.whole = Some(body);
        }
    }

    /// Returns whether the whole list is written.
    pub fn is_written(&self) -> bool {
        self.ended && self.writer.is_none()
    }

    /// Returns the list that is written.
    pub fn list(&self) -> List {
        self.list
    }

    /// Writes the next batch. Returns the number of rows written, once all are.
    ///
    /// # Errors
    /// [`ExportError`].
    pub fn next(&mut self, ask: &AskFn<'_>, out: &mut dyn Write) -> Result<Option<u64>, ExportError> {
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => ListWriter::begin(self.list, self.format, out)?,
        };
        if self.ended {
            if matches!(self.list, List::LinkCounts(_)) {
                writer.rows(&std::mem::take(&mut self.counts).into_rows(), out)?;
            }
            return writer.end(out).map(Some);
        }
        if let Some((_, limit)) = paging(&mut self.question) {
            *limit = usize::try_from(self.left)
                .unwrap_or(ROWS_AT_ONCE)
                .min(ROWS_AT_ONCE);
        }
        let before = writer.rows;
        let body = match self.whole.take() {
            Some(body) => body,
            None => ask(self.question.clone())?.body,
        };
        let next = match body {
            Body::LinkCounts(part) => {
                self.counts.add(&part);
                if self.counts.groups() > GROUPS_MAX {
                    let more =
                        format!("more than {GROUPS_MAX} groups; `weft inlinks --by` counts any number");
                    return Err(AskError::bad_request(more).into());
                }
                part.next
            }
            body => put(&mut writer, body, out)?,
        };
        self.left = self.left.saturating_sub(writer.rows - before);
        let after = paging(&mut self.question).map(|(after, _)| after);
        match (next, after) {
            _ if self.left == 0 => self.ended = true,
            // An answer that leads to itself would be written forever.
            (Some(next), Some(after)) if after.as_ref() == Some(&next) => {
                return Err(AskError::internal("the next part of the list has the same cursor").into());
            }
            (Some(next), Some(after)) => *after = Some(next),
            _ => self.ended = true,
        }
        self.writer = Some(writer);
        Ok(None)
    }
}

/// Returns the cursor and the limit of a question whose answer is part of a list; `None` if it is
/// the whole list, as for trends.
fn paging(question: &mut Question) -> Option<(&mut Option<String>, &mut usize)> {
    match question {
        Question::Inlinks(links) => Some((&mut links.after, &mut links.limit)),
        Question::Outlinks(links) => Some((&mut links.after, &mut links.limit)),
        Question::LinkCounts(counts) => Some((&mut counts.links.after, &mut counts.links.limit)),
        Question::Top(top) => Some((&mut top.after, &mut top.limit)),
        Question::Domains(domains) => Some((&mut domains.after, &mut domains.limit)),
        Question::Cdx(captures) => Some((&mut captures.after, &mut captures.limit)),
        Question::ListedPages(pages) => Some((&mut pages.after, &mut pages.limit)),
        Question::Images(images) => Some((&mut images.after, &mut images.limit)),
        _ => None,
    }
}

/// Writes the rows of an answer and returns the cursor of the next one.
fn put(writer: &mut ListWriter, body: Body, out: &mut dyn Write) -> Result<Option<String>, ExportError> {
    match body {
        Body::Links(LinksBody { rows, next, .. }) => writer.rows(&rows, out).map(|()| next),
        Body::Top(TopBody { rows, next }) => writer.rows(&rows, out).map(|()| next),
        Body::Domains(DomainsBody { rows, next }) => writer.rows(&rows, out).map(|()| next),
        Body::Cdx(CdxBody { rows, next, .. }) => writer.rows(&rows, out).map(|()| next),
        Body::Images(ImagesBody { hits, next, .. }) => writer.rows(&hits, out).map(|()| next),
        Body::Trends(TrendsBody { rows, .. }) => {
            let years: Vec<TrendYear<'_>> = rows.iter().flat_map(trend_years).collect();
            writer.rows(&years, out).map(|()| None)
        }
        Body::ListedPages(ListedPagesBody { rows, problems, next }) => match problems.first() {
            // The file would lack pages and not say so.
            Some(problem) => Err(AskError::unavailable(problem).into()),
            None => writer.rows(&rows, out).map(|()| next),
        },
        _ => Err(AskError::internal("the answer is not a list").into()),
    }
}

#[cfg(test)]
mod tests;
