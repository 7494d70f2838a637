//! The archive as a whole: totals, whether it is sound, and how loading spends its time.

use serde::{Deserialize, Serialize};

use super::LinkScope;

/// Asks for totals and state of the archive.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Status {}

/// Asks whether the index is as it was written; reads all of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Check {}

/// Asks for the stages of the load that runs, or ran last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Stages {}

/// Totals and state of the archive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusBody {
    /// The archive's directory, absolute.
    pub archive: String,
    /// Version of the program that answers.
    pub version: String,
    /// Which links are kept, for good.
    pub links_scope: LinkScope,
    /// Inputs in the ledger.
    pub inputs: u64,
    /// Inputs read to their end.
    pub inputs_done: u64,
    /// Inputs read in part, or known and not read yet.
    pub inputs_loading: u64,
    /// Inputs given up.
    pub inputs_failed: u64,
    /// Records read.
    pub records: u64,
    /// Captures made from them.
    pub captures: u64,
    /// URLs whose current version is a page.
    pub pages: u64,
    /// Links of those pages.
    pub links: u64,
    /// URL keys captured or linked to.
    pub uris: u64,
    /// Registered domains of those URIs.
    pub domains: u64,
    /// Records and spans that could not be used.
    pub quarantined: u64,
    /// Epoch that the search index covers.
    pub search_epoch: u64,
    /// Pages in the search index.
    pub search_documents: u64,
    /// Time of the earliest capture (ISO 8601), if there is one.
    pub fetch_time_first: Option<String>,
    /// Time of the latest capture (ISO 8601), if there is one.
    pub fetch_time_last: Option<String>,
    /// Labels of inputs, in order.
    pub collections: Vec<String>,
    /// Bytes of all files in the archive's directory.
    pub disk_bytes: u64,
    /// Resident memory of the owner, 0 where the system does not tell.
    pub memory_bytes: u64,
    /// Process that owns the archive and gave this answer.
    pub owner_pid: u32,
    /// Loads running or queued.
    pub jobs_active: u64,
    /// Nothing in the archive can be changed by who gave this answer.
    pub read_only: bool,
    /// Why the index refuses writes until the next load opens it again: a full disk, mostly. Empty if it does not.
    pub refuses_writes: String,
    /// Why the search index, which is behind, could not be written: a full disk, mostly. Empty if it could.
    pub search_failure: String,
}

/// What is not as it was written, and does not follow from what it should.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckBody {
    /// What is damaged.
    pub damages: Vec<DamageRow>,
    /// What was not checked, and why.
    pub notes: Vec<String>,
}

/// Something that is damaged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DamageRow {
    /// `table <name>`, `search index`.
    pub part: String,
    /// What is wrong with it.
    pub found: String,
    /// What to do about it.
    pub advice: String,
}

/// Stages of the load that runs, or ran last; none if nothing was loaded since the archive was opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StagesBody {
    /// In the order that records pass them.
    pub stages: Vec<StageRow>,
}

/// Statistics of one stage of loading.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageRow {
    /// Its name: `digest`, `register`, `read`, `extract`, `weave`, `search`.
    pub stage: String,
    /// Threads that work on it.
    pub threads: usize,
    /// Items in its queue.
    pub waiting: u64,
    /// Items being worked on.
    pub running: u64,
    /// Items that passed it.
    pub done: u64,
    /// Items that entered its queue.
    pub total: u64,
    /// Mean time of work on an item, in milliseconds.
    pub ms_per_item: f64,
    /// Share of items that were worked on together with others, 0 to 1.
    pub batched_share: f64,
    /// Mean number of items worked on together.
    pub batch_mean: f64,
}
