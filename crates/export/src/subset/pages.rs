//! Writes the lists of pages of an exported package: the pages that the source packages list, and
//! for captures from elsewhere all HTML pages that succeeded.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use archive::question::ListedPages;
use cdx::CdxRow;
use inputs::{MAIN_LIST, package_of};
use serde_json::{Map, Value, json};

use super::sorted_rows::SortedRows;
use crate::results::{AskFn, ExportError};

/// Number of pages requested at a time.
const PAGES_AT_ONCE: usize = 1000;

/// Separates the parts of a row. It does not occur in them.
const DIVIDER: u8 = 0;

/// Kind of a row, in the order in which the rows of one capture sort.
const CAPTURE: u8 = b'c';
const LISTED: u8 = b'm';
const LISTED_EXTRA: u8 = b'x';

/// The captures written, and the pages listed for them.
#[derive(Default)]
pub(super) struct Pages {
    /// Source packages of the captures, and whether they list pages with captures.
    packages: Vec<Package>,
    numbers: BTreeMap<String, u32>,
    rows: SortedRows,
    has_text: bool,
    /// Whether HTML captures are listed although their package does not list them.
    keeps_unlisted: bool,
}

struct Package {
    location: String,
    lists: bool,
}

/// The lists, as files.
pub(super) struct PageFiles {
    pub(super) main: BufWriter<File>,
    /// Pages of lists other than `pages.jsonl`.
    pub(super) extra: Option<BufWriter<File>>,
}

impl Pages {
    /// Makes an empty collection. `keeps_unlisted` says whether HTML captures are listed even if
    /// their package lists others.
    pub(super) fn new(keeps_unlisted: bool) -> Pages {
        Pages {
            keeps_unlisted,
            ..Pages::default()
        }
    }

    /// Adds a capture that was written, with its source location and the line to use if its package
    /// lists no pages.
    pub(super) fn push(
        &mut self,
        row: &CdxRow,
        name: &str,
        location: &str,
        page: Option<Value>,
    ) -> io::Result<()> {
        let package = package_of(location).map(|(package, _)| package);
        // No package has this number, so a capture from elsewhere counts as one without a list.
        let number = package.map_or(Ok(u32::MAX), |package| self.number(package))?;
        let page = page.map_or_else(String::new, |page| page.to_string());
        let place = [&row.url_key, &row.fetch_time, name];
        self.rows
            .push(joined(place, CAPTURE, &[&number.to_be_bytes(), page.as_bytes()]))
    }

    fn number(&mut self, package: String) -> io::Result<u32> {
        if let Some(number) = self.numbers.get(&package) {
            return Ok(*number);
        }
        let number = u32::try_from(self.packages.len()).map_err(io::Error::other)?;
        self.packages.push(Package {
            location: package.clone(),
            lists: false,
        });
        self.numbers.insert(package, number);
        Ok(number)
    }

