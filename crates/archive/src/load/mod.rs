//! Loading: inputs pass through the pipeline into the index and the search index.
//!
//! ```text
//! found ─> digest ─> register ─> read ─> extract ─> weave ─> search
//!          ordered   one         N       ordered    one      one
//! ```
//!
//! A file that cannot be a copy of another input is digested by `read` (`digesting_input`). Stage
//! `digest` looks only at its beginning.
//!
//! Invariants:
//! - the captures of an input reach `weave` in file order, so a ledger position is a contiguous
//!   prefix;
//! - if a load is stopped, killed or fails, each input is left at such a position and the next load
//!   continues there;
//! - memory is bounded: queues and epochs by bytes ([`Memory`](crate::memory::Memory)), a reader by
//!   one chunk.

mod chunk;
mod context;
mod counting_input;
mod digest;
mod digesting_input;
mod earlier_inputs;
mod error;
mod extraction;
mod growth;
mod indexing;
mod rate;
mod read;
mod readmit;
mod record_pool;
mod register;
mod replaced;
mod saved_digest;
mod stalled;
mod take_back;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use inputs::{DiscoveredInput, Discovery, DiscoveryWarning, RequiredPackage, SpoolRoom};
use pipeline::{Batch, Feeder, Flow, FlowError, Out, Pipeline, StageSettings};

use self::chunk::{Chunk, DigestedInput, IndexedEpoch, QueuedInput, RegisteredInput};
pub(crate) use self::chunk::{ExtractedChunk, capture_bytes};
use self::context::Context;
use self::earlier_inputs::EarlierInputs;
pub(crate) use self::error::LoadError;
use self::rate::Rate;
use self::record_pool::RecordPool;
pub(crate) use self::take_back::{forget_inputs, take_down_captures};
use crate::jobs::Job;
use crate::open_archive::OpenArchive;
use crate::question::OptionalStage;

/// An epoch closes at this age, so that new captures become visible soon.
pub(crate) const EPOCH_AGE: Duration = Duration::from_secs(2);

/// Bytes of an input to digest before it is read, at least. It covers small inputs completely, and
/// is cheap for large ones.
const DIGEST_FIRST_BYTES: u64 = 1 << 20;

/// The same for a load with small epochs. Fewer bytes would hardly distinguish inputs.
const DIGEST_FIRST_BYTES_MIN: u64 = 1 << 10;

/// Limit of inputs read at once. Each has an open file and a buffer.
const READERS_MAX: usize = 16;

/// Runs one load until it ends or the job is stopped.
pub(crate) fn run(open: &Arc<OpenArchive>, job: &Arc<Job>) -> Result<(), LoadError> {
    job.watch_search(Arc::clone(&open.search_progress));
    // After an error, such as a full disk, the index refuses writes until it is opened again.
    open.index.recover()?;
    open.catch_up_search()?;
    // Without new captures no epoch is committed, but the caller still expects the facts to be
    // published.
    if let Some(facts) = &open.facts {
        facts.publish_noted(&open.index)?;
    }
    let mut discovery = inputs::discover(&job.request.inputs, &job.request.allow_elsewhere, &open.sources);
    job.add_absent(&take_absent(open, &mut discovery));
    job.skip(&discovery.skipped);
    job.warn(&discovery.warnings);
    job.warn(&missing_packages(open, &discovery.required, &discovery.found));
    job.counters.inputs.add(discovery.found.len() as u64);
    job.counters
        .bytes
        .add(discovery.found.iter().map(|found| found.size).sum());
    replaced::note_lost_members(open, job, &discovery.found)?;
    let context = Arc::new(context(open, job, &discovery.found));
    let (feeder, pipeline) = assemble(&context, discovery.found.len())?;
    job.watch(pipeline.monitor());
    let check = || open.feed_stalled();
    let outcome = stalled::checked(stalled::CHECK_INTERVAL, check, || {
        feed(&context, feeder, discovery.found);
        pipeline.join()
    });
    if let Some(reader) = &open.document_reader {
        reader.rest();
    }
    // Even after a failure, everything that was indexed must become searchable. The first error is
    // the one to report.
    let flushed = if job.is_off(OptionalStage::Search) {
        Ok(())
    } else {
        open.flush_search(job.is_stopped())
    };
    outcome?;
    Ok(flushed?)
}

/// Takes out the arguments that name nothing now and nothing in the ledger. They are misspelt, so
/// they get no row there.
fn take_absent(open: &OpenArchive, discovery: &mut Discovery<'_>) -> Vec<DiscoveredInput> {
    let (absent, found) = std::mem::take(&mut discovery.found)
        .into_iter()
        .partition(|input| {
            let location = input.place.location();
            discovery.absent.contains(&location) && open.index.input_at(&location).is_none()
        });
    discovery.found = found;
    absent
}

