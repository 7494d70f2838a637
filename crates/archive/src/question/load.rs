//! Loads: asking for one, watching it, cancelling it.

use serde::{Deserialize, Serialize};

use super::{LedgerRow, LinkScope, QuarantineRow, StageRow};

/// Asks for inputs to be loaded; the answer is the job as it was queued.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadRequest {
    /// Absolute paths and addresses, folders, globs, path lists; the name as given stands beside it.
    pub inputs: Vec<LoadInput>,
    /// A label for these inputs.
    pub collection: Option<String>,
    /// The links that the archive keeps; refused if it was created with others.
    pub links: Option<LinkScope>,
    /// Load no faster than this.
    pub rate_pages_per_s: Option<f64>,
    /// Inputs and records worked on at once; the number of cores if not given.
    pub threads: Option<usize>,
    /// Check declared digests; what does not agree is in [`JobBody::defects`].
    pub verify: bool,
    /// Close epochs with this many bytes of captures instead of 64 MiB: smaller ones are seen sooner and cost more.
    pub epoch_bytes: Option<u64>,
    /// Stages replaced by nothing, to find the slowest one.
    pub stages_off: Vec<OptionalStage>,
}

/// One argument of a load. Paths are bytes, so both texts are those of [`crate::path_text`]: a byte that is not part of
/// UTF-8 stands as `\xNN`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LoadInput {
    /// As the user wrote it: the ledger's name for a file.
    pub name: String,
    /// Absolute, or an address (`scheme://...`); a path list that the user marked with `@` may have the mark here too.
    pub path: String,
}

/// A stage that a load can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionalStage {
    /// Records are read and not understood.
    Extract,
    /// Captures are made and not kept.
    Weave,
    /// Pages are kept and cannot be searched yet.
    Search,
}

impl OptionalStage {
    /// All of them.
    pub const ALL: [OptionalStage; 3] = [
        OptionalStage::Extract,
        OptionalStage::Weave,
        OptionalStage::Search,
    ];

    /// The stage's name.
    pub fn name(self) -> &'static str {
        match self {
            OptionalStage::Extract => "extract",
            OptionalStage::Weave => "weave",
            OptionalStage::Search => "search",
        }
    }
}

/// Asks for all loads since the archive was opened.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Jobs {}

/// Asks how far a load is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Job {
    /// The job's number.
    pub id: u64,
}

/// Stops a load: at its next epoch if it runs, at once if it waits.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cancel {
    /// The job's number.
    pub id: u64,
}

/// Loads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobsBody {
    /// Newest first; of those that have ended, the last 100.
    pub rows: Vec<JobBody>,
}

/// Whether a load waits, runs, or how it ended. One load runs at a time, in the order of asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for the load before it.
    #[default]
    Queued,
    /// It is the one that runs.
    Running,
    /// It came to its end; inputs may have failed.
    Done,
    /// Somebody stopped it.
    Cancelled,
    /// Its owner ended; the next one continues it when asked again.
    Interrupted,
    /// It could not go on.
    Failed,
}

impl JobState {
    /// Its word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            JobState::Queued => "queued",
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Cancelled => "cancelled",
            JobState::Interrupted => "interrupted",
            JobState::Failed => "failed",
        }
    }

    /// Whether it is over.
    pub fn has_ended(self) -> bool {
        !matches!(self, JobState::Queued | JobState::Running)
    }
}

/// What a load is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStage {
    /// It waits for the load before it.
    #[default]
    Queued,
    /// Folders, patterns and lists are expanded.
    Finding,
    /// Inputs are read for their digests, and none is being loaded yet.
    Digesting,
    /// Records are read and woven (the next inputs are digested meanwhile).
    Loading,
    /// Everything is woven; search follows.
    Finishing,
    /// It is over.
    Ended,
}

/// A file that a load passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// The text of its name (see [`LoadInput`]).
    pub name: String,
    /// What it is instead of an archive.
    pub why: String,
}

/// A running or finished load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobBody {
    /// Its number, from 1 since the archive was opened.
    pub id: u64,
    /// Whether it waits, runs, or how it ended.
    pub state: JobState,
    /// What it is doing now.
    pub stage: JobStage,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// Time since it began, until its end, in milliseconds.
    pub elapsed_ms: u64,
    /// Inputs found.
    pub inputs: u64,
    /// Inputs read to their end.
    pub inputs_done: u64,
    /// Inputs that were loaded before.
    pub inputs_known: u64,
    /// Inputs given up.
    pub inputs_failed: u64,
    /// Of those done, the ones that end in the middle of a record.
    pub inputs_cut: u64,
    /// Left `loading`: still being written, or the load was cancelled.
    pub inputs_loading: u64,
    /// Names of inputs that are cut and were changed a moment ago: whether they grow is seen in a few seconds.
    pub waiting_for: Vec<String>,
    /// Files in folders that are no archives: neither named nor beginning like one.
    pub files_skipped: u64,
    /// The first 1,000 of them.
    pub skipped: Vec<SkippedFile>,
    /// Bytes of all inputs found.
    pub bytes: u64,
    /// Bytes read for digests: the first of two passes over an input.
    pub bytes_digested: u64,
    /// Bytes woven, or known already.
    pub bytes_done: u64,
    /// Records read.
    pub records: u64,
    /// Captures that the archive did not hold before.
    pub captures: u64,
    /// Captures that it held already.
    pub captures_known: u64,
    /// Pages read.
    pub pages: u64,
    /// Links of those pages.
    pub links: u64,
    /// Records and spans that could not be used.
    pub quarantined: u64,
    /// Epochs that the load has added.
    pub epochs: u64,
    /// Ledger rows of this load's inputs that have something to report.
    pub problems: Vec<LedgerRow>,
    /// Records that were used although something is wrong with them.
    pub defects_total: u64,
    /// The first 1,000 of them.
    pub defects: Vec<QuarantineRow>,
    /// Its stages, in the order that records pass them.
    pub stages: Vec<StageRow>,
}
