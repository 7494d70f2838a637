//! Queues, reports and cancels loads.

use index::Snapshot;

use super::basis::Basis;
use crate::facts_writer::FactsSettings;
use crate::open_archive::OpenArchive;
use crate::question::{
    Cancel, DocumentScope, Job, JobBody, Jobs, JobsBody, LinkScope, LoadRequest, Stages, StagesBody,
};
use crate::{AskError, jobs};

/// Checks a load and queues it.
pub(super) fn load(basis: &Basis<'_>, request: &LoadRequest) -> Result<JobBody, AskError> {
    let open = basis.open;
    open.writable()?;
    if request.inputs.is_empty() {
        return Err(AskError::bad_request("no inputs to load"));
    }
    if let Some(links) = request.links {
        check_links(open, links)?;
    }
    if let Some(documents) = request.documents {
        check_documents(open, documents)?;
    }
    check_facts(open, request)?;
    if let Some(rate) = request.rate_pages_per_s
        && !(rate.is_finite() && rate > 0.0)
    {
        return Err(AskError::bad_request(format!(
            "the rate must be a positive number, got {rate}"
        )));
    }
    open.jobs.submit(request.clone())
}

/// Refuses a scope of links other than the archive was created with, because the archive could not
/// tell which links are missing.
fn check_links(open: &OpenArchive, links: LinkScope) -> Result<(), AskError> {
    if links == open.settings.links {
        return Ok(());
    }
    Err(AskError::bad_request(format!(
        "this archive was created with --links {}, which cannot change; another scope needs another archive",
        open.settings.links
    )))
}

/// Refuses a scope of documents other than the archive was created with, because either the earlier
/// or the later documents would be missing.
fn check_documents(open: &OpenArchive, documents: DocumentScope) -> Result<(), AskError> {
    if documents == open.settings.documents {
        return Ok(());
    }
    Err(AskError::bad_request(format!(
        "this archive was created with --documents {}, which cannot change; --documents {documents} needs another \
         archive",
        open.settings.documents
    )))
}

/// Refuses a setting for facts other than the archive was created with, because the earlier
/// captures would be missing.
fn check_facts(open: &OpenArchive, request: &LoadRequest) -> Result<(), AskError> {
    let settings = open.settings.facts.as_ref();
    let kept = FactsSettings::choice(settings);
    if let Some(wanted) = request.facts.as_ref().filter(|wanted| **wanted != kept) {
        return Err(AskError::bad_request(format!(
            "this archive was created with --facts {}, which cannot change; --facts {} needs another archive",
            String::from(kept),
            String::from(wanted.clone())
        )));
    }
    if request.facts_text && !settings.is_some_and(|settings| settings.texts) {
        Err(AskError::bad_request(
            "this archive was created without texts in its facts, which cannot change; --facts-text needs another \
             archive",
        ))
    } else {
        Ok(())
    }
}

pub(super) fn jobs(basis: &Basis<'_>, _: &Jobs) -> Result<JobsBody, AskError> {
    let ledger = basis.snapshot.ledger()?;
    let rows: Vec<JobBody> = basis
        .open
        .jobs
        .all()
        .iter()
        .map(|job| job.body(&ledger))
        .collect();
    Ok(JobsBody { rows })
}

pub(super) fn job(basis: &Basis<'_>, question: &Job) -> Result<JobBody, AskError> {
    body(&*basis.open.jobs.get(question.id)?, &basis.snapshot)
}

pub(super) fn cancel(basis: &Basis<'_>, question: &Cancel) -> Result<JobBody, AskError> {
    body(&*basis.open.jobs.cancel(question.id)?, &basis.snapshot)
}

fn body(job: &jobs::Job, snapshot: &Snapshot) -> Result<JobBody, AskError> {
    Ok(job.body(&snapshot.ledger()?))
}

/// Returns the stages of the current or the last load.
pub(super) fn stages(basis: &Basis<'_>, _: &Stages) -> Result<StagesBody, AskError> {
    let current = basis.open.jobs.current();
    Ok(StagesBody {
        stages: current.map(|job| job.stages()).unwrap_or_default(),
    })
}
