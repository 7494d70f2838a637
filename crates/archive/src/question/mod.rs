//! Questions to an archive and their answers: one vocabulary for the program, the socket and the server.
//!
//! A question is asked by [`crate::Archive::ask`] in the owner process, or sent as JSON over the owner's
//! socket; either way the same [`Answer`] comes back, and `--json` and `/api/v1` print it as it is.

mod dump;

use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::cdx::{Collapse, Filter, Order};

pub use dump::{Details, Dump, DumpFormat, View};
pub use extract::{CaptureKind, LinkScope};
pub use weave::InputState;

pub use search::{Note as SearchNote, NoteKind as SearchNoteKind, Snippet, SnippetPart};

/// Something to ask.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Question {
    Status,
    /// Whether the index is as it was written: reads all of it.
    Check,
    Stages,
    Ledger {
        #[serde(default)]
        state: Option<LedgerState>,
        #[serde(default)]
        after: Option<String>,
        limit: usize,
    },
    Quarantine {
        #[serde(default)]
        input: Option<String>,
        #[serde(default)]
        after: Option<String>,
        limit: usize,
    },
    Page {
        url: String,
    },
    Inlinks {
        url: String,
        #[serde(default)]
        after: Option<String>,
        limit: usize,
    },
    Outlinks {
        url: String,
        #[serde(default)]
        after: Option<String>,
        limit: usize,
    },
    Domain {
        name: String,
    },
    Domains {
        #[serde(default)]
        order: DomainOrder,
        #[serde(default)]
        after: Option<String>,
        limit: usize,
    },
    Top {
        #[serde(default)]
        domain: Option<String>,
        #[serde(default)]
        after: Option<String>,
        limit: usize,
    },
    Cdx(CdxQuestion),
    CdxBlocks(CdxBlocksQuestion),
    Search(SearchQuestion),
    /// Where a record is: the asker reads the bytes itself.
    Record {
        url: String,
        /// 1 to 17 digits (to the millisecond): the capture nearest to this time; the current version if not given.
        #[serde(default)]
        at: Option<String>,
        /// Exactly this capture of the URL ([`CdxRow::name`]), whatever the time.
        #[serde(default)]
        capture: Option<String>,
    },
    Load(LoadRequest),
    Jobs,
    Job {
        id: u64,
    },
    Cancel {
        id: u64,
    },
    /// Takes inputs out of the ledger by name, location or digest: those not loaded to their end, and those without
    /// captures.
    Forget {
        inputs: Vec<String>,
    },
}

/// Rows of the ledger that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerState {
    /// Known, nothing read yet.
    Pending,
    /// Read in part.
    Loading,
    /// Read to its end.
    Done,
    /// Given up.
    Failed,
    /// Ends in the middle of a record.
    Cut,
    /// There was nothing to read when it was last asked for.
    Missing,
}

impl LedgerState {
    /// The state of that name, as JSON has it.
    pub fn of_name(name: &str) -> Option<LedgerState> {
        serde_json::from_value(name.into()).ok()
    }
}

/// CDX look-up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct CdxQuestion {
    pub url: String,
    pub match_type: MatchType,
    /// 1 to 14 digits, inclusive.
    pub from: Option<String>,
    /// 1 to 14 digits, inclusive (a prefix covers all it begins).
    pub to: Option<String>,
    pub collection: Option<String>,
    pub limit: usize,
    /// Opaque cursor from the answer before.
    pub after: Option<String>,
    /// Cursor of the last capture that may be given (an end of [`Body::CdxBlocks`]); order `Forward` only.
    pub until: Option<String>,
    /// All of them must fit.
    pub filters: Vec<Filter>,
    /// Captures that equal the one before in all of these are left out; none are where this is empty.
    pub collapse: Vec<Collapse>,
    pub order: Order,
    /// Whether [`CdxRow::filename`] is the last part of the input's name alone.
    pub base_names: bool,
}

/// Where blocks of captures end, so that pages of them can be given by number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct CdxBlocksQuestion {
    pub url: String,
    pub match_type: MatchType,
    /// Captures of a block.
    pub rows: usize,
    /// Opaque cursor from the answer before.
    pub after: Option<String>,
}

/// How a CDX look-up matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum MatchType {
    #[default]
    Exact,
    Prefix,
    Host,
    Domain,
}

impl MatchType {
    /// All of them.
    pub const ALL: [MatchType; 4] = [
        MatchType::Exact,
        MatchType::Prefix,
        MatchType::Host,
        MatchType::Domain,
    ];

    /// Its name in addresses and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            MatchType::Exact => "exact",
            MatchType::Prefix => "prefix",
            MatchType::Host => "host",
            MatchType::Domain => "domain",
        }
    }

    /// By that name.
    pub fn named(name: &str) -> Option<MatchType> {
        MatchType::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// How domains are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DomainOrder {
    /// By name, from wherever a list goes on.
    #[default]
    Name,
    /// Those with most pages first; reads all domains.
    Pages,
    /// Those with most in-links from other domains first; reads all domains.
    Inlinks,
}

