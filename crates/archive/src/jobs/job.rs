//! One load: its request, its progress and its end.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use index::{InputId, InputState};
use inputs::DiscoveryWarning;
use parking_lot::{Condvar, Mutex};
use pipeline::Monitor;

use super::pace::{Pace, Sample};
use super::problems::{Problems, keeps_label};
use crate::feed::SearchProgress;
use crate::load::LoadError;
use crate::question::{
    JobBody, JobStage, JobState, LedgerRow, LoadRequest, OptionalStage, QuarantineRow, SkippedFile, StageRow,
    UnreadRow,
};

/// Limit of defects listed. All are counted.
const DEFECTS_MAX: usize = 1000;

/// Limit of skipped files listed. All are counted.
const SKIPPED_MAX: usize = 1000;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counters of a running load. [`JobBody`] describes them under the same names.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) inputs: Counter,
    pub(crate) inputs_done: Counter,
    pub(crate) inputs_known: Counter,
    pub(crate) inputs_failed: Counter,
    pub(crate) inputs_cut: Counter,
    files_skipped: Counter,
    pub(crate) bytes: Counter,
    pub(crate) bytes_digested: Counter,
    pub(crate) bytes_read: Counter,
    pub(crate) bytes_done: Counter,
    pub(crate) records: Counter,
    pub(crate) captures: Counter,
    pub(crate) captures_known: Counter,
    pub(crate) index_lines: Counter,
    pub(crate) attachments: Counter,
    pub(crate) captures_taken_down: Counter,
    pub(crate) pages: Counter,
    pub(crate) links: Counter,
    pub(crate) documents: Counter,
    pub(crate) quarantined: Counter,
    pub(crate) epochs: Counter,
    defects: Counter,
}

/// One load.
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) request: LoadRequest,
    pub(crate) counters: Counters,
    stopped: AtomicBool,
    /// Whether the load was stopped because the owner ends, not because it was cancelled.
    interrupted: AtomicBool,
    state: Mutex<State>,
    /// Woken when the job has ended.
    ended: Condvar,
    /// Inputs of this load, with the offset up to which each is indexed.
    touched: Mutex<HashMap<InputId, u64>>,
    /// Listed defects, each with its input, if that has a row in the ledger.
    defects: Mutex<Vec<(Option<InputId>, QuarantineRow)>>,
    /// Number of documents without text, by reason.
    documents_unread: Mutex<BTreeMap<&'static str, u64>>,
    skipped: Mutex<Vec<SkippedFile>>,
    /// Arguments that name nothing, as rows that are not in the ledger.
    absent: Mutex<Vec<LedgerRow>>,
    /// Names of inputs that the load waits for, to see whether they grow.
    waiting_for: Mutex<Vec<String>>,
    /// Progress of the search index.
    search: OnceLock<Arc<SearchProgress>>,
    pace: Mutex<Pace>,
}

#[derive(Default)]
struct State {
    phase: JobState,
    begun: Option<Instant>,
    elapsed: Duration,
    error: Option<String>,
    monitor: Option<Monitor>,
    /// Last report of the stages, kept after they have ended.
    stages: Vec<StageRow>,
}

impl Job {
    pub(super) fn new(id: u64, request: LoadRequest) -> Job {
        Job {
            id,
            request,
            counters: Counters::default(),
            stopped: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            state: Mutex::default(),
            ended: Condvar::new(),
            touched: Mutex::default(),
            defects: Mutex::default(),
            documents_unread: Mutex::default(),
            skipped: Mutex::default(),
            absent: Mutex::default(),
            waiting_for: Mutex::default(),
            search: OnceLock::new(),
            pace: Mutex::default(),
        }
    }

    pub(super) fn begin(&self) {
        let mut state = self.state.lock();
        state.phase = JobState::Running;
        state.begun = Some(system::now());
    }