    /// Reads the lists of the source packages. Returns their problems.
    pub(super) fn read_lists(
        &mut self,
        ask: &AskFn<'_>,
        should_continue: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<String>, ExportError> {
        let mut problems = Vec::new();
        for at in 0..self.packages.len() {
            let mut question = ListedPages {
                input: Some(self.packages[at].location.clone()),
                whole: true,
                limit: PAGES_AT_ONCE,
                ..ListedPages::default()
            };
            loop {
                if !should_continue() {
                    return Err(ExportError::Stopped(0));
                }
                let body = ask(question.clone().into())?.to::<ListedPages>()?.body;
                problems.extend(body.problems.iter().map(ToString::to_string));
                for row in body.rows {
                    let (Some(capture), Some(listed)) = (row.capture, row.listed) else {
                        continue;
                    };
                    self.packages[at].lists = true;
                    self.listed(&capture, row.list == MAIN_LIST, listed)
                        .map_err(ExportError::Output)?;
                }
                match body.next {
                    Some(next) => question.after = Some(next),
                    None => break,
                }
            }
        }
        Ok(problems)
    }

    fn listed(&mut self, capture: &CdxRow, is_main: bool, listed: Map<String, Value>) -> io::Result<()> {
        self.has_text |= is_main && listed.contains_key("text");
        let kind = if is_main { LISTED } else { LISTED_EXTRA };
        let place = [&capture.url_key, &capture.fetch_time, &*capture.name()];
        self.rows.push(joined(
            place,
            kind,
            &[Value::Object(listed).to_string().as_bytes()],
        ))
    }

    /// Writes the lists.
    pub(super) fn finish(self) -> io::Result<PageFiles> {
        let mut head = json!({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"});
        if self.has_text {
            head["hasText"] = true.into();
        }
        let mut files = PageFiles {
            main: BufWriter::new(tempfile::tempfile()?),
            extra: None,
        };
        writeln!(files.main, "{head}")?;
        let mut rows = self.rows.finish()?;
        let mut of_capture = PageRows::default();
        while let Some(row) = rows.pop()? {
            let Some((place, kind, rest)) = divided(&row) else {
                continue;
            };
            if of_capture.place != place {
                let before = std::mem::replace(&mut of_capture, PageRows::at(place));
                before.write(&mut files)?;
            }
            match (kind, rest.split_first_chunk::<4>()) {
                (CAPTURE, Some((number, page))) => {
                    let package = self.packages.get(u32::from_be_bytes(*number) as usize);
                    let is_left = package.is_some_and(|package| package.lists) && !self.keeps_unlisted;
                    of_capture.is_written = true;
                    of_capture.unlisted = if is_left { Vec::new() } else { page.to_vec() };
                }
                // If a capture is in several lists or lines, the first counts.
                _ if of_capture.listed.is_none() => of_capture.listed = Some((kind, rest.to_vec())),
                _ => {}
            }
        }
        of_capture.write(&mut files)?;
        Ok(files)
    }
}

/// The rows of one capture.
#[derive(Default)]
struct PageRows {
    place: Vec<u8>,
    /// Whether the capture was written. A listed page may belong to one that was not.
    is_written: bool,
    unlisted: Vec<u8>,
    listed: Option<(u8, Vec<u8>)>,
}

impl PageRows {
    fn at(place: &[u8]) -> PageRows {
        PageRows {
            place: place.to_owned(),
            ..PageRows::default()
        }
    }

    fn write(self, files: &mut PageFiles) -> io::Result<()> {
        let (out, line) = match self.listed {
            _ if !self.is_written => return Ok(()),
            Some((LISTED_EXTRA, line)) => (files.extra()?, line),
            Some((_, line)) => (&mut files.main, line),
            None if self.unlisted.is_empty() => return Ok(()),
            None => (&mut files.main, self.unlisted),
        };
        out.write_all(&line)?;
        out.write_all(b"\n")
    }
}

impl PageFiles {
    fn extra(&mut self) -> io::Result<&mut BufWriter<File>> {
        if self.extra.is_none() {
            let mut file = BufWriter::new(tempfile::tempfile()?);
            let head = json!({"format": "json-pages-1.0", "id": "extra", "title": "Extra Pages"});
            writeln!(file, "{head}")?;
            return Ok(self.extra.insert(file));
        }
        self.extra
            .as_mut()
            .ok_or_else(|| io::Error::other("the file is missing"))
    }
}

fn joined(place: [&str; 3], kind: u8, rest: &[&[u8]]) -> Vec<u8> {
    let mut row = Vec::new();
    for part in place {
        row.extend(part.as_bytes());
        row.push(DIVIDER);
    }
    row.push(kind);
    rest.iter().for_each(|part| row.extend(*part));
    row
}

/// Splits a row into place, kind and the rest.
fn divided(row: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let dividers = row.iter().enumerate().filter(|(_, byte)| **byte == DIVIDER);
    let (end, _) = dividers.take(3).last()?;
    let (place, rest) = row.split_at(end + 1);
    let (kind, rest) = rest.split_first()?;
    Some((place, *kind, rest))
}
