//! Captures of the pages that a search finds, and of the resources that a browser loads for them.

use archive::question::{Record, SearchBody, SearchHit, SearchOrder, SearchQuestion};
use archive::{Archive, AskError, ErrorCode};
use export::{CaptureSelection, ExportError, OmittedRecord};
use indicatif::ProgressBar;
use server::check_page;

use crate::stop::Stop;

/// Results requested at a time.
const HITS_AT_ONCE: usize = 1000;

/// Flags for exporting the results of a search.
#[derive(Debug, clap::Args)]
// The flags of `weft export` have a group of this name already.
#[group(skip)]
pub(super) struct Args {
    /// With QUERY: only the pages, without the resources that a browser loads for them
    #[arg(long, requires = "query")]
    pages_only: bool,
    /// With QUERY: include past versions of pages, even without at:, from: or to:
    #[arg(long, requires = "query")]
    all_versions: bool,
}

/// The outcome of a search.
pub(super) struct SearchSelection {
    /// Captures to export.
    pub(super) chosen: CaptureSelection,
    /// Results whose captures no longer exist.
    pub(super) left_out: Vec<OmittedRecord>,
    /// Parts of the query that were changed or ignored, and pages not all of whose resources are
    /// known.
    pub(super) notes: Vec<String>,
}

/// Selects the captures that a search finds.
pub(super) fn find(
    archive: &Archive,
    args: &Args,
    query: &str,
    bar: &ProgressBar,
    stop: &Stop,
) -> anyhow::Result<SearchSelection> {
    let mut found = SearchSelection {
        chosen: CaptureSelection::new(format!("pages found by a search for {query}")),
        left_out: Vec::new(),
        notes: Vec::new(),
    };
    let mut question = SearchQuestion {
        query: query.to_owned(),
        all_versions: args.all_versions,
        limit: HITS_AT_ONCE,
        order: SearchOrder::Url,
        ..SearchQuestion::default()
    };
    let mut done = 0;
    loop {
        let SearchBody {
            summary, hits, next, ..
        } = archive.ask(question.clone())?.body;
        bar.set_length(summary.total);
        if question.after.is_none() {
            found.notes = summary.notes.into_iter().map(|note| note.text).collect();
        }
        for hit in &hits {
            let has_capture = found.add_page(archive, hit)?;
            if has_capture && !args.pages_only {
                found.add_parts(archive, hit, stop)?;
            }
            if stop.is_requested() {
                return Err(ExportError::Stopped(done).into());
            }
            done += 1;
            bar.set_position(done);
        }
        // A cursor that points to itself would loop forever.
        if next.is_none() || next == question.after {
            return Ok(found);
        }
        question.after = next;
    }
}

impl SearchSelection {
    /// Adds the capture of a page. Returns whether the capture exists.
    fn add_page(&mut self, archive: &Archive, hit: &SearchHit) -> Result<bool, AskError> {
        let question = Record {
            url: hit.url.clone(),
            at: Some(digits(&hit.fetch_time)),
            ..Record::default()
        };
        let capture = match archive.ask(question) {
            Ok(record) => Some(record.body.capture),
            Err(error) if error.code == ErrorCode::NotFound => None,
            Err(error) => return Err(error),
        };
        let capture = capture.filter(|capture| capture.fetch_time == hit.fetch_time);
        let has_capture = capture.is_some();
        match capture {
            Some(capture) => self.chosen.add(capture),
            None => self.left_out.push(OmittedRecord {
                url: hit.url.clone(),
                fetch_time: hit.fetch_time.clone(),
                why: "its capture no longer exists".to_owned(),
            }),
        }
        Ok(has_capture)
    }

    fn add_parts(&mut self, archive: &Archive, hit: &SearchHit, stop: &Stop) -> Result<(), AskError> {
        let time = digits(&hit.fetch_time);
        match check_page(archive, &hit.url, Some(&time), &mut |_| !stop.is_requested()) {
            Ok(page) => {
                if page.is_cut {
                    let more = "has more embedded resources than the limit; the rest is not exported";
                    self.notes.push(format!("{} {more}", hit.url));
                }
                for capture in page.captures {
                    self.chosen.add(capture);
                }
            }
            Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::Unavailable) => {
                self.notes.push(format!(
                    "the embedded resources of {} are unknown: {error}",
                    hit.url
                ));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn digits(time: &str) -> String {
    time.chars().filter(char::is_ascii_digit).collect()
}
