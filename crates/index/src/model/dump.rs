//! Dumps of the model's views.

use std::collections::BTreeMap;
use std::io::Write;

use extract::Capture;

use super::{Model, is_page, links_of};
use crate::cell::Cell;
use crate::dump::{DumpFormat, Printer, View, dump_ledger, dump_quarantine, print_captures};
use crate::error::DumpError;

impl Model {
    /// As [`crate::Snapshot::dump`].
    ///
    /// # Errors
    /// [`DumpError::Output`].
    pub fn dump(&self, view: View, format: DumpFormat, out: &mut dyn Write) -> Result<u64, DumpError> {
        let mut printer = Printer::new(format, out);
        let p = &mut printer;
        match view {
            View::Captures => self.dump_captures(p)?,
            View::Pages => self.dump_pages(p)?,
            View::Links => self.dump_links(p)?,
            View::Inlinks => self.dump_inlinks(p)?,
            View::Uris => self.dump_uris(p)?,
            View::Domains => self.dump_domains(p)?,
            View::Top => self.dump_top(p)?,
            View::Ledger => dump_ledger(p, self.ledger.clone())?,
            View::Quarantine => {
                let rows = self.quarantine.iter();
                dump_quarantine(
                    p,
                    rows.map(|(i, q)| (self.name(*i).to_owned(), q.clone())).collect(),
                )?;
            }
        }
        printer.finish()
    }

    fn dump_captures(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        let mut groups: BTreeMap<(&str, i64), Vec<(String, Capture)>> = BTreeMap::new();
        for ((input, _), c) in &self.captures {
            let row = (self.name(*input).to_owned(), c.clone());
            groups.entry((&c.url_key, c.fetch_time_ms)).or_default().push(row);
        }
        groups
            .into_values()
            .try_for_each(|mut group| print_captures(p, &mut group))
    }

    fn dump_pages(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        let uris = self.uris();
        for (key, c) in self.versions().into_iter().filter(|(_, c)| is_page(c)) {
            let uri = &uris[key];
            p.row(&[
                ("url_key", Cell::Text(key)),
                ("url", Cell::Text(&c.url)),
                ("fetch_time", Cell::Time(c.fetch_time_ms)),
                ("status", Cell::Number(u64::from(c.shown_status()))),
                ("mime", Cell::Text(c.shown_mime())),
                ("digest", Cell::Text(&c.digest)),
                (
                    "title",
                    Cell::Text(c.page.as_ref().map_or("", |page| &page.title)),
                ),
                ("links", Cell::Number(links_of(c).len() as u64)),
                ("inlinks", Cell::Number(uri.sources.len() as u64)),
                ("inlinks_external", Cell::Number(uri.external)),
            ])?;
        }
        Ok(())
    }

    fn dump_links(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        for ((source, target), link) in self.links() {
            p.row(&[
                ("source_key", Cell::Text(&source)),
                ("target_key", Cell::Text(&target)),
                ("target_url", Cell::Text(&link.url)),
                ("anchor", Cell::Text(&link.anchor)),
                ("nofollow", Cell::Number(u64::from(link.nofollow))),
            ])?;
        }
        Ok(())
    }

    fn dump_inlinks(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        let links = self.links();
        let turned: BTreeMap<_, _> = links.iter().map(|((s, t), link)| ((t, s), link)).collect();
        for ((target, source), link) in turned {
            p.row(&[
                ("target_key", Cell::Text(target)),
                ("source_key", Cell::Text(source)),
                ("anchor", Cell::Text(&link.anchor)),
                ("nofollow", Cell::Number(u64::from(link.nofollow))),
            ])?;
        }
        Ok(())
    }

    fn dump_uris(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        for (key, uri) in self.uris() {
            p.row(&[
                ("url_key", Cell::Text(&key)),
                ("captured", Cell::Number(u64::from(uri.captured))),
                ("inlinks", Cell::Number(uri.sources.len() as u64)),
                ("inlinks_external", Cell::Number(uri.external)),
            ])?;
        }
        Ok(())
    }

    fn dump_top(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        for row in self.top() {
            p.row(&[
                ("inlinks_external", Cell::Number(row.inlinks_external)),
                ("inlinks", Cell::Number(row.inlinks)),
                ("url_key", Cell::Text(&row.url_key)),
            ])?;
        }
        Ok(())
    }

    fn dump_domains(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        let versions = self.versions();
        let mut domains: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        for (key, uri) in self.uris() {
            let sums = domains.entry(urlkey::domain_of_key(&key)).or_default();
            sums.0 += 1;
            sums.1 += u64::from(versions.get(key.as_str()).is_some_and(|c| is_page(c)));
            sums.2 += uri.external;
        }
        for (domain, (uris, pages, external)) in domains {
            p.row(&[
                ("domain", Cell::Text(&domain)),
                ("uris", Cell::Number(uris)),
                ("pages", Cell::Number(pages)),
                ("inlinks_external", Cell::Number(external)),
            ])?;
        }
        Ok(())
    }
}
