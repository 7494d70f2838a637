//! Prints one line per entry of a file.

use std::io::{self, Write};

use extract::Extracted;
use serde::Serialize;
use warc::{Defect, Entry, Format, Record, Span};

use crate::stdout::Out;
use crate::style::{clean, columns, cut};

/// The output row of an entry.
pub(super) struct Row {
    pub(super) span: Span,
    /// Kind of record, or `padding` or `quarantine`.
    pub(super) kind: &'static str,
    /// `WARC/1.0`, `ARC/1`; empty if the entry is not a record.
    format: String,
    /// Target URL as written; empty if the record has none.
    target: String,
    pub(super) outcome: LoadOutcome,
    /// Defects of the entry.
    pub(super) defects: Vec<Defect>,
}

/// How a load would use an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LoadOutcome {
    /// A capture, with its status and media type.
    Capture { status: u16, mime: String, page: bool },
    /// An attachment of a page, with its media type.
    Attachment { mime: String },
    /// A record that is only counted.
    Counted,
    /// An unusable record, which would go to quarantine.
    Lost(&'static str),
    /// Padding.
    Nothing,
}

impl Row {
    /// Returns the row of an entry.
    pub(super) fn of(entry: &Entry) -> Option<Row> {
        match entry {
            Entry::Record(record) => Some(record_row(record)),
            Entry::Padding(span) => Some(row_without_target(
                *span,
                "padding",
                LoadOutcome::Nothing,
                Vec::new(),
            )),
            Entry::Quarantined(span, defect) => Some(row_without_target(
                *span,
                "quarantine",
                LoadOutcome::Lost(defect.reason),
                vec![defect.clone()],
            )),
            _ => None,
        }
    }

    /// Prints one line, plus one for each defect.
    pub(super) fn print(&self, out: &mut Out) -> io::Result<()> {
        let target_columns = out.width.map_or(TARGET_COLUMNS, |width| {
            width.saturating_sub(FIXED_COLUMNS).max(24)
        });
        let mut target = clean(if self.target.is_empty() { "-" } else { &self.target });
        if out.width.is_some() {
            target = cut(&target, target_columns);
        }
        let pad = " ".repeat(target_columns.saturating_sub(columns(&target)));
        let outcome = self.outcome_text(out);
        let (offset, length, kind) = (self.span.offset, self.span.length, self.kind);
        writeln!(
            out,
            "{offset:>12} {length:>10}  {kind:<12} {target}{pad}  {outcome}"
        )?;
        for defect in &self.defects {
            let reason = out.style.warn(defect.reason);
            writeln!(out, "{:>25}! {reason}: {}", "", clean(&defect.detail))?;
        }
        Ok(())
    }

    fn outcome_text(&self, out: &Out) -> String {
        let status = |status: u16| {
            if status == 0 {
                String::new()
            } else {
                format!("{status} ")
            }
        };
        match &self.outcome {
            LoadOutcome::Capture {
                status: number,
                mime,
                page,
            } => {
                let word = if *page { "page" } else { "capture" };
                clean(&format!("{word} {}{mime}", status(*number)))
            }
            LoadOutcome::Attachment { mime } => clean(&format!("attachment {mime}")),
            LoadOutcome::Counted => "counted".into(),
            LoadOutcome::Lost(reason) => out.style.bad(&format!("lost: {reason}")),
            LoadOutcome::Nothing => "-".into(),
        }
    }

    /// Returns the row as a JSON object.
    pub(super) fn to_json<'a>(&'a self, input: &'a str) -> impl Serialize + use<'a> {
        let (outcome, status, mime, reason) = match &self.outcome {
            LoadOutcome::Capture { status, mime, page } => {
                let word = if *page { "page" } else { "capture" };
                (word, Some(*status), Some(mime.as_str()), None)
            }
            LoadOutcome::Attachment { mime } => ("attachment", None, Some(mime.as_str()), None),
            LoadOutcome::Counted => ("counted", None, None, None),
            LoadOutcome::Lost(reason) => ("lost", None, None, Some(*reason)),
            LoadOutcome::Nothing => ("padding", None, None, None),
        };
        let defects = self.defects.iter();
        Line {
            input,
            offset: self.span.offset,
            length: self.span.length,
            kind: self.kind,
            target: &self.target,
            outcome,
            status,
            mime,
            reason,
            format: &self.format,
            defects: defects
                .map(|defect| DefectLine {
                    reason: defect.reason,
                    detail: &defect.detail,
                })
                .collect(),
        }
    }
}

/// The JSON form of [`Row`].
#[derive(Serialize)]
struct Line<'a> {
    input: &'a str,
    offset: u64,
    length: u64,
    #[serde(rename = "type")]
    kind: &'static str,
    target: &'a str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    format: &'a str,
    defects: Vec<DefectLine<'a>>,
}

#[derive(Serialize)]
struct DefectLine<'a> {
    reason: &'static str,
    detail: &'a str,
}

/// Columns for the target if the output is not a terminal. Longer targets are not truncated; they
/// only break the alignment.
const TARGET_COLUMNS: usize = 56;

/// Total width of the other columns.
const FIXED_COLUMNS: usize = 12 + 1 + 10 + 2 + 12 + 1 + 2 + 24;

/// Prints the column headings.
pub(super) fn heads(out: &mut Out) -> io::Result<()> {
    let target_columns = out.width.map_or(TARGET_COLUMNS, |width| {
        width.saturating_sub(FIXED_COLUMNS).max(24)
    });
    let line = format!(
        "{:>12} {:>10}  {:<12} {:<target_columns$}  outcome",
        "offset", "length", "type", "target"
    );
    let line = out.style.dim(&line);
    writeln!(out, "{line}")
}

fn row_without_target(span: Span, kind: &'static str, outcome: LoadOutcome, defects: Vec<Defect>) -> Row {
    Row {
        span,
        kind,
        format: String::new(),
        target: String::new(),
        outcome,
        defects,
    }
}

fn record_row(record: &Record) -> Row {
    let mut defects = record.defects.clone();
    defects.extend(extract::defects_of(record));
    let outcome = match extract::extract_row(record) {
        Extracted::Counted => LoadOutcome::Counted,
        Extracted::Capture(capture) => match archive::refusal(&capture) {
            None => LoadOutcome::Capture {
                status: capture.status,
                mime: capture.mime.clone(),
                page: capture.page.is_some(),
            },
            Some((reason, detail)) => {
                defects.push(Defect::new(reason, detail));
                LoadOutcome::Lost(reason)
            }
        },
        Extracted::Attachment(attachment) => LoadOutcome::Attachment {
            mime: attachment.mime,
        },
        Extracted::Unusable(defect) => {
            let reason = defect.reason;
            defects.push(defect);
            LoadOutcome::Lost(reason)
        }
    };
    Row {
        span: record.span,
        kind: record.kind.as_str(),
        format: format_word(record.format),
        target: record.target().unwrap_or_default().to_owned(),
        outcome,
        defects,
    }
}

fn format_word(format: Format) -> String {
    match format {
        Format::Warc(major, minor) => format!("WARC/{major}.{minor}"),
        Format::Arc(version) => format!("ARC/{version}"),
        _ => String::new(),
    }
}
