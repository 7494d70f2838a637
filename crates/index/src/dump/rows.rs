//! Dumps the rows of each view of a snapshot.

use std::io::Write;

use extract::Capture;

use crate::cell::Cell;
use crate::codec::{self, Corrupt, Reader};
use crate::cut::Rows;
use crate::dump::{DumpFormat, DumpRange, Printer, View};
use crate::error::{DumpError, SnapshotError};
use crate::ledger::{LedgerRow, QuarantineEntry};
use crate::snapshot::Snapshot;
use crate::sort::Sorter;
use crate::tables::Table;
use crate::views::rankings::Ranked;
use crate::views::uris::Counts;
use crate::views::{capture_row, captures, domains, links, uris, version_row};

impl Snapshot {
    /// Writes all rows of a view and returns their number.
    ///
    /// # Errors
    /// [`DumpError`] if a row could not be read or written, or there is no room for sorting.
    pub fn dump(&self, view: View, format: DumpFormat, out: &mut dyn Write) -> Result<u64, DumpError> {
        self.dump_range(view, &DumpRange::default(), format, out)
    }

    /// Writes the rows of a part of a view and returns their number.
    ///
    /// # Errors
    /// As [`Snapshot::dump`].
    pub fn dump_range(
        &self,
        view: View,
        range: &DumpRange,
        format: DumpFormat,
        out: &mut dyn Write,
    ) -> Result<u64, DumpError> {
        let mut printer = Printer::new(format, out).up_to(range.rows_max.unwrap_or(u64::MAX));
        match view {
            View::Captures => self.dump_captures(&mut printer)?,
            View::Pages => self.dump_pages(range, &mut printer)?,
            View::Links => self.dump_links(range, &mut printer)?,
            View::Inlinks if range.from.is_some() && range.to.is_some() => {
                self.dump_inlinks_of(range, &mut printer)?;
            }
            View::Inlinks => self.dump_inlinks(range, &mut printer)?,
            View::Uris => self.dump_uris(range, &mut printer)?,
            View::Domains => self.dump_domains(range, &mut printer)?,
            View::Top => match range.rows_max {
                Some(rows_max) => {
                    let limit = usize::try_from(rows_max).unwrap_or(usize::MAX);
                    for row in self.top(None, None, limit)? {
                        print_ranked(&mut printer, &row.url_key, row.inlinks, row.inlinks_external)?;
                    }
                }
                None => self.dump_top(&mut printer)?,
            },
            View::Ledger => dump_ledger(&mut printer, self.ledger()?.into_iter().map(|(_, e)| e).collect())?,
            View::Quarantine => {
                let rows = self
                    .quarantine(None, None, usize::MAX)?
                    .into_iter()
                    .map(|(input, entry)| Ok::<_, SnapshotError>((self.input(input)?.input.clone(), entry)));
                dump_quarantine(&mut printer, rows.collect::<Result<_, _>>()?)?;
            }
        }
        printer.finish()
    }

    /// Returns the rows of a table whose keys are in the range.
    fn rows_in(&self, table: Table, range: &DumpRange) -> Rows {
        let key = |key: &str| match table {
            // Keys of this table end with a NUL.
            Table::Domains => domains::row_key(key),
            _ => key.as_bytes().to_vec(),
        };
        let from = range.from.as_deref().map(key).unwrap_or_default();
        match range.to.as_deref().map(key) {
            Some(to) => self.cut().range(table, &from, &to),
            None => self.cut().from(table, &from),
        }
    }

    fn dump_domains(&self, range: &DumpRange, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        for row in self.rows_in(Table::Domains, range) {
            if printer.is_full() {
                break;
            }
            let row = self.domain_row(row?)?;
            printer.row(&[
                ("domain", Cell::Text(&row.domain)),
                ("uris", Cell::Number(row.uris)),
                ("pages", Cell::Number(row.pages)),
                ("inlinks_external", Cell::Number(row.inlinks_external)),
            ])?;
        }
        Ok(())
    }