/// Full-text search.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct SearchQuestion {
    pub query: String,
    pub limit: usize,
    pub after: Option<String>,
    pub explain: bool,
    pub facets: bool,
}

/// Inputs to load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct LoadRequest {
    /// Absolute paths and addresses, folders, globs, path lists; the name as given stands beside it.
    pub inputs: Vec<LoadInput>,
    pub collection: Option<String>,
    pub links: Option<LinkScope>,
    pub rate_pages_per_s: Option<f64>,
    pub threads: Option<usize>,
    /// Check declared digests; what does not agree is in [`JobBody::defects`].
    pub verify: bool,
    /// Close epochs with this many bytes of captures instead of 64 MiB: smaller ones are seen sooner and cost more.
    pub epoch_bytes: Option<u64>,
    /// Stages replaced by nothing, to find the slowest one.
    pub stages_off: Vec<OptionalStage>,
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

/// One argument of a load. Paths are bytes, so both texts are those of [`crate::path_text`]: a byte that is not part of
/// UTF-8 stands as `\xNN`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LoadInput {
    /// As the user wrote it: the ledger's name for a file.
    pub name: String,
    /// Absolute, or an address (`scheme://...`); a path list that the user marked with `@` may have the mark here too.
    pub path: String,
}

/// An answer and the epoch it comes from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Answer {
    pub epoch: u64,
    #[serde(flatten)]
    pub body: Body,
}

/// What was found.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Body {
    Status(StatusBody),
    Check(CheckBody),
    Stages {
        stages: Vec<StageRow>,
    },
    Ledger {
        rows: Vec<LedgerRow>,
        next: Option<String>,
    },
    Quarantine {
        rows: Vec<QuarantineRow>,
        next: Option<String>,
    },
    Page(Box<PageBody>),
    Links {
        url_key: String,
        rows: Vec<LinkRow>,
        total: u64,
        next: Option<String>,
    },
    Domain(DomainBody),
    Domains {
        rows: Vec<DomainRow>,
        next: Option<String>,
    },
    Top {
        rows: Vec<TopRow>,
        next: Option<String>,
    },
    Cdx {
        rows: Vec<CdxRow>,
        next: Option<String>,
    },
    CdxBlocks {
        /// Cursors of the last capture of each block; the last block of all may be a shorter one.
        ends: Vec<String>,
        next: Option<String>,
    },
    Search(SearchBody),
    Record(RecordBody),
    Job(JobBody),
    Jobs {
        rows: Vec<JobBody>,
    },
    /// What was taken out of the ledger, and of every view with it.
    Forgotten {
        /// Names of the inputs.
        inputs: Vec<String>,
        captures: u64,
        quarantined: u64,
    },
}

/// Totals and state of the archive.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct StatusBody {
    pub archive: String,
    pub version: String,
    pub links_scope: LinkScope,
    pub inputs: u64,
    pub inputs_done: u64,
    pub inputs_loading: u64,
    pub inputs_failed: u64,
    pub records: u64,
    pub captures: u64,
    pub pages: u64,
    pub links: u64,
    pub uris: u64,
    pub domains: u64,
    pub quarantined: u64,
    pub search_epoch: u64,
    pub search_documents: u64,
    pub fetch_time_first: Option<String>,
    pub fetch_time_last: Option<String>,
    pub collections: Vec<String>,
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
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct CheckBody {
    pub damages: Vec<DamageRow>,
    /// What was not checked, and why.
    pub notes: Vec<String>,
}

/// Something that is damaged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct DamageRow {
    /// `table <name>`, `search index`.
    pub part: String,
    pub found: String,
    /// What to do about it.
    pub advice: String,
}

/// Statistics of one pipeline stage.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct StageRow {
    pub stage: String,
    pub threads: usize,
    pub waiting: u64,
    pub running: u64,
    pub done: u64,
    pub total: u64,
    pub ms_per_item: f64,
    pub batched_share: f64,
    pub batch_mean: f64,
}

/// One row of `ledger`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LedgerRow {
    pub input: String,
    pub digest: String,
    pub size: u64,
    /// `pending`, `loading`, `done`, `failed(<reason>)`.
    #[serde(with = "as_text")]
    pub state: InputState,
    pub records: u64,
    pub captures: u64,
    pub quarantined: u64,
    pub bytes_done: u64,
    pub collection: String,
    /// Absolute path or address the bytes are read from.
    pub location: String,
    /// How its end is cut off, empty if it is whole.
    pub cut: String,
    /// Why there was nothing to read when it was last asked for, empty if there was; what was loaded stays.
    pub missing: String,
}

/// One row of `quarantine`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct QuarantineRow {
    pub input: String,
    pub offset: u64,
    pub reason: String,
    pub detail: String,
}

