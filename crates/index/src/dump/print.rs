//! Prints rows as TSV and JSON lines.

use std::io::{BufWriter, Write};

use time::OffsetDateTime;
use time::macros::format_description;

use crate::cell::Cell;
use crate::dump::DumpFormat;
use crate::error::DumpError;

/// Writes the rows of one view. The caller passes the names of the columns with the cells.
pub(crate) struct Printer<'o> {
    format: DumpFormat,
    out: BufWriter<&'o mut dyn Write>,
    rows: u64,
    rows_max: u64,
}

impl<'o> Printer<'o> {
    pub(crate) fn new(format: DumpFormat, out: &'o mut dyn Write) -> Printer<'o> {
        let out = BufWriter::with_capacity(1 << 16, out);
        Printer {
            format,
            out,
            rows: 0,
            rows_max: u64::MAX,
        }
    }

    /// Limits the printer to `rows_max` rows.
    pub(crate) fn up_to(self, rows_max: u64) -> Printer<'o> {
        Printer { rows_max, ..self }
    }

    /// Returns how many more rows the printer accepts.
    pub(crate) fn room(&self) -> u64 {
        self.rows_max - self.rows.min(self.rows_max)
    }

    /// Returns whether the limit of rows is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// Writes a row, given as column names and cells. Does nothing once the limit is reached.
    pub(crate) fn row(&mut self, cells: &[(&str, Cell<'_>)]) -> Result<(), DumpError> {
        if self.is_full() {
            return Ok(());
        }
        self.rows += 1;
        match self.format {
            DumpFormat::Tsv => self.tsv(cells),
            DumpFormat::Jsonl => self.jsonl(cells),
        }
        .map_err(DumpError::Output)
    }

    /// Flushes the buffer and returns the number of rows.
    pub(crate) fn finish(mut self) -> Result<u64, DumpError> {
        self.out.flush().map_err(DumpError::Output)?;
        Ok(self.rows)
    }

    fn tsv(&mut self, cells: &[(&str, Cell<'_>)]) -> std::io::Result<()> {
        for (i, (_, cell)) in cells.iter().enumerate() {
            if i > 0 {
                self.out.write_all(b"\t")?;
            }
            match cell {
                Cell::Number(number) => write!(self.out, "{number}")?,
                Cell::Text(text) => self.escaped(text)?,
                Cell::Time(ms) => self.out.write_all(date_time(*ms).as_bytes())?,
            }
        }
        self.out.write_all(b"\n")
    }

    fn escaped(&mut self, text: &str) -> std::io::Result<()> {
        let mut rest = text.as_bytes();
        while let Some(at) = rest
            .iter()
            .position(|b| matches!(b, b'\t' | b'\n' | b'\r' | b'\\'))
        {
            self.out.write_all(&rest[..at])?;
            self.out.write_all(match rest[at] {
                b'\t' => b"\\t",
                b'\n' => b"\\n",
                b'\r' => b"\\r",
                _ => b"\\\\",
            })?;
            rest = &rest[at + 1..];
        }
        self.out.write_all(rest)
    }

    fn jsonl(&mut self, cells: &[(&str, Cell<'_>)]) -> std::io::Result<()> {
        for (i, (column, cell)) in cells.iter().enumerate() {
            self.out.write_all(if i == 0 { b"{" } else { b"," })?;
            write!(self.out, "\"{column}\":")?;
            match cell {
                Cell::Number(number) => write!(self.out, "{number}")?,
                Cell::Text(text) => serde_json::to_writer(&mut self.out, text)?,
                Cell::Time(ms) => write!(self.out, "\"{}\"", date_time(*ms))?,
            }
        }
        self.out.write_all(b"}\n")
    }
}

/// Formats a time as `YYYY-MM-DDThh:mm:ss.mmmZ`, or as a plain number if it is outside the range of
/// dates.
fn date_time(ms: i64) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000)
        .ok()
        .and_then(|date| date.format(format).ok())
        .unwrap_or_else(|| ms.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: DumpFormat, expected: &str) {
        let mut out = Vec::new();
        let mut printer = Printer::new(format, &mut out);
        let cells = [
            ("domain", Cell::Text("a\tb\\c\nd\re\"é")),
            ("uris", Cell::Number(1)),
            ("pages", Cell::Number(2)),
            ("inlinks_external", Cell::Number(u64::MAX)),
        ];
        printer.row(&cells).unwrap();
        assert_eq!(printer.finish().unwrap(), 1);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn text_is_escaped() {
        check(
            DumpFormat::Tsv,
            "a\\tb\\\\c\\nd\\re\"é\t1\t2\t18446744073709551615\n",
        );
        check(
            DumpFormat::Jsonl,
            "{\"domain\":\"a\\tb\\\\c\\nd\\re\\\"é\",\"uris\":1,\"pages\":2,\"inlinks_external\":18446744073709551615}\n",
        );
    }

    #[test]
    fn times_are_utc_to_the_millisecond() {
        assert_eq!(date_time(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(date_time(1_401_234_567_089), "2014-05-27T23:49:27.089Z");
        assert_eq!(date_time(i64::MAX), i64::MAX.to_string());
    }
}