    fn dump_captures(&self, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        // Captures of one key and time are stored by input number, which depends on the order of
        // loading.
        let mut equal: Vec<(String, Capture)> = Vec::new();
        for row in self.cut().iter(Table::Captures) {
            let (key, value) = row?;
            let stored = captures::read_row(self.cut(), &key, &value)?;
            let is_equal = |(_, first): &(String, Capture)| {
                (first.fetch_time_ms, &first.url_key)
                    == (stored.capture.fetch_time_ms, &stored.capture.url_key)
            };
            if !equal.first().is_none_or(is_equal) {
                print_captures(printer, &mut equal)?;
            }
            equal.push((self.input(stored.input)?.input.clone(), stored.capture));
        }
        print_captures(printer, &mut equal)
    }

    fn dump_pages(&self, range: &DumpRange, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        let mut uris = self.rows_in(Table::Uris, range);
        for row in self.rows_in(Table::Versions, range) {
            if printer.is_full() {
                break;
            }
            let (key, value) = row?;
            let url_key = self.cut().decode(Table::Versions, &key, codec::to_text(&key))?;
            let page = self
                .cut()
                .decode(Table::Versions, &key, version_row::decode(&url_key, &value))?;
            if !page.is_page {
                continue;
            }
            // Both tables are sorted by URL key, and every version has a URI.
            let uri = loop {
                match uris.next().transpose()? {
                    Some((k, uri)) if k == key => break uris::decode_counts(&uri),
                    Some(_) => {}
                    None => break Err(Corrupt("page has no URI")),
                }
            };
            let counts = self.cut().decode(Table::Uris, &key, uri)?.counts;
            print_page(printer, &url_key, &page, counts)?;
        }
        Ok(())
    }

    fn dump_links(&self, range: &DumpRange, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        for row in self.rows_in(Table::Links, range) {
            let (key, value) = row?;
            let source_key = self.cut().decode(Table::Links, &key, codec::to_text(&key))?;
            for link in links::read_row(self.cut(), &key, &value, |_| true)? {
                if printer.is_full() {
                    return Ok(());
                }
                printer.row(&[
                    ("source_key", Cell::Text(&source_key)),
                    ("target_key", Cell::Text(&link.url_key)),
                    ("target_url", Cell::Text(&link.url)),
                    ("anchor", Cell::Text(&link.anchor)),
                    ("nofollow", Cell::Number(u64::from(link.nofollow))),
                ])?;
            }
        }
        Ok(())
    }

    /// Dumps the in-links of a range of targets by looking up the sources of each target.
    fn dump_inlinks_of(&self, range: &DumpRange, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        for row in self.rows_in(Table::Uris, range) {
            if printer.is_full() {
                break;
            }
            let (key, value) = row?;
            let uri = self
                .cut()
                .decode(Table::Uris, &key, uris::decode_counts(&value))?;
            if uri.counts.inlinks == 0 {
                continue;
            }
            let target_key = self.cut().decode(Table::Uris, &key, codec::to_text(&key))?;
            let wanted = usize::try_from(printer.room()).unwrap_or(usize::MAX);
            for link in self.inlinks(&target_key, None, wanted)? {
                print_inlink(
                    printer,
                    &target_key,
                    &link.source_key,
                    &link.anchor,
                    link.nofollow,
                )?;
            }
        }
        Ok(())
    }

    fn dump_inlinks(&self, range: &DumpRange, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        let scratch = |source| DumpError::Scratch {
            dir: self.dir().display().to_string(),
            source,
        };
        let mut sorter = Sorter::new(self.dir());
        for row in self.cut().iter(Table::Links) {
            let (key, value) = row?;
            for link in links::read_row(self.cut(), &key, &value, |target| range.contains(target))? {
                // Sorted in files, because the links of a large archive do not fit into memory.
                sorter.push(&pack_inlink(&key, &link)).map_err(scratch)?;
            }
        }
        for row in sorter.finish().map_err(scratch)? {
            if printer.is_full() {
                break;
            }
            let row = row.map_err(scratch)?;
            let (target_key, source_key, anchor, nofollow) =
                self.cut().decode(Table::Links, &row, unpack_inlink(&row))?;
            print_inlink(printer, target_key, source_key, anchor, nofollow)?;
        }
        Ok(())
    }

