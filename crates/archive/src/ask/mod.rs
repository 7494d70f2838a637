//! Answers questions in the owner's process, each from one snapshot.
//!
//! Invariants:
//! - everything in an answer belongs to the epoch it names (a search names the epoch that it covers);
//! - lists continue by key, never by count: a cursor names the last row returned.

mod cdx;
mod cdx_walk;
mod check;
mod cursor;
mod domain;
mod domains;
mod forget;
mod jobs;
mod key;
mod ledger;
mod links;
mod page;
mod record;
mod search;
mod status;
mod time;

use std::io::Write;

use weave::{DumpError, Snapshot, SnapshotError};

use crate::AskError;
use crate::parts::Parts;
use crate::question::{
    Answer, Cancel, Domain, Domains, Dump, DumpFormat, Forget, Inlinks, Job, Ledger, Outlinks, Page,
    Quarantine, Question, Record, Top,
};

/// Most rows in an answer.
const LIMIT_MAX: usize = 10_000;

/// Rows in an answer if the question asks for 0.
const LIMIT_DEFAULT: usize = 100;

/// Answers a question.
pub(crate) fn answer(parts: &Parts, question: &Question) -> Result<Answer, AskError> {
    // If a load ended after the snapshot was taken, the answer would call it done next to a ledger in which
    // it is not, so ask again. A load begins once and ends once, so this loop ends.
    loop {
        let phases = parts.jobs.phases();
        let answer = answer_at_once(parts, question)?;
        let about_jobs = matches!(
            question,
            Question::Jobs(_) | Question::Job(_) | Question::Cancel(_)
        );
        if !about_jobs || parts.jobs.phases() == phases {
            return Ok(answer);
        }
    }
}

fn answer_at_once(parts: &Parts, question: &Question) -> Result<Answer, AskError> {
    let snapshot = parts.weave.snapshot();
    let body = match question {
        Question::Status(_) => status::status(parts, &snapshot),
        Question::Check(_) => check::check(parts, &snapshot),
        Question::Stages(_) => Ok(jobs::stages(parts)),
        Question::Ledger(Ledger { state, after, limit }) => {
            ledger::ledger(&snapshot, *state, after.as_deref(), *limit)
        }
        Question::Quarantine(Quarantine { input, after, limit }) => {
            ledger::quarantine(&snapshot, input.as_deref(), after.as_deref(), *limit)
        }
        Question::Page(Page { url }) => page::page(&snapshot, url),
        Question::Inlinks(Inlinks { url, after, limit }) => {
            links::inlinks(&snapshot, url, after.as_deref(), *limit)
        }
        Question::Outlinks(Outlinks { url, after, limit }) => {
            links::outlinks(&snapshot, url, after.as_deref(), *limit)
        }
        Question::Domain(Domain { name }) => domain::domain(&snapshot, name),
        Question::Domains(Domains { order, after, limit }) => {
            domains::domains(&snapshot, *order, after.as_deref(), *limit)
        }
        Question::Top(Top { domain, after, limit }) => {
            domain::top(&snapshot, domain.as_deref(), after.as_deref(), *limit)
        }
        Question::Cdx(cdx) => cdx::cdx(&snapshot, cdx),
        Question::CdxBlocks(blocks) => cdx::blocks(&snapshot, blocks),
        Question::Search(query) => search::search(parts, &snapshot, query),
        Question::Record(Record { url, at, capture }) => {
            record::record(&snapshot, url, at.as_deref(), capture.as_deref())
        }
        Question::Load(request) => jobs::load(parts, request),
        Question::Jobs(_) => jobs::jobs(parts, &snapshot),
        Question::Job(Job { id }) => jobs::job(parts, &snapshot, *id),
        Question::Cancel(Cancel { id }) => jobs::cancel(parts, &snapshot, *id),
        Question::Forget(Forget { inputs }) => forget::forget(parts, inputs),
    }?;
    Ok(Answer {
        epoch: snapshot.epoch().0,
        body,
    })
}

/// Writes a whole view, or details (which are always tab-separated).
pub(crate) fn dump(
    parts: &Parts,
    rows: Dump,
    format: DumpFormat,
    out: &mut dyn Write,
) -> Result<u64, AskError> {
    let snapshot = parts.weave.snapshot();
    let dumped = match rows {
        Dump::View(view) => snapshot.dump(view, format, out),
        Dump::Details(details) => snapshot.dump_details(details, out),
    };
    dumped.map_err(|error| match error {
        DumpError::Output(error) => AskError::unavailable(format!("write the dump: {error}")),
        other => AskError::internal(other),
    })
}

impl From<SnapshotError> for AskError {
    fn from(error: SnapshotError) -> AskError {
        AskError::internal(error)
    }
}

/// Number of rows to return for the limit asked for.
fn clamp(limit: usize) -> usize {
    match limit {
        0 => LIMIT_DEFAULT,
        limit => limit.min(LIMIT_MAX),
    }
}

/// Cuts `rows` to `limit`; the caller asks for one more. Returns the cursor of the last row left if there are
/// more.
fn page_of<R>(rows: &mut Vec<R>, limit: usize, cursor: impl Fn(&R) -> String) -> Option<String> {
    if rows.len() <= limit {
        return None;
    }
    rows.truncate(limit);
    rows.last().map(cursor)
}

/// URL and title of a key's current version, empty if it has none.
fn title(snapshot: &Snapshot, url_key: &str) -> Result<(String, String), SnapshotError> {
    let version = snapshot.version(url_key)?;
    Ok(version
        .map(|version| (version.url, version.title))
        .unwrap_or_default())
}

/// The error for every question about a URL that is not in the archive.
fn unknown(url: &str, url_key: &str) -> AskError {
    AskError::not_found(format!("no capture of {url} and no link to it (key {url_key})"))
}
