//! The archive as a whole: its totals, whether it is intact, and how loading spends its time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DocumentScope, FactsPlace, FactsTable, LinkScope, StageRow};

/// Asks for totals and state of the archive.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Status {}

/// Asks whether the index is still intact. Answering reads the whole index.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Check {}

/// Asks for the stages of the current or the last load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Stages {}

/// Totals and state of the archive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusBody {
    /// Absolute path of the archive's directory.
    pub archive: String,
    /// Version of the program that answers.
    pub version: String,
    /// Which links the archive keeps. Fixed when the archive was created.
    pub links_scope: LinkScope,
    /// Which captures other than pages are searchable. Fixed when the archive was created.
    pub documents_scope: DocumentScope,
    /// Number of inputs in the ledger.
    pub inputs: u64,
    /// Number of inputs read to their end.
    pub inputs_done: u64,
    /// Number of inputs that were read in part, or not yet.
    pub inputs_loading: u64,
    /// Number of inputs that failed.
    pub inputs_failed: u64,
    /// Number of records read.
    pub records: u64,
    /// Number of captures made from these records.
    pub captures: u64,
    /// Number of index lines, which describe captures with or without loaded records.
    pub index_lines: u64,
    /// Number of records that are attachments of pages.
    pub attachments: u64,
    /// Number of captures that takedowns keep out; not included in `captures`.
    pub captures_taken_down: u64,
    /// Number of inputs that are taken down completely.
    pub inputs_taken_down: u64,
    /// Number of URLs whose current version is a page.
    pub pages: u64,
    /// Number of links on those pages.
    pub links: u64,
    /// Number of URL keys that are captured or linked to.
    pub uris: u64,
    /// Number of registered domains of those URL keys.
    pub domains: u64,
    /// Number of records and byte ranges that could not be used.
    pub quarantined: u64,
    /// Epoch that the search index covers.
    pub search_epoch: u64,
    /// Number of pages and documents in the search index.
    pub search_documents: u64,
    /// Time of the earliest capture (ISO 8601), if any.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time_first: Option<String>,
    /// Time of the latest capture (ISO 8601), if any.
    #[schemars(example = &"2014-01-26T20:10:55.000Z")]
    pub fetch_time_last: Option<String>,
    /// Where facts are kept. Fixed when the archive was created.
    pub facts_place: FactsPlace,
    /// The tables of facts.
    pub facts: Vec<FactsTable>,
    /// Why the tables of facts cannot be read; empty if they can.
    pub facts_failure: String,
    /// Labels of inputs, in alphabetical order.
    pub collections: Vec<String>,
    /// Size of all files in the archive's directory, in bytes.
    pub disk_bytes: u64,
    /// Resident memory of the owner's process in bytes; 0 if the system does not report it.
    pub memory_bytes: u64,
    /// Number of the process that owns the archive and gave this answer.
    pub owner_pid: u32,
    /// Number of loads that are running or queued.
    pub jobs_active: u64,
    /// Whether the answering process has opened the archive read-only and so cannot change it.
    pub read_only: bool,
    /// Why the index refuses writes, usually a full disk; empty if it accepts them. The next load
    /// opens the index again.
    pub refuses_writes: String,
    /// Why the search index could not be written and is behind, usually a full disk; empty if it
    /// could be written.
    pub search_failure: String,
}

/// Damaged or inconsistent parts of the archive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckBody {
    /// The damaged parts.
    pub damages: Vec<DamageRow>,
    /// Fingerprints of the views, if nothing is damaged. Two archives with the same rows have the
    /// same fingerprints.
    pub fingerprints: Vec<FingerprintRow>,
    /// The parts that were not checked, and why.
    pub notes: Vec<String>,
}

/// Fingerprint of rows of one kind, independent of their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FingerprintRow {
    /// The rows counted: `captures`, `captured` (URIs with a capture), `versions` (current versions
    /// and their texts), `pages` or `links`. For the derived `uris` and `domains` only the number
    /// is given.
    pub of: String,
    /// Number of rows.
    pub rows: u64,
    /// Sum of the hashes of the rows, in hexadecimal.
    pub hash: String,
}

/// One damaged part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DamageRow {
    /// Name of the part: `table <name>`, `search index` or `index of images`.
    pub part: String,
    /// Description of the damage.
    pub found: String,
    /// How to repair it.
    pub advice: String,
}

/// Stages of the current or the last load; empty if nothing was loaded since the archive was
/// opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StagesBody {
    /// The stages, in the order in which records pass them.
    pub stages: Vec<StageRow>,
}