    fn dump_uris(&self, range: &DumpRange, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        for row in self.rows_in(Table::Uris, range) {
            if printer.is_full() {
                break;
            }
            let (key, value) = row?;
            let url_key = self.cut().decode(Table::Uris, &key, codec::to_text(&key))?;
            let uri = self
                .cut()
                .decode(Table::Uris, &key, uris::decode_counts(&value))?;
            printer.row(&[
                ("url_key", Cell::Text(&url_key)),
                ("captured", Cell::Number(u64::from(uri.captured))),
                ("inlinks", Cell::Number(uri.counts.inlinks)),
                ("inlinks_external", Cell::Number(uri.counts.inlinks_external)),
            ])?;
        }
        Ok(())
    }

    fn dump_top(&self, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        let scratch = |source| DumpError::Scratch {
            dir: self.dir().display().to_string(),
            source,
        };
        let mut sorter = Sorter::new(self.dir());
        for row in uris::scan(self.cut()) {
            let (key, value) = row?;
            let counts = self
                .cut()
                .decode(Table::Uris, &key, uris::decode_counts(&value))?
                .counts;
            sorter.push(&pack_rank(counts, &key)).map_err(scratch)?;
        }
        for row in sorter.finish().map_err(scratch)? {
            let row = row.map_err(scratch)?;
            let ranked = self.cut().decode(Table::Uris, &row, unpack_rank(&row))?;
            let Ranked { counts, url_key } = ranked;
            print_ranked(printer, &url_key, counts.inlinks, counts.inlinks_external)?;
        }
        Ok(())
    }
}

/// Encodes an in-link so that rows sort by target, then source. A NUL ends each key; URL keys
/// contain none.
fn pack_inlink(source_key: &[u8], link: &extract::Link) -> Vec<u8> {
    let mut row = Vec::with_capacity(source_key.len() + link.url_key.len() + link.anchor.len() + 8);
    for key in [link.url_key.as_bytes(), source_key] {
        row.extend_from_slice(key);
        row.push(0);
    }
    row.push(u8::from(link.nofollow));
    row.extend_from_slice(link.anchor.as_bytes());
    row
}

fn unpack_inlink(row: &[u8]) -> Result<(&str, &str, &str, bool), Corrupt> {
    let bad = Corrupt("truncated sorted row");
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| Corrupt("text is not UTF-8"));
    let mut parts = row.splitn(3, |&b| b == 0);
    let target = parts.next().ok_or(bad)?;
    let source = parts.next().ok_or(bad)?;
    let (nofollow, anchor) = parts.next().and_then(<[u8]>::split_first).ok_or(bad)?;
    Ok((text(target)?, text(source)?, text(anchor)?, *nofollow == 1))
}

pub(super) fn pack_rank(counts: Counts, url_key: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(16 + url_key.len());
    // Complemented big-endian counts sort in descending order.
    row.extend_from_slice(&(!counts.inlinks_external).to_be_bytes());
    row.extend_from_slice(&(!counts.inlinks).to_be_bytes());
    row.extend_from_slice(url_key);
    row
}

pub(super) fn unpack_rank(row: &[u8]) -> Result<Ranked, Corrupt> {
    let mut r = Reader::new(row);
    let mut number = || {
        let bytes = r.take(8)?.first_chunk().ok_or(Corrupt("truncated row"))?;
        Ok::<_, Corrupt>(!u64::from_be_bytes(*bytes))
    };
    let (inlinks_external, inlinks) = (number()?, number()?);
    let url_key = codec::to_text(r.rest())?;
    Ok(Ranked {
        counts: Counts {
            inlinks,
            inlinks_external,
        },
        url_key,
    })
}