/// Everything known of one URL.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PageBody {
    pub url_key: String,
    pub url: String,
    pub host: String,
    pub domain: String,
    /// Whether any capture of it is held (else it is only linked to).
    pub captured: bool,
    /// Whether the current version is a page.
    pub is_page: bool,
    pub fetch_time: Option<String>,
    pub last_seen: Option<String>,
    pub status: u16,
    pub mime: String,
    pub digest: String,
    pub title: String,
    pub language: String,
    pub canonical: Option<String>,
    pub robots: Option<String>,
    pub links: u64,
    pub links_dropped: u64,
    pub inlinks: u64,
    pub inlinks_external: u64,
    pub text_preview: String,
    pub text_truncated: bool,
    /// The capture that is the current version, if there is one.
    pub current: Option<CdxRow>,
    /// Newest first, at most 1,000.
    pub captures: Vec<CdxRow>,
}

/// A link, from either end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LinkRow {
    pub source_key: String,
    pub source_url: String,
    pub source_title: String,
    pub target_key: String,
    pub target_url: String,
    pub anchor: String,
    pub nofollow: bool,
    pub external: bool,
}

/// A domain with its best pages.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct DomainBody {
    pub domain: String,
    pub uris: u64,
    pub pages: u64,
    pub inlinks_external: u64,
    pub top: Vec<TopRow>,
    /// Domains linking here, by number of links, from the in-links of `top` (a sample, bounded).
    pub linking_domains: Vec<LinkingDomain>,
    pub linking_domains_complete: bool,
}

/// A domain that links to another.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LinkingDomain {
    pub domain: String,
    pub links: u64,
}

/// One row of `domains`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct DomainRow {
    pub domain: String,
    pub uris: u64,
    pub pages: u64,
    pub inlinks_external: u64,
}

/// One row of a ranking.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct TopRow {
    pub rank: u64,
    pub url_key: String,
    pub url: String,
    pub title: String,
    pub captured: bool,
    pub inlinks: u64,
    pub inlinks_external: u64,
}

/// One capture, with the fields of CDXJ.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct CdxRow {
    pub url_key: String,
    /// 14 digits.
    pub timestamp: String,
    /// ISO 8601 with milliseconds.
    pub fetch_time: String,
    pub url: String,
    pub mime: String,
    pub status: u16,
    pub digest: String,
    pub length: u64,
    pub offset: u64,
    /// The input's name, or the last part of it.
    pub filename: String,
    pub collection: String,
    pub kind: CaptureKind,
}

impl CdxRow {
    /// What tells it from every other capture of its URL, also one of the same millisecond: `<offset>,<filename>`.
    pub fn name(&self) -> String {
        format!("{},{}", self.offset, self.filename)
    }
}

/// Results of a search.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SearchBody {
    pub query: String,
    /// How the query was understood.
    pub understood: String,
    /// What of the query was not used, or was done instead.
    pub notes: Vec<SearchNote>,
    pub total: u64,
    /// Epoch the search index covers.
    pub search_epoch: u64,
    pub took_ms: f64,
    pub hits: Vec<SearchHit>,
    pub facets: Vec<Facet>,
    pub next: Option<String>,
}

/// One result.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SearchHit {
    pub url_key: String,
    pub url: String,
    pub domain: String,
    pub title: String,
    pub fetch_time: String,
    pub mime: String,
    pub language: String,
    pub collection: String,
    /// The best part of its text. In JSON: `snippet_html`, escaped text with `<mark>` around matches, and nothing else
    /// of HTML.
    #[serde(rename = "snippet_html", with = "crate::snippet_html")]
    pub snippet: Snippet,
    pub inlinks: u64,
    pub inlinks_external: u64,
    pub score: f64,
    /// With `explain`: how the score came about.
    pub explanation: Option<serde_json::Value>,
}

/// Counts of one field over all results.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Facet {
    /// `domain`, `year`, `type`, `language`.
    pub field: String,
    pub values: Vec<FacetValue>,
}

/// One facet value.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct FacetValue {
    pub value: String,
    pub count: u64,
    /// The query that narrows to it.
    pub query: String,
}

/// Where a record's bytes are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct RecordBody {
    pub capture: CdxRow,
    /// Absolute path or address of the input.
    pub location: String,
    /// For a revisit: the capture that holds the payload, if it is in the archive.
    pub original: Option<Box<RecordBody>>,
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
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct JobBody {
    pub id: u64,
    /// Whether it waits, runs, or how it ended.
    pub state: JobState,
    /// What it is doing now.
    pub stage: JobStage,
    /// Why it failed, if it did.
    pub error: Option<String>,
    pub elapsed_ms: u64,
    pub inputs: u64,
    pub inputs_done: u64,
    pub inputs_known: u64,
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
    pub bytes: u64,
    /// Bytes read for digests: the first of two passes over an input.
    pub bytes_digested: u64,
    /// Bytes woven, or known already.
    pub bytes_done: u64,
    pub records: u64,
    pub captures: u64,
    pub captures_known: u64,
    pub pages: u64,
    pub links: u64,
    pub quarantined: u64,
    pub epochs: u64,
    /// Ledger rows of this load's inputs that have something to report.
    pub problems: Vec<LedgerRow>,
    /// Records that were used although something is wrong with them.
    pub defects_total: u64,
    /// The first 1,000 of them.
    pub defects: Vec<QuarantineRow>,
    pub stages: Vec<StageRow>,
}
