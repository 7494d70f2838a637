//! Loads: asking for one, watching it, cancelling it.

use inputs::LoadInput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DocumentScope, LedgerRow, LinkScope, QuarantineRow, StageRow};

/// Asks to load inputs. The answer is the job in the queue, not its result.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadRequest {
    /// Files, folders, globs, path lists and addresses to load.
    pub inputs: Vec<LoadInput>,
    /// Where lists of packages may lead beside their own origin: `HOST`, `HOST:PORT`, `s3://BUCKET`, or the absolute path of a
    /// folder. Not over HTTP.
    #[schemars(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_elsewhere: Vec<String>,
    /// Label to give to these inputs.
    #[schemars(example = &"news")]
    pub collection: Option<String>,
    /// Which links the archive keeps. The load is refused if the archive was created with another choice.
    pub links: Option<LinkScope>,
    /// Which captures that are no pages the archive has in search. The load is refused if the archive was created with another choice.
    pub documents: Option<DocumentScope>,
    /// Where the archive keeps its facts. The load is refused if the archive was created with another choice.
    pub facts: Option<FactsPlace>,
    /// Whether texts are to be among the facts. The load is refused if the archive was created without.
    pub facts_text: bool,
    /// Load at most this many pages per second.
    pub rate_pages_per_s: Option<f64>,
    /// Number of inputs and of records to work on at once; the number of cores if absent.
    pub threads: Option<usize>,
    /// Whether to check declared digests. `defects` of the job lists the records whose digest does not match.
    pub verify: bool,
    /// Close an epoch after this many bytes of captures instead of 64 MiB. Smaller epochs become visible
    /// sooner and cost more.
    pub epoch_bytes: Option<u64>,
    /// Stages to leave out, to find out which one is slowest.
    pub stages_off: Vec<OptionalStage>,
}

/// Where an archive keeps its facts, every capture and link as a row of open tables: `archive`, `none`, the absolute
/// path of a directory, or the address of a folder in a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String", example = &"archive")]
pub enum FactsPlace {
    /// In its own directory.
    #[default]
    Archive,
    /// Nowhere.
    None,
    /// In another directory: its absolute path, in the form of [`inputs::path_text`]. Or in a store: `s3://bucket/name`,
    /// `store://bucket/name`.
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

/// A stage that a load can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionalStage {
    /// Records are read, but nothing is extracted from them.
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

/// Asks how far a load has come.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Job {
    /// The job's number.
    pub id: u64,
}

/// Stops a load: at its next epoch if it is running, at once if it is still queued.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cancel {
    /// The job's number.
    pub id: u64,
}

/// The loads since the archive was opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobsBody {
    /// The loads, newest first. Only the last 100 of those that have ended are kept.
    pub rows: Vec<JobBody>,
}

/// Whether a load is queued or running, or how it ended. One load runs at a time, in the order in which they
/// were asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for the loads before it.
    #[default]
    Queued,
    /// It is the load that is running.
    Running,
    /// It ran to its end. Some of its inputs may have failed.
    Done,
    /// A user or a program cancelled it.
    Cancelled,
    /// The process that owned the archive ended. Asking for the same load again continues it.
    Interrupted,
    /// An error stopped it.
    Failed,
}

impl JobState {
    /// The word for the state in JSON.
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

    /// Whether the load has ended, in whatever way.
    pub fn has_ended(self) -> bool {
        !matches!(self, JobState::Queued | JobState::Running)
    }
}

/// What a load is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobStage {
    /// It waits for the loads before it.
    #[default]
    Queued,
    /// It expands folders, patterns and path lists.
    Finding,
    /// It reads inputs to compute their digests; none is being loaded yet.
    Digesting,
    /// It reads records and weaves them into the index. The next inputs are digested at the same time.
    Loading,
    /// Everything is woven into the index; the search index follows.
    Finishing,
    /// It has ended.
    Ended,
}

