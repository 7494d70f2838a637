//! Answers questions in the owner's process, each from one snapshot.
//!
//! Invariants:
//! - everything in an answer belongs to the epoch it names (a search names the epoch that it
//!   covers);
//! - lists continue by key, never by count: a cursor names the last row returned.

mod attachments;
mod authorize;
mod basis;
mod calendar;
mod capture_at;
mod cdx;
mod cdx_walk;
mod check;
mod collections;
mod concordance;
mod content_near;
mod cursor;
mod diff;
mod domain;
mod domains;
mod events;
mod forget;
mod fuzzy;
mod graph;
mod history;
mod images;
mod jobs;
mod key;
mod ledger;
mod limit;
mod link_counts;
mod links;
mod listed_pages;
mod originals;
mod page;
mod page_text;
mod page_version;
mod post;
mod rebuild;
mod record;
mod referred;
mod report;
mod rights;
mod search;
mod served;
mod sight;
mod status;
mod suggest;
mod takedown;
mod thumbnail;
mod time;
mod trends;
mod visible_snapshot;
mod window;

use std::io::Write;
use std::sync::Arc;

use ::access::Groups;
use index::{DumpError, Snapshot, SnapshotError};

use self::authorize::authorize;
pub(crate) use self::authorize::refusal_text;
use self::basis::Basis;
pub(crate) use self::served::answer_from_tables;
use crate::AskError;
use crate::open_archive::OpenArchive;
use crate::question::{Answer, Body, Dump, DumpRequest, Question, questions};

/// Answers a question.
pub(crate) fn answer(
    open: &OpenArchive,
    question: &Question,
    groups: Option<&Groups>,
) -> Result<Answer, AskError> {
    let filter = open.access_filters.of(groups)?;
    authorize(question, &filter, groups)?;
    let purged = match question {
        Question::Purge(_) => Some(takedown::purge_now(open)?),
        _ => None,
    };
    // If a load ended after the snapshot was taken, the answer would say that it is done although
    // the ledger does not show that yet, so the question is answered again. Each load begins and
    // ends once, so this loop ends.
    loop {
        let phases = open.jobs.phases();
        let basis = Basis::new(open, Arc::clone(&filter), purged.clone());
        let epoch = basis.snapshot.epoch().0;
        let body = open
            .kept_answers
            .get_or_make(filter.id(), epoch, question, || answer_at_once(&basis, question))?;
        let about_jobs = matches!(
            question,
            Question::Jobs(_) | Question::Job(_) | Question::Cancel(_)
        );
        if !about_jobs || open.jobs.phases() == phases {
            return Ok(Answer { epoch, body });
        }
    }
}

/// Defines [`answer_at_once`] from the table of questions, which names the function for each.
macro_rules! dispatch {
    ($(
        $(#[$doc:meta])*
        $kind:ident($answer:ty) { $($variant:ident($question:ty) => $module:ident::$function:ident),+ $(,)? }
    )*) => {
        fn answer_at_once(basis: &Basis<'_>, question: &Question) -> Result<Body, AskError> {
            Ok(match question {
                $($(Question::$variant(question) => Body::$kind($module::$function(basis, question)?),)+)*
            })
        }
    };
}

questions!(dispatch);

/// Writes rows of a view, or details (which are always tab-separated).
pub(crate) fn dump(snapshot: &Snapshot, request: &DumpRequest, out: &mut dyn Write) -> Result<u64, AskError> {
    let dumped = match request.view {
        Dump::View(view) => snapshot.dump_range(view, &request.range, request.format, out),
        Dump::Details(details) => snapshot.dump_details(details, out),
        Dump::Serving(rows) => snapshot.dump_serving(rows, out),
    };
    dumped.map_err(|error| match error {
        DumpError::Output(error) => AskError::unavailable(format!("write the dump: {error}")),
        other => AskError::internal(other),
    })
}

impl From<SnapshotError> for AskError {
    fn from(error: SnapshotError) -> AskError {
        match error {
            SnapshotError::NotServed(_) => AskError::unavailable(error),
            error => AskError::internal(error),
        }
    }
}
