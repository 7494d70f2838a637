//! Loads: requesting, watching and cancelling them.

use inputs::LoadInput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DocumentScope, InputState, LedgerRow, LinkScope, QuarantineRow, StageRow};

/// Asks to load inputs. The answer is the job in the queue, not its result.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadRequest {
    /// Files, folders, globs, path lists and addresses to load.
    pub inputs: Vec<LoadInput>,
    /// Where lists of packages may lead besides their own origin: `HOST`, `HOST:PORT`,
    /// `s3://BUCKET`, or the absolute path of a folder. Not available over HTTP.
    #[schemars(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_elsewhere: Vec<String>,
    /// Label to give to these inputs.
    #[schemars(example = &"news")]
    pub collection: Option<String>,
    /// Which links the archive keeps. The load is refused if the archive was created with another
    /// value.
    pub links: Option<LinkScope>,
    /// Which captures other than pages are searchable. The load is refused if the archive was
    /// created with another value.
    pub documents: Option<DocumentScope>,
    /// Where the archive keeps its facts. The load is refused if the archive was created with
    /// another value.
    pub facts: Option<FactsPlace>,
    /// Whether the facts include texts. The load is refused if the archive was created without
    /// them.
    pub facts_text: bool,
    /// Load at most this many pages per second.
    pub rate_pages_per_s: Option<f64>,
    /// Number of inputs and of records to process at once; the number of cores if absent.
    pub threads: Option<usize>,
    /// Whether to check declared digests. `defects` of the job lists the records whose digest does
    /// not match.
    pub verify: bool,
    /// Close an epoch after this many bytes of captures. The default, which is also the maximum, is
    /// 3/64 of the memory limit. Smaller epochs become visible sooner and cost more.
    pub epoch_bytes: Option<u64>,
    /// Stages to leave out, to find out which one is slowest.
    pub stages_off: Vec<OptionalStage>,
}

/// Where an archive keeps its facts, every capture and link as a row of open tables: `archive`,
/// `none`, the absolute path of a directory, or the address of a folder in a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String", example = &"archive")]
pub enum FactsPlace {
    /// In the archive's directory.
    #[default]
    Archive,
    /// Facts are not kept.
    None,
    /// In another directory, given by its absolute path in the form of [`crate::path_text`], or in
    /// a store: `s3://bucket/name`, `store://bucket/name`.
    At(String),
}

impl From<String> for FactsPlace {
    fn from(text: String) -> FactsPlace {
        match text.as_str() {
            "archive" | "" => FactsPlace::Archive,
            "none" => FactsPlace::None,
            _ => FactsPlace::At(text),
        }
    }
}

impl From<FactsPlace> for String {
    fn from(place: FactsPlace) -> String {
        match place {
            FactsPlace::Archive => "archive".to_owned(),
            FactsPlace::None => "none".to_owned(),
            FactsPlace::At(path) => path,
        }
    }
}

/// One argument of a load. Paths are bytes, so both strings have the form of [`crate::path_text`]:
/// a byte that is not part of valid UTF-8 is written as `\xNN`.
/// The argument as the user wrote it. The ledger uses it as the name of a file.
/// Absolute path or address (`scheme://...`). A path list that the user marked with `@` may
/// have the mark here too.
/// A stage that a load can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionalStage {
    /// Records are read, but not processed.
    Extract,
    /// Captures are extracted, but not stored.
    Weave,
    /// Pages are stored, but cannot be searched yet.
    Search,
}

impl OptionalStage {
    /// Every optional stage.
    pub const ALL: [OptionalStage; 3] = [
        OptionalStage::Extract,
        OptionalStage::Weave,
        OptionalStage::Search,
    ];

    /// Name of the stage in JSON.
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

/// Asks for the progress of a load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Job {
    /// Number of the job.
    pub id: u64,
}

/// Stops a load: at its next epoch if it is running, immediately if it is still queued.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cancel {
    /// Number of the job.
    pub id: u64,
}

/// The loads since the archive was opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobsBody {
    /// The loads, newest first. Only the last 100 of those that have ended are kept.
    pub rows: Vec<JobBody>,
}

/// Whether a load is queued or running, or how it ended. One load runs at a time, in the order of
/// the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// The load waits for the loads before it.
    #[default]
    Queued,
    /// The load is running.
    Running,
    /// The load has run to its end. Some of its inputs may have failed.
    Done,
    /// A user or a program cancelled the load.
    Cancelled,
    /// The process that owned the archive ended. Requesting the same load again continues it.
    Interrupted,
    /// An error stopped the load.
    Failed,
}

impl JobState {
    /// Returns the name of the state in JSON.
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

    /// Returns whether the load has ended, successfully or not.
    pub fn has_ended(self) -> bool {
        !matches!(self, JobState::Queued | JobState::Running)
    }
}

/// The current activity of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobStage {
    /// The load waits for the loads before it.
    #[default]
    Queued,
    /// The load expands folders, patterns and path lists.
    Finding,
    /// The load reads inputs to compute their digests; none is being loaded yet.
    Digesting,
    /// The load reads records and indexes them. The next inputs are digested at the
    /// same time.
    Loading,
    /// Everything is indexed; the search index follows.
    Finishing,
    /// The load has ended.
    Ended,
}

