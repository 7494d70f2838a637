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
mod limit;
mod links;
mod page;
mod record;
mod search;
mod status;
mod time;

use std::io::Write;

use weave::{DumpError, SnapshotError};

use crate::AskError;
use crate::parts::Parts;
use crate::question::{
    Answer, Cancel, Domain, Domains, Dump, DumpFormat, Forget, Inlinks, Job, Ledger, Outlinks, Page,
    Quarantine, Question, Record, Top,
};

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