/// A file in a folder that a load did not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    /// Name of the file as text (see [`LoadInput`](inputs::LoadInput)).
    pub name: String,
    /// What the file is, as far as it can be told.
    pub why: String,
}

/// Documents whose text could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadRow {
    /// Why (docs/search.md).
    #[schemars(example = &"document-unreadable")]
    pub reason: String,
    /// Number of them.
    pub documents: u64,
}

/// A queued, running or finished load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobBody {
    /// Number of the load, counted from 1 since the archive was opened.
    pub id: u64,
    /// Whether it is queued or running, or how it ended.
    pub state: JobState,
    /// What the load is doing now.
    pub stage: JobStage,
    /// Why the load failed; absent if it did not.
    #[schemars(example = &"no space left on device")]
    pub error: Option<String>,
    /// Milliseconds from the beginning of the load until its end, or until now.
    pub elapsed_ms: u64,
    /// How long the stage will take at the rate of the last seconds, in milliseconds; absent if it stands still, or is not known.
    pub left_ms: Option<u64>,
    /// Bytes digested or read in a second, over the last seconds.
    pub bytes_per_s: u64,
    /// Pages read in a second, over the last seconds.
    pub pages_per_s: f64,
    /// Number of inputs found.
    pub inputs: u64,
    /// Number of inputs read to their end.
    pub inputs_done: u64,
    /// Number of inputs that the archive had loaded before.
    pub inputs_known: u64,
    /// Number of inputs that failed.
    pub inputs_failed: u64,
    /// Number of inputs in `inputs_done` that end in the middle of a record.
    pub inputs_cut: u64,
    /// Number of inputs left in state `loading`, because they are still being written or the load was
    /// cancelled.
    pub inputs_loading: u64,
    /// Names of inputs that end in the middle of a record and were changed a moment ago. The load waits some
    /// seconds to see whether they grow.
    pub waiting_for: Vec<String>,
    /// Number of files in folders that were not read, because neither their name nor their first bytes are
    /// those of an archive file.
    pub files_skipped: u64,
    /// The first 1,000 of these files.
    pub skipped: Vec<SkippedFile>,
    /// Size of all inputs found, in bytes.
    pub bytes: u64,
    /// Bytes read to compute digests. This is the first of two passes over an input.
    pub bytes_digested: u64,
    /// Bytes of inputs read, including those that were known before. It moves inside large records, too.
    pub bytes_read: u64,
    /// Bytes woven into the index, including those that were known before.
    pub bytes_done: u64,
    /// Pages that search is to be given because it is behind; 0 if it is not.
    pub search_pages: u64,
    /// How many of these it was given.
    pub search_pages_done: u64,
    /// Number of records read.
    pub records: u64,
    /// Number of captures that the archive did not have before.
    pub captures: u64,
    /// Number of captures that the archive had already.
    pub captures_known: u64,
    /// Number of lines of indexes that the archive did not have before.
    pub index_lines: u64,
    /// Number of captures that takedowns keep out.
    pub captures_taken_down: u64,
    /// Number of pages read.
    pub pages: u64,
    /// Number of links on those pages.
    pub links: u64,
    /// Number of documents read: plain text, feeds, PDF, EPUB and office files.
    pub documents: u64,
    /// Number of these whose text could not be read, for each reason. They are among `defects`.
    pub documents_unread: Vec<UnreadRow>,
    /// Number of records and spans of bytes that could not be used.
    pub quarantined: u64,
    /// Number of epochs that the load has added.
    pub epochs: u64,
    /// Ledger rows of inputs that are incomplete, missing or failed, or have records that could not be used;
    /// at most 1,000.
    pub problems: Vec<LedgerRow>,
    /// Number of defects in records that were used in spite of them.
    pub defects_total: u64,
    /// The first 1,000 of these defects.
    pub defects: Vec<QuarantineRow>,
    /// Statistics of the stages, in the order in which records pass them.
    pub stages: Vec<StageRow>,
}
