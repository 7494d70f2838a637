//! Requests, reports and cancels loads.

use weave::Snapshot;

use crate::parts::Parts;
use crate::question::{Body, JobBody, JobsBody, LinkScope, LoadRequest, StagesBody};
use crate::{AskError, jobs::Job};

/// Checks a load and queues it.
pub(super) fn load(parts: &Parts, request: &LoadRequest) -> Result<Body, AskError> {
    parts.writable()?;
    if request.inputs.is_empty() {
        return Err(AskError::bad_request("no inputs to load"));
    }
    if let Some(links) = request.links {
        check_links(parts, links)?;
    }
    if let Some(rate) = request.rate_pages_per_s
        && !(rate.is_finite() && rate > 0.0)
    {
        return Err(AskError::bad_request(format!(
            "a rate of {rate} pages per second"
        )));
    }
    Ok(Body::Job(parts.jobs.submit(request.clone())?))
}

/// Refuses another scope of links than the archive was created with, because it could not tell which links
/// are missing.
fn check_links(parts: &Parts, links: LinkScope) -> Result<(), AskError> {
    if links == parts.settings.links {
        return Ok(());
    }
    Err(AskError::bad_request(format!(
        "this archive was created with --links {}, which stays; another scope needs another archive",
        parts.settings.links
    )))
}

pub(super) fn jobs(parts: &Parts, snapshot: &Snapshot) -> Result<Body, AskError> {
    let ledger = snapshot.ledger()?;
    let rows: Vec<JobBody> = parts.jobs.all().iter().map(|job| job.body(&ledger)).collect();
    Ok(Body::Jobs(JobsBody { rows }))
}

pub(super) fn job(parts: &Parts, snapshot: &Snapshot, id: u64) -> Result<Body, AskError> {
    body(&*parts.jobs.get(id)?, snapshot)
}

pub(super) fn cancel(parts: &Parts, snapshot: &Snapshot, id: u64) -> Result<Body, AskError> {
    body(&*parts.jobs.cancel(id)?, snapshot)
}

fn body(job: &Job, snapshot: &Snapshot) -> Result<Body, AskError> {
    Ok(Body::Job(job.body(&snapshot.ledger()?)))
}

/// Stages of the load that is running or ran last.
pub(super) fn stages(parts: &Parts) -> Body {
    Body::Stages(StagesBody {
        stages: parts.jobs.current().map(|job| job.stages()).unwrap_or_default(),
    })
}