    pub(super) fn end(&self, outcome: Result<(), LoadError>) {
        let mut state = self.state.lock();
        state.elapsed = state.begun.map(system::since).unwrap_or_default();
        state.stages = state
            .monitor
            .take()
            .map(|monitor| monitor.stages())
            .unwrap_or_default();
        state.phase = match &outcome {
            Err(_) => JobState::Failed,
            Ok(()) if self.interrupted.load(Relaxed) => JobState::Interrupted,
            Ok(()) if self.is_stopped() => JobState::Cancelled,
            Ok(()) => JobState::Done,
        };
        state.error = outcome.err().map(|error| error.to_string());
        self.ended.notify_all();
    }

    /// Waits until the job has ended, at most `time_max`.
    pub(crate) fn wait_for_end(&self, time_max: Duration) {
        let mut state = self.state.lock();
        self.ended
            .wait_while_for(&mut state, |state| !state.phase.has_ended(), time_max);
    }

    /// Stops reading. Records already read are still indexed.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Stops because the owner ends. A client that waits for this load requests it from the next
    /// owner.
    pub(super) fn interrupt(&self) {
        // A load that was already cancelled stays cancelled: it must not be continued.
        if !self.stopped.swap(true, Relaxed) {
            self.interrupted.store(true, Relaxed);
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.state.lock().phase != JobState::Queued
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().phase.has_ended()
    }

    /// Returns whether the request leaves out this stage.
    pub(crate) fn is_off(&self, stage: OptionalStage) -> bool {
        self.request.stages_off.contains(&stage)
    }

    pub(crate) fn watch(&self, monitor: Monitor) {
        self.state.lock().monitor = Some(monitor);
    }

    /// Sets where to read the progress of the search index.
    pub(crate) fn watch_search(&self, progress: Arc<SearchProgress>) {
        // A load belongs to one archive, so this is set only once.
        let _ = self.search.set(progress);
    }

    /// Returns the number of pages that the search index has to catch up on, and how many are done.
    fn search_pages(&self) -> (u64, u64) {
        self.search.get().map_or((0, 0), |progress| progress.at())
    }

    /// Notes that an input belongs to this load and is indexed up to `bytes_done`.
    pub(crate) fn touch(&self, input: InputId, bytes_done: u64) {
        self.touched.lock().entry(input).or_insert(bytes_done);
    }

    /// Notes that an input is now indexed up to `bytes_done`.
    pub(crate) fn reach(&self, input: InputId, bytes_done: u64) {
        let mut touched = self.touched.lock();
        let before = touched.entry(input).or_insert(0);
        self.counters.bytes_done.add(bytes_done.saturating_sub(*before));
        *before = bytes_done.max(*before);
    }

    /// Notes the files that the load does not read.
    pub(crate) fn skip(&self, skipped: &[inputs::SkippedFile]) {
        self.counters.files_skipped.add(skipped.len() as u64);
        let named = skipped.iter().take(SKIPPED_MAX).map(|skipped| SkippedFile {
            name: skipped.name.clone(),
            why: skipped.why.to_owned(),
        });
        *self.skipped.lock() = named.collect();
    }

    /// Notes the arguments that name nothing.
    pub(crate) fn add_absent(&self, absent: &[inputs::DiscoveredInput]) {
        self.counters.inputs.add(absent.len() as u64);
        self.counters.inputs_failed.add(absent.len() as u64);
        let label = self.request.collection.as_deref().unwrap_or_default();
        let rows = absent.iter().map(|input| LedgerRow {
            state: InputState::Failed {
                reason: input.problem.clone().unwrap_or_default(),
            },
            ..LedgerRow::pending(&input.name, &input.place.location(), "", 0, label)
        });
        *self.absent.lock() = rows.collect();
    }

    pub(crate) fn add_defect(&self, input: InputId, offset: u64, defect: &warc::Defect) {
        self.counters.defects.add(1);
        let mut defects = self.defects.lock();
        if defects.len() < DEFECTS_MAX {
            let row = QuarantineRow {
                input: String::new(),
                offset,
                reason: defect.reason.to_owned(),
                detail: defect.detail.clone(),
            };
            defects.push((Some(input), row));
        }
    }

    /// Notes wrong digests declared in packages and lists, and wrong signatures.
    pub(crate) fn warn(&self, warnings: &[DiscoveryWarning]) {
        self.counters.defects.add(warnings.len() as u64);
        let mut defects = self.defects.lock();
        let room = DEFECTS_MAX.saturating_sub(defects.len());
        defects.extend(warnings.iter().take(room).map(|warning| {
            let row = QuarantineRow {
                input: warning.name.clone(),
                offset: 0,
                reason: warning.reason.to_owned(),
                detail: warning.detail.clone(),
            };
            (None, row)
        }));
    }

    /// Notes why a document has no text.
    pub(crate) fn add_unread(&self, input: InputId, offset: u64, defect: &warc::Defect) {
        *self.documents_unread.lock().entry(defect.reason).or_default() += 1;
        self.add_defect(input, offset, defect);
    }

    /// Lists `input` as waited for while `wait` runs.
    pub(crate) fn while_waiting_for<T>(&self, input: &str, wait: impl FnOnce() -> T) -> T {
        self.waiting_for.lock().push(input.to_owned());
        let outcome = wait();
        let mut waiting_for = self.waiting_for.lock();
        if let Some(place) = waiting_for.iter().position(|waiting| waiting == input) {
            waiting_for.remove(place);
        }
        outcome
    }

    pub(crate) fn stages(&self) -> Vec<StageRow> {
        let state = self.state.lock();
        match &state.monitor {
            Some(monitor) => monitor.stages(),
            None => state.stages.clone(),
        }
    }

    /// Returns the progress of the load, with the ledger's rows for its inputs.
    pub(crate) fn body(&self, ledger: &[(InputId, LedgerRow)]) -> JobBody {
        let inputs: Vec<&(InputId, LedgerRow)> = {
            let touched = self.touched.lock();
            ledger.iter().filter(|(id, _)| touched.contains_key(id)).collect()
        };
        // Before `state` is locked, because `stages` locks it too.
        let stages = self.stages();
        let state = self.state.lock();
        let running = state.begun.map(system::since).unwrap_or_default();
        let elapsed = if state.phase == JobState::Running {
            running
        } else {
            state.elapsed
        };
        let c = &self.counters;
        let (search_pages, search_pages_done) = self.search_pages();
        let stage = stage(&state, &stages, search_pages > 0);
        // Bytes are indexed a little after they are read, and known inputs are not read.
        let bytes_read = c.bytes_read.get().max(c.bytes_done.get()).min(c.bytes.get());
        let elapsed_ms = elapsed.as_millis() as u64;
        let (done, whole) = match stage {
            JobStage::Digesting => (c.bytes_digested.get(), c.bytes.get()),
            JobStage::Finishing => (search_pages_done, search_pages),
            _ => (bytes_read, c.bytes.get()),
        };
        let rates = {
            let mut pace = self.pace.lock();
            let pages = c.pages.get();
            pace.note(
                stage,
                Sample {
                    elapsed_ms,
                    done,
                    whole,
                    pages,
                },
            );
            pace.rates()
        };
        let label = self.request.collection.as_deref().unwrap_or_default();
        let problems = Problems::of(&inputs, &self.absent.lock(), label);
        let moves_bytes = matches!(stage, JobStage::Digesting | JobStage::Loading);
        let is_running = state.phase == JobState::Running;
        JobBody {
            id: self.id,
            state: state.phase,
            stage,
            error: state.error.clone(),
            elapsed_ms,
            left_ms: rates.left_ms.filter(|_| is_running),
            bytes_per_s: if is_running && moves_bytes {
                rates.done_per_s as u64
            } else {
                0
            },
            pages_per_s: if is_running { rates.pages_per_s } else { 0.0 },
            inputs: c.inputs.get(),
            inputs_done: c.inputs_done.get(),
            inputs_known: c.inputs_known.get(),
            inputs_taken_down: inputs
                .iter()
                .filter(|(_, entry)| entry.state == InputState::TakenDown)
                .count() as u64,
            collection: label.to_owned(),
            inputs_of_other_collection: inputs
                .iter()
                .filter(|(_, entry)| keeps_label(entry, label))
                .count() as u64,
            inputs_failed: c.inputs_failed.get(),
            inputs_cut: c.inputs_cut.get(),
            inputs_loading: inputs.iter().filter(|(_, entry)| is_unfinished(entry)).count() as u64,
            waiting_for: self.waiting_for.lock().clone(),
            files_skipped: c.files_skipped.get(),
            skipped: self.skipped.lock().clone(),
            bytes: c.bytes.get(),
            bytes_digested: c.bytes_digested.get(),
            bytes_read,
            bytes_done: c.bytes_done.get(),
            search_pages,
            search_pages_done,
            records: c.records.get(),
            captures: c.captures.get(),
            captures_known: c.captures_known.get(),
            index_lines: c.index_lines.get(),
            attachments: c.attachments.get(),
            captures_taken_down: c.captures_taken_down.get(),
            pages: c.pages.get(),
            links: c.links.get(),
            documents: c.documents.get(),
            documents_unread: self.unread(),
            quarantined: c.quarantined.get(),
            epochs: c.epochs.get(),
            inputs_with_losses: problems.inputs_with_losses,
            failed_packages: problems.failed_packages,
            problems: problems.rows,
            defects_total: c.defects.get(),
            defects: self.named_defects(&inputs),
            stages,
        }
    }

    fn unread(&self) -> Vec<UnreadRow> {
        let unread = self.documents_unread.lock();
        let rows = unread.iter().map(|(reason, documents)| UnreadRow {
            reason: (*reason).to_owned(),
            documents: *documents,
        });
        rows.collect()
    }

    fn named_defects(&self, inputs: &[&(InputId, LedgerRow)]) -> Vec<QuarantineRow> {
        let names: HashMap<InputId, &str> = inputs
            .iter()
            .map(|(id, entry)| (*id, entry.input.as_str()))
            .collect();
        let defects = self.defects.lock();
        let named = defects.iter().map(|(id, row)| QuarantineRow {
            input: match id {
                Some(id) => names.get(id).copied().unwrap_or_default().to_owned(),
                None => row.input.clone(),
            },
            ..row.clone()
        });
        named.collect()
    }
}

/// Returns the current activity of a load, judging by the stages that have items.
fn stage(state: &State, stages: &[StageRow], search_catches_up: bool) -> JobStage {
    let in_hand = |names: &[&str]| {
        let named = stages.iter().filter(|row| names.contains(&&*row.stage));
        named.map(|row| row.waiting + row.running).sum::<u64>() > 0
    };
    match state.phase {
        JobState::Queued => JobStage::Queued,
        // Search may have been behind before the load.
        JobState::Running if state.monitor.is_none() && search_catches_up => JobStage::Finishing,
        JobState::Running if state.monitor.is_none() => JobStage::Finding,
        JobState::Running if in_hand(&["read", "extract", "weave"]) => JobStage::Loading,
        JobState::Running if in_hand(&["digest", "register"]) => JobStage::Digesting,
        JobState::Running => JobStage::Finishing,
        _ => JobStage::Ended,
    }
}

/// Returns whether an input can still be continued. A missing input cannot, nor one whose file was
/// replaced.
fn is_unfinished(entry: &LedgerRow) -> bool {
    matches!(entry.state, InputState::Pending | InputState::Loading) && entry.missing.is_empty()
}
