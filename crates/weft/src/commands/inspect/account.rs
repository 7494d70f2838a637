//! Totals of a file: records by kind, padding and quarantined bytes, checked against its size.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;
use warc::Entry;

use super::row::{LoadOutcome, Row};
use crate::context::Context;
use crate::units::{bytes, count, counted};

/// A number of entries and their total size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct Sum {
    number: u64,
    bytes: u64,
}

impl Sum {
    fn count(&mut self, bytes: u64) {
        self.number += 1;
        self.bytes += bytes;
    }

    fn add(&mut self, other: Sum) {
        self.number += other.number;
        self.bytes += other.bytes;
    }
}

/// Totals of one or more files.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    /// Size of the file(s) in bytes.
    size: u64,
    records: BTreeMap<&'static str, Sum>,
    padding: Sum,
    quarantined: Sum,
    captures: u64,
    pages: u64,
    /// Records that should be captures but are unusable.
    unusable: u64,
    /// Number of defects by reason, of quarantined bytes and of records.
    defects: BTreeMap<&'static str, u64>,
}

impl Account {
    /// Makes empty totals for a file of `size` bytes.
    pub(super) fn of_size(size: u64) -> Account {
        Account {
            size,
            ..Account::default()
        }
    }

    /// Counts one entry.
    pub(super) fn count(&mut self, entry: &Entry, row: &Row) {
        match entry {
            Entry::Padding(span) => self.padding.count(span.length),
            Entry::Quarantined(span, _) => self.quarantined.count(span.length),
            _ => self.records.entry(row.kind).or_default().count(row.span.length),
        }
        for defect in &row.defects {
            *self.defects.entry(defect.reason).or_default() += 1;
        }
        match (&row.outcome, entry) {
            (LoadOutcome::Capture { page, .. }, _) => {
                self.captures += 1;
                self.pages += u64::from(*page);
            }
            (LoadOutcome::Lost(_), Entry::Record(_)) => self.unusable += 1,
            _ => {}
        }
    }

    /// Adds the totals of another file.
    pub(super) fn add(&mut self, other: &Account) {
        self.size += other.size;
        for (kind, sum) in &other.records {
            self.records.entry(kind).or_default().add(*sum);
        }
        self.padding.add(other.padding);
        self.quarantined.add(other.quarantined);
        self.captures += other.captures;
        self.pages += other.pages;
        self.unusable += other.unusable;
        for (reason, number) in &other.defects {
            *self.defects.entry(reason).or_default() += number;
        }
    }

    /// Returns whether there are no defects and every byte is accounted for.
    pub(super) fn is_clean(&self) -> bool {
        self.defects.is_empty() && self.unaccounted() == 0
    }

    fn records_sum(&self) -> Sum {
        let mut all = Sum::default();
        self.records.values().for_each(|sum| all.add(*sum));
        all
    }

    fn total_bytes(&self) -> u64 {
        self.records_sum().bytes + self.padding.bytes + self.quarantined.bytes
    }

    /// Returns the number of bytes that are in no entry or in two; anything but 0 is a bug in Weft.
    fn unaccounted(&self) -> u64 {
        // The absolute difference: a byte in two entries is as wrong as one in none.
        self.size.abs_diff(self.total_bytes())
    }

    /// Prints the totals as text. They include wrong digests only if `digests_verified`.
    pub(super) fn print(&self, digests_verified: bool, context: &mut Context) -> anyhow::Result<()> {
        let out = &mut context.out;
        let records = self.records_sum();
        let kinds: Vec<String> = self
            .records
            .iter()
            .map(|(kind, sum)| format!("{kind} {}", count(sum.number)))
            .collect();
        for (name, sum, note) in [
            ("records", records, kinds.join(", ")),
            ("padding", self.padding, String::new()),
            ("quarantined", self.quarantined, String::new()),
        ] {
            let line = format!(
                "  {name:<12} {:>9} {:>15} bytes   {note}",
                count(sum.number),
                count(sum.bytes)
            );
            writeln!(out, "{}", line.trim_end())?;
        }
        let verdict = match self.unaccounted() {
            0 => "= file size".to_owned(),
            missing => out.style.bad(&format!(
                "but the file has {}: {} unaccounted for",
                count(self.size),
                count(missing)
            )),
        };
        writeln!(
            out,
            "  {:<22} {:>15} bytes   {verdict} ({})",
            "together",
            count(self.total_bytes()),
            bytes(self.size)
        )?;
        writeln!(
            out,
            "  {:<12} {:>9}   {}",
            "captures",
            count(self.captures),
            counted(self.pages, "page", "pages")
        )?;
        if !digests_verified {
            let (name, note) = ("digests", "not verified (--verify)");
            writeln!(context.out, "  {name:<22}   {note}")?;
        }
        self.print_defects(context)
    }

    fn print_defects(&self, context: &mut Context) -> anyhow::Result<()> {
        let out = &mut context.out;
        if !self.defects.is_empty() {
            let defects: Vec<String> = self
                .defects
                .iter()
                .map(|(reason, number)| format!("{reason} {}", count(*number)))
                .collect();
            let defects = out.style.warn(&defects.join(", "));
            writeln!(
                out,
                "  {:<12} {:>9}   {defects}",
                "defects",
                count(self.defects.values().sum())
            )?;
        }
        if self.unusable > 0 {
            let note = "records that should be captures but cannot be used";
            writeln!(out, "  {:<12} {:>9}   {note}", "unusable", count(self.unusable))?;
        }
        Ok(())
    }

    /// Returns the totals as a JSON object of type `sums`.
    pub(super) fn to_json<'a>(&'a self, input: &'a str, digests_verified: bool) -> impl Serialize + use<'a> {
        Sums {
            input,
            kind: "sums",
            size: self.size,
            records: self.records_sum(),
            kinds: &self.records,
            padding: self.padding,
            quarantined: self.quarantined,
            unaccounted_bytes: self.unaccounted(),
            captures: self.captures,
            pages: self.pages,
            unusable: self.unusable,
            digests_verified,
            defects: &self.defects,
        }
    }
}

/// The JSON form of [`Account`].
#[derive(Serialize)]
struct Sums<'a> {
    input: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    size: u64,
    records: Sum,
    kinds: &'a BTreeMap<&'static str, Sum>,
    padding: Sum,
    quarantined: Sum,
    unaccounted_bytes: u64,
    captures: u64,
    pages: u64,
    unusable: u64,
    digests_verified: bool,
    defects: &'a BTreeMap<&'static str, u64>,
}