/// Returns a warning for each package that a package of this load needs and that neither the load nor
/// the archive has.
fn missing_packages(
    open: &OpenArchive,
    required: &[RequiredPackage],
    found: &[DiscoveredInput],
) -> Vec<DiscoveryWarning> {
    let is_missing = |package: &&RequiredPackage| {
        let is_found = found.iter().any(|input| package.has_input(&input.name));
        !is_found
            && open
                .index
                .inputs(|entry| package.has_input(&entry.input))
                .is_empty()
    };
    required
        .iter()
        .filter(is_missing)
        .map(RequiredPackage::missing)
        .collect()
}

fn feed(context: &Context, feeder: Feeder<QueuedInput>, found: Vec<DiscoveredInput>) {
    for found in found {
        if context.job.is_stopped() || feeder.send(QueuedInput(found)).is_err() {
            return;
        }
    }
}

fn context(open: &Arc<OpenArchive>, job: &Arc<Job>, found: &[DiscoveredInput]) -> Context {
    let request = &job.request;
    let epoch_bytes_max = open.memory.epoch_bytes();
    let epoch_bytes = request
        .epoch_bytes
        .unwrap_or(epoch_bytes_max)
        .clamp(1, epoch_bytes_max);
    Context {
        open: open.clone(),
        job: job.clone(),
        collection: request.collection.clone().unwrap_or_default(),
        verify: request.verify,
        extract: open.extract_settings(),
        rate: request.rate_pages_per_s.map(Rate::new),
        chunk_entries_max: read::chunk_entries_max(request.rate_pages_per_s),
        epoch_bytes,
        earlier: EarlierInputs::of(&open.index, found),
        digest_first_bytes: epoch_bytes.clamp(DIGEST_FIRST_BYTES_MIN, DIGEST_FIRST_BYTES),
        // With small epochs, each epoch records a digest up to its own end only, even for an input
        // that is read in one go.
        digests_ahead: epoch_bytes >= DIGEST_FIRST_BYTES,
        spool_room: SpoolRoom::new(open.files.dir()),
        record_pool: RecordPool::default(),
    }
}

fn assemble(context: &Arc<Context>, inputs: usize) -> Result<(Feeder<QueuedInput>, Pipeline), FlowError> {
    let memory = context.open.memory;
    let threads = threads(context.job.request.threads);
    let readers = threads.min(inputs).clamp(1, READERS_MAX);
    let few = |name| StageSettings::new(name).queue(4, u64::MAX);
    let flow = Flow::<QueuedInput, QueuedInput>::new()
        .ordered(
            few("digest").threads(readers),
            with(context, |context| {
                move |QueuedInput(found), out: &mut Out<'_, DigestedInput>| {
                    digest::digest(&context, found, out)
                }
            }),
        )
        .stage(
            few("register"),
            with(context, |context| {
                let mut claimed = HashSet::new();
                move |digested: DigestedInput, out: &mut Out<'_, RegisteredInput>| {
                    register::register(&context, &mut claimed, digested, out)
                }
            }),
        )
        .stage(
            few("read").threads(readers),
            with(context, |context| {
                move |registered: RegisteredInput, out: &mut Out<'_, Chunk>| {
                    read::read(&context, registered, out)
                }
            }),
        )
        .ordered(
            stage(context, OptionalStage::Extract)
                .threads(threads)
                .queue(256, memory.records_bytes()),
            with(context, |context| {
                move |chunk: Chunk, out: &mut Out<'_, ExtractedChunk>| {
                    extraction::extract_chunk(&context, chunk, out)
                }
            }),
        )
        .batched(
            stage(context, OptionalStage::Weave).queue(4096, memory.epoch_bytes()),
            Batch {
                items_max: 4096,
                bytes_max: context.epoch_bytes,
                age_max: EPOCH_AGE,
            },
            with(context, |context| {
                move |extracts: Vec<ExtractedChunk>, out: &mut Out<'_, IndexedEpoch>| {
                    indexing::apply_chunks(&context, extracts, out)
                }
            }),
        )
        .batched(
            stage(context, OptionalStage::Search).queue(4, memory.pages_bytes()),
            Batch {
                // Each epoch is handed over with its pages, one at a time.
                items_max: 1,
                bytes_max: u64::MAX,
                age_max: Duration::ZERO,
            },
            with(context, |context| {
                move |epochs: Vec<IndexedEpoch>, _: &mut Out<'_, ()>| {
                    let epochs = epochs.into_iter().map(|epoch| (epoch.report, epoch.snapshot));
                    let may_wait = context.job.request.rate_pages_per_s.is_none();
                    Ok(context.open.feed_search(may_wait, epochs)?)
                }
            }),
        );
    flow.start()
}

/// Returns the settings of a stage that a load can leave out.
fn stage(context: &Context, stage: OptionalStage) -> StageSettings {
    StageSettings::new(stage.name()).off(context.job.is_off(stage))
}

/// Returns a factory of handlers, one for each thread of a stage, that share the context.
fn with<H>(
    context: &Arc<Context>,
    make: impl Fn(Arc<Context>) -> H + 'static,
) -> impl Fn(usize) -> H + 'static {
    let context = context.clone();
    move |_| make(context.clone())
}

fn threads(asked: Option<usize>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or(cores).clamp(1, 256)
}
