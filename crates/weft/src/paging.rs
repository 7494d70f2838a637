//! Parts shared by all lists: the paging flags, and the commands that show the rest of a list.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::Archive;
use archive::question::{Answer, Ask, Question};
use export::{ExportFormat, ListExport};

use crate::flag_values::{one_of, whole};
use crate::outcome::WrongUse;
use crate::part_file::{PartFile, is_standard_output, refuse_existing};
use crate::stdout::Out;
use crate::stop::Stop;
use crate::style::shell_word;

/// Most rows of one answer.
const LIMIT_MAX: u32 = 10_000;

/// Rows of a page if no limit is given.
const LIMIT_DEFAULT: u32 = 20;

/// Flags of every list that can be long.
#[derive(Debug, clap::Args)]
pub(crate) struct Paging {
    /// Print at most this many rows [default: 20]
    #[arg(long, value_name = "N", value_parser = whole(1..=LIMIT_MAX, 20))]
    limit: Option<u32>,
    /// Continue after this cursor, which the previous page printed
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

impl Paging {
    /// Returns the most rows of a page.
    pub(crate) fn rows(&self) -> usize {
        self.limit.unwrap_or(LIMIT_DEFAULT) as usize
    }
}

/// Flags of lists that can also be printed as a whole.
#[derive(Debug, clap::Args)]
pub(crate) struct ListPaging {
    #[command(flatten)]
    pub(crate) page: Paging,
    /// Print all rows
    #[arg(long, conflicts_with_all = ["limit", "after"])]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) table: TableFormat,
}

/// The flags that write a whole list as a table.
#[derive(Debug, clap::Args)]
pub(crate) struct TableFormat {
    /// Write the list as csv, jsonl (JSON lines) or parquet; all rows unless --limit is given
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = one_of(ExportFormat::TABLES, ExportFormat::name),
        conflicts_with = "json"
    )]
    pub(crate) format: Option<ExportFormat>,
    /// File for --format [default: standard output]
    #[arg(long, short, value_name = "FILE", requires = "format")]
    output: Option<PathBuf>,
}

impl TableFormat {
    /// Returns the flags that write to standard output, if there is a format.
    pub(crate) fn on_standard_output(format: Option<ExportFormat>) -> TableFormat {
        TableFormat { format, output: None }
    }

    /// Writes the rows of a question, at most `limit`, if a format was given. Returns whether it
    /// was.
    pub(crate) fn write(
        &self,
        archive: &Archive,
        question: impl Into<Question>,
        limit: Option<u64>,
        out: &mut Out,
    ) -> anyhow::Result<bool> {
        let Some(format) = self.checked()? else {
            return Ok(false);
        };
        let question = question.into();
        let export = ListExport::new(question, format).context("this command has no list to write")?;
        let mut export = export.at_most(limit.unwrap_or(u64::MAX));
        self.to_output(out, |out| {
            let stop = Stop::listen()?;
            while export.next(&|question| archive.ask(question), out)?.is_none() {
                anyhow::ensure!(!stop.is_requested(), "stopped before the end of the list");
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// Calls `write` with the file that was given, or with standard output. The file gets its name
    /// when it is complete, and never replaces another.
    pub(crate) fn to_output(
        &self,
        out: &mut Out,
        write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(path) = self.file() else {
            return write(out);
        };
        refuse_existing(path)?;
        let (part, file) = PartFile::begin(path)?;
        let mut file = BufWriter::new(file);
        let written = write(&mut file).and_then(|()| {
            let file = file.into_inner().map_err(|error| error.into_error())?;
            file.sync_all()?;
            part.finish()?;
            Ok(())
        });
        written.with_context(|| format!("write {}", path.display()))
    }

    /// Returns the file to write, if it is not standard output.
    fn file(&self) -> Option<&Path> {
        let output = self.output.as_deref();
        output.filter(|path| !is_standard_output(path))
    }

    /// Returns the format, if one was given.
    pub(crate) fn checked(&self) -> anyhow::Result<Option<ExportFormat>> {
        let is_binary = self.format.is_some_and(|format| !format.is_text());
        if is_binary && self.file().is_none() && io::stdout().is_terminal() {
            let no_text = "parquet is binary and cannot go to a terminal: name a file with -o FILE, or redirect \
                           the output";
            return Err(WrongUse(no_text.into()).into());
        }
        Ok(self.format)
    }
}

/// An answer with one page of a list.
pub(crate) trait ListPage {
    /// Returns the number of rows.
    fn row_count(&self) -> usize;

    /// Returns the cursor of the next page.
    fn next(&self) -> Option<&str>;

    /// Returns whether the page ended because the archive had looked at enough, so that it is not
    /// known whether more rows follow. Clears this.
    fn take_cut(&mut self) -> bool {
        false
    }

    /// Adds the next page, with its cursor.
    fn append(&mut self, page: Self);
}

impl ListPaging {
    /// Writes the rows that the flags select as a table, if a format was given. Returns whether it
    /// was. `question` asks for the rows after a cursor, at most so many.
    pub(crate) fn write_table<Q: Into<Question>>(
        &self,
        archive: &Archive,
        question: impl Fn(Option<String>, usize) -> Q,
        out: &mut Out,
    ) -> anyhow::Result<bool> {
        let limit = self.page.limit.map(u64::from);
        let question = question(self.page.after.clone(), 0);
        self.table.write(archive, question, limit, out)
    }

    /// Returns the most rows to ask for at a time.
    pub(crate) fn rows_at_once(&self) -> usize {
        if self.is_whole() {
            LIMIT_MAX as usize
        } else {
            self.page.rows()
        }
    }

    /// Returns whether the flags ask for the whole list.
    pub(crate) fn is_whole(&self) -> bool {
        self.all || self.table.format.is_some() && self.page.limit.is_none()
    }

    /// Returns the page that the flags select, or all pages as one. `question` asks for the rows
    /// after a cursor, at most so many. An answer may end before its limit, so this reads on until
    /// the page is full or the list ends.
    pub(crate) fn ask<Q>(
        &self,
        archive: &Archive,
        question: impl Fn(Option<String>, usize) -> Q,
    ) -> anyhow::Result<Answer<Q::Answer>>
    where
        Q: Ask,
        Q::Answer: ListPage,
    {
        let limit = self.rows_at_once();
        let mut answer = archive.ask(question(self.page.after.clone(), limit))?;
        while let Some(after) = answer.body.next().map(str::to_owned) {
            let is_cut = answer.body.take_cut();
            let missing = if self.is_whole() {
                limit
            } else {
                limit.saturating_sub(answer.body.row_count())
            };
            if missing == 0 && !is_cut {
                break;
            }
            let page = archive.ask(question(Some(after), missing.max(1)))?;
            // The row was asked for only to know that the list continues.
            if missing == 0 && page.body.row_count() > 0 {
                break;
            }
            answer.body.append(page.body);
        }
        Ok(answer)
    }
}

/// Prints the command for the whole list and the one for its next page, if there is one.
pub(crate) fn more(out: &mut Out, all: &str, command: &str, next: Option<&str>) -> io::Result<()> {
    let Some(next) = next else { return Ok(()) };
    let all = out.style.dim(&format!("all:  {all}"));
    let more = format!("more: {command} --after {}", shell_word(next));
    let more = out.style.dim(&more);
    writeln!(out, "{all}\n{more}")
}

/// Returns the URL, or its key if the URL is unknown.
pub(crate) fn url_or_key<'a>(url: &'a str, key: &'a str) -> &'a str {
    if url.is_empty() { key } else { url }
}