/// Prints captures of one key and time with the names of their inputs, in the order of the columns.
pub(crate) fn print_captures(
    printer: &mut Printer<'_>,
    equal: &mut Vec<(String, Capture)>,
) -> Result<(), DumpError> {
    equal.sort_by(|(a_input, a), (b_input, b)| {
        capture_row::columns(a, a_input).cmp(&capture_row::columns(b, b_input))
    });
    for (input, capture) in equal.drain(..) {
        printer.row(&capture_row::columns(&capture, &input))?;
    }
    Ok(())
}

fn print_page(
    printer: &mut Printer<'_>,
    url_key: &str,
    page: &version_row::VersionRow,
    counts: Counts,
) -> Result<(), DumpError> {
    printer.row(&[
        ("url_key", Cell::Text(url_key)),
        ("url", Cell::Text(&page.url)),
        ("fetch_time", Cell::Time(page.fetch_time_ms)),
        ("status", Cell::Number(u64::from(page.status))),
        ("mime", Cell::Text(&page.mime)),
        ("digest", Cell::Text(&page.digest)),
        ("title", Cell::Text(&page.title)),
        ("links", Cell::Number(u64::from(page.links))),
        ("inlinks", Cell::Number(counts.inlinks)),
        ("inlinks_external", Cell::Number(counts.inlinks_external)),
    ])
}

fn print_ranked(
    printer: &mut Printer<'_>,
    url_key: &str,
    inlinks: u64,
    inlinks_external: u64,
) -> Result<(), DumpError> {
    printer.row(&[
        ("inlinks_external", Cell::Number(inlinks_external)),
        ("inlinks", Cell::Number(inlinks)),
        ("url_key", Cell::Text(url_key)),
    ])
}

fn print_inlink(
    printer: &mut Printer<'_>,
    target_key: &str,
    source_key: &str,
    anchor: &str,
    nofollow: bool,
) -> Result<(), DumpError> {
    printer.row(&[
        ("target_key", Cell::Text(target_key)),
        ("source_key", Cell::Text(source_key)),
        ("anchor", Cell::Text(anchor)),
        ("nofollow", Cell::Number(u64::from(nofollow))),
    ])
}

/// Prints the ledger by name and digest, because numbers depend on the order of loading.
pub(crate) fn dump_ledger(printer: &mut Printer<'_>, mut entries: Vec<LedgerRow>) -> Result<(), DumpError> {
    // Two inputs may have the same name, but digests are unique.
    entries.sort_by(|a, b| (&a.input, &a.digest).cmp(&(&b.input, &b.digest)));
    for entry in entries {
        printer.row(&[
            ("input", Cell::Text(&entry.input)),
            ("digest", Cell::Text(&entry.digest)),
            ("size", Cell::Number(entry.size)),
            ("state", Cell::Text(&entry.state.to_string())),
            ("records", Cell::Number(entry.records)),
            ("captures", Cell::Number(entry.captures)),
            ("quarantined", Cell::Number(entry.quarantined)),
            ("bytes_done", Cell::Number(entry.bytes_done)),
        ])?;
    }
    Ok(())
}

/// Prints the quarantine by input name, offset, reason and detail.
pub(crate) fn dump_quarantine(
    printer: &mut Printer<'_>,
    mut rows: Vec<(String, QuarantineEntry)>,
) -> Result<(), DumpError> {
    rows.sort_by(|(a_input, a), (b_input, b)| {
        (a_input, a.offset, &a.reason, &a.detail).cmp(&(b_input, b.offset, &b.reason, &b.detail))
    });
    for (input, entry) in rows {
        printer.row(&[
            ("input", Cell::Text(&input)),
            ("offset", Cell::Number(entry.offset)),
            ("reason", Cell::Text(&entry.reason)),
            ("detail", Cell::Text(&entry.detail)),
        ])?;
    }
    Ok(())
}