/// A file in a folder that a load did not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    /// Name of the file as text (see [`LoadInput`](inputs::LoadInput)).
    pub name: String,
    /// Kind of the file, as far as it can be recognised.
    pub why: String,
}

/// Documents whose text could not be read, for one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadRow {
    /// Reason, from the list in docs/search.md.
    #[schemars(example = &"document-unreadable")]
    pub reason: String,
    /// Number of documents.
    pub documents: u64,
}

/// A package of which many members failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedPackage {
    /// Name of the package, as its members have it in the ledger.
    #[schemars(example = &"crawl.wacz")]
    pub package: String,
    /// Number of members that failed.
    pub members_failed: u64,
    /// Why the first of them failed.
    pub reason: String,
}

impl FailedPackage {
    /// Returns whether an input is one of the failed members.
    pub fn has(&self, row: &LedgerRow) -> bool {
        matches!(row.state, InputState::Failed { .. }) && row.package_name() == Some(self.package.as_str())
    }
}

/// A queued, running or finished load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobBody {
    /// Number of the load, counted from 1 since the archive was opened.
    pub id: u64,
    /// Whether the load is queued or running, or how it ended.
    pub state: JobState,
    /// The current activity of the load.
    pub stage: JobStage,
    /// Why the load failed; absent if it did not.
    #[schemars(example = &"no space left on device")]
    pub error: Option<String>,
    /// Milliseconds from the start of the load until its end, or until now.
    pub elapsed_ms: u64,
    /// Estimated time left in this stage at the rate of the last seconds, in milliseconds; absent
    /// if there is no progress or no estimate.
    pub left_ms: Option<u64>,
    /// Bytes digested or read per second, over the last seconds.
    pub bytes_per_s: u64,
    /// Pages read per second, over the last seconds.
    pub pages_per_s: f64,
    /// Number of inputs found.
    pub inputs: u64,
    /// Number of inputs read to their end.
    pub inputs_done: u64,
    /// Number of inputs that the archive had loaded before.
    pub inputs_known: u64,
    /// Number of inputs in `inputs_known` that are taken down as a whole, so that they are not
    /// read.
    pub inputs_taken_down: u64,
    /// Label that this load gives to its inputs; empty if it gives none.
    pub collection: String,
    /// Number of inputs that were loaded before and keep another label.
    pub inputs_of_other_collection: u64,
    /// Number of inputs that failed.
    pub inputs_failed: u64,
    /// Number of inputs in `inputs_done` that end in the middle of a record.
    pub inputs_cut: u64,
    /// Number of inputs left in state `loading`, because they are still being written or the load
    /// was cancelled.
    pub inputs_loading: u64,
    /// Names of inputs that end in the middle of a record and were changed a moment ago. The load
    /// waits some seconds to see whether they grow.
    pub waiting_for: Vec<String>,
    /// Number of files in folders that were not read, because neither their name nor their first
    /// bytes are those of an archive file.
    pub files_skipped: u64,
    /// The first 1,000 of these files.
    pub skipped: Vec<SkippedFile>,
    /// Size of all inputs found, in bytes.
    pub bytes: u64,
    /// Bytes digested so far. Large files are digested while they are read, other inputs before.
    pub bytes_digested: u64,
    /// Bytes of inputs read, including those known before. It advances inside large records too.
    pub bytes_read: u64,
    /// Bytes indexed, including those known before.
    pub bytes_done: u64,
    /// Number of pages that the search index still has to catch up on; 0 if it is up to date.
    pub search_pages: u64,
    /// Number of these pages indexed so far.
    pub search_pages_done: u64,
    /// Number of records read.
    pub records: u64,
    /// Number of captures that the archive did not have before.
    pub captures: u64,
    /// Number of captures that the archive had already.
    pub captures_known: u64,
    /// Number of index lines that the archive did not have before.
    pub index_lines: u64,
    /// Number of attachments of pages that the archive did not have before.
    pub attachments: u64,
    /// Number of captures that takedowns keep out.
    pub captures_taken_down: u64,
    /// Number of pages read.
    pub pages: u64,
    /// Number of links on those pages.
    pub links: u64,
    /// Number of documents read: plain text, feeds, PDF, EPUB and office files.
    pub documents: u64,
    /// Number of documents whose text could not be read, by reason. They are also listed in
    /// `defects`.
    pub documents_unread: Vec<UnreadRow>,
    /// Number of records and byte ranges that are damaged or could not be used.
    pub quarantined: u64,
    /// Number of epochs that the load has added.
    pub epochs: u64,
    /// Number of inputs that failed, are missing, replaced or cut off, or have records in
    /// quarantine.
    pub inputs_with_losses: u64,
    /// Packages with more than three failed members; at most 1,000.
    pub failed_packages: Vec<FailedPackage>,
    /// Ledger rows of inputs that are incomplete, missing or failed, keep another label, or have
    /// records in quarantine; at most 1,000. Those with losses come first, those of failed packages
    /// last.
    pub problems: Vec<LedgerRow>,
    /// Number of defects in records that were used nevertheless.
    pub defects_total: u64,
    /// The first 1,000 of these defects.
    pub defects: Vec<QuarantineRow>,
    /// Statistics of the stages, in the order in which records pass them.
    pub stages: Vec<StageRow>,
}
