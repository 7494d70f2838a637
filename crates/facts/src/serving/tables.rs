//! The serving tables, their columns and their keys.

use crate::field::{Field, Kind};

/// A serving table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServingTable {
    /// Inputs by number.
    Inputs,
    /// Captures by URL key and time.
    Captures,
    /// Aliases that indexes declare, by URL key.
    Aliases,
    /// Current versions by URL key.
    Versions,
    /// Links of current versions by source.
    Outlinks,
    /// Links of current versions by target.
    Inlinks,
    /// URIs by URL key.
    Uris,
    /// Domains by name.
    Domains,
    /// URIs by in-links: of all domains, then of each.
    Top,
    /// Beginnings of the texts of current versions by URL key.
    Previews,
    /// Past versions by URL key.
    PastVersions,
    /// Attachments of pages by URL key and time.
    Attachments,
}

static INPUTS: [Field; 5] = [
    Field::new("input_number", Kind::Int),
    Field::new("input", Kind::Text).many(),
    Field::new("location", Kind::Text).many(),
    Field::new("digest", Kind::Text).many(),
    Field::new("collection", Kind::Text),
];

static CAPTURES: [Field; 19] = [
    URL_KEY,
    Field::new("fetch_time", Kind::TimeMs),
    Field::new("input_number", Kind::Int),
    Field::new("offset", Kind::Long),
    Field::new("url", Kind::Text).many(),
    Field::new("mime", Kind::Text),
    Field::new("status", Kind::Int),
    Field::new("method", Kind::Text),
    Field::new("digest", Kind::Text).many(),
    Field::new("length", Kind::Long),
    Field::new("kind", Kind::Text),
    Field::new("index_only", Kind::Bool),
    Field::new("is_damaged", Kind::Bool),
    Field::new("record_offset", Kind::Long).nullable(),
    Field::new("filename", Kind::Text).nullable(),
    Field::new("original_url_key", Kind::Text).many().nullable(),
    Field::new("original_fetch_time", Kind::TimeMs).nullable(),
    Field::new("original_input_number", Kind::Int).nullable(),
    Field::new("original_offset", Kind::Long).nullable(),
];

static ALIASES: [Field; 4] = [
    URL_KEY,
    Field::new("input_number", Kind::Int),
    Field::new("line_offset", Kind::Long),
    Field::new("alias_of", Kind::Text).many(),
];

static VERSIONS: [Field; 19] = [
    URL_KEY,
    Field::new("fetch_time", Kind::TimeMs),
    Field::new("last_seen", Kind::TimeMs),
    Field::new("input_number", Kind::Int),
    Field::new("offset", Kind::Long),
    Field::new("url", Kind::Text).many(),
    Field::new("kind", Kind::Text),
    Field::new("status", Kind::Int),
    Field::new("mime", Kind::Text),
    Field::new("digest", Kind::Text).many(),
    Field::new("is_page", Kind::Bool),
    Field::new("is_document", Kind::Bool),
    Field::new("title", Kind::Text).many(),
    Field::new("language", Kind::Text),
    Field::new("canonical", Kind::Text).many().nullable(),
    Field::new("robots", Kind::Text).nullable(),
    Field::new("links", Kind::Int),
    Field::new("links_dropped", Kind::Int),
    Field::new("text_truncated", Kind::Bool).nullable(),
];

static OUTLINKS: [Field; 5] = [
    Field::new("source_key", Kind::Text).sorted().looked_up().bounds(),
    Field::new("target_key", Kind::Text).sorted(),
    Field::new("target_url", Kind::Text).many(),
    Field::new("anchor", Kind::Text).many(),
    Field::new("nofollow", Kind::Bool),
];

static INLINKS: [Field; 5] = [
    Field::new("source_key", Kind::Text).sorted(),
    Field::new("target_key", Kind::Text).sorted().looked_up().bounds(),
    Field::new("target_url", Kind::Text).many(),
    Field::new("anchor", Kind::Text).many(),
    Field::new("nofollow", Kind::Bool),
];

static URIS: [Field; 6] = [
    URL_KEY,
    Field::new("domain", Kind::Text),
    Field::new("captured", Kind::Bool),
    Field::new("is_page", Kind::Bool),
    Field::new("inlinks", Kind::Long),
    Field::new("inlinks_external", Kind::Long),
];

static DOMAINS: [Field; 4] = [
    DOMAIN,
    Field::new("uris", Kind::Long),
    Field::new("pages", Kind::Long),
    Field::new("inlinks_external", Kind::Long),
];

static TOP: [Field; 5] = [
    DOMAIN,
    Field::new("rank", Kind::Long),
    Field::new("url_key", Kind::Text).many(),
    Field::new("inlinks", Kind::Long),
    Field::new("inlinks_external", Kind::Long),
];

static PREVIEWS: [Field; 3] = [
    URL_KEY,
    Field::new("since", Kind::TimeMs),
    Field::new("text_preview", Kind::Text).many(),
];

static PAST_VERSIONS: [Field; 14] = [
    URL_KEY,
    Field::new("number", Kind::Long),
    Field::new("since", Kind::TimeMs),
    Field::new("until", Kind::TimeMs).nullable(),
    Field::new("fetch_time", Kind::TimeMs),
    Field::new("url", Kind::Text).many(),
    Field::new("title", Kind::Text).many(),
    Field::new("mime", Kind::Text),
    Field::new("language", Kind::Text),
    Field::new("digest", Kind::Text).many(),
    Field::new("collection", Kind::Text),
    Field::new("page", Kind::Text).many().nullable(),
    Field::new("text_name", Kind::Text).many().nullable(),
    Field::new("text_preview", Kind::Text).many().nullable(),
];

static ATTACHMENTS: [Field; 9] = [
    URL_KEY,
    Field::new("fetch_time", Kind::TimeMs),
    Field::new("input_number", Kind::Int),
    Field::new("offset", Kind::Long),
    Field::new("url", Kind::Text).many(),
    Field::new("mime", Kind::Text),
    Field::new("status", Kind::Int),
    Field::new("digest", Kind::Text).many(),
    Field::new("length", Kind::Long),
];

const URL_KEY: Field = Field::new("url_key", Kind::Text).sorted().looked_up().bounds();
const DOMAIN: Field = Field::new("domain", Kind::Text).sorted().looked_up().bounds();

/// The first columns of a table of first keys.
const PLACE: [Field; 3] = [
    Field::new("file", Kind::Int),
    Field::new("row_group", Kind::Int),
    Field::new("rows", Kind::Int),
];

static FIRST_INPUTS: [Field; 4] = [
    PLACE[0],
    PLACE[1],
    PLACE[2],
    Field::new("input_number", Kind::Int),
];

static FIRST_CAPTURES: [Field; 7] = [
    PLACE[0],
    PLACE[1],
    PLACE[2],
    Field::new("url_key", Kind::Text).sorted(),
    Field::new("fetch_time", Kind::TimeMs),
    Field::new("input_number", Kind::Int),
    Field::new("offset", Kind::Long),
];

static FIRST_ALIASES: [Field; 6] = [
    PLACE[0],
    PLACE[1],
    PLACE[2],
    Field::new("url_key", Kind::Text).sorted(),
    Field::new("input_number", Kind::Int),
    Field::new("line_offset", Kind::Long),
];

static FIRST_OUTLINKS: [Field; 5] = [
    PLACE[0],
    PLACE[1],
    PLACE[2],
    Field::new("source_key", Kind::Text).sorted(),
    Field::new("target_key", Kind::Text).sorted(),
];

static FIRST_INLINKS: [Field; 5] = [
    PLACE[0],
    PLACE[1],
    PLACE[2],
    Field::new("target_key", Kind::Text).sorted(),
    Field::new("source_key", Kind::Text).sorted(),
];

static FIRST_URL_KEYS: [Field; 4] = [
    PLACE[0],
    PLACE[1],
    PLACE[2],
    Field::new("url_key", Kind::Text).sorted(),
];

static FIRST_DOMAINS: [Field; 4] = [
    PLACE[0],
    PLACE[1],
    PLACE[2],
    Field::new("domain", Kind::Text).sorted(),
];

static FIRST_PAST_VERSIONS: [Field; 5] = [
    PLACE[0],
    PLACE[1],
    PLACE[2],
    Field::new("url_key", Kind::Text).sorted(),
    Field::new("number", Kind::Long),
];

static FIRST_TOP: [Field; 5] = [
    PLACE[0],
    PLACE[1],
    PLACE[2],
    Field::new("domain", Kind::Text).sorted(),
    Field::new("rank", Kind::Long),
];

impl ServingTable {
    /// All of them.
    pub const ALL: [ServingTable; 12] = [
        ServingTable::Inputs,
        ServingTable::Captures,
        ServingTable::Aliases,
        ServingTable::Versions,
        ServingTable::Outlinks,
        ServingTable::Inlinks,
        ServingTable::Uris,
        ServingTable::Domains,
        ServingTable::Top,
        ServingTable::Previews,
        ServingTable::PastVersions,
        ServingTable::Attachments,
    ];

    /// Its name, which is also that of its folder.
    pub fn name(self) -> &'static str {
        match self {
            ServingTable::Inputs => "inputs",
            ServingTable::Captures => "captures",
            ServingTable::Aliases => "aliases",
            ServingTable::Versions => "versions",
            ServingTable::Outlinks => "outlinks",
            ServingTable::Inlinks => "inlinks",
            ServingTable::Uris => "uris",
            ServingTable::Domains => "domains",
            ServingTable::Top => "top",
            ServingTable::Previews => "previews",
            ServingTable::PastVersions => "past_versions",
            ServingTable::Attachments => "attachments",
        }
    }

    /// Whether a manifest may lack it. Answers about pages need it.
    pub fn is_optional(self) -> bool {
        matches!(
            self,
            ServingTable::Previews | ServingTable::PastVersions | ServingTable::Attachments
        )
    }

    /// Its columns, in order.
    pub fn fields(self) -> &'static [Field] {
        match self {
            ServingTable::Inputs => &INPUTS,
            ServingTable::Captures => &CAPTURES,
            ServingTable::Aliases => &ALIASES,
            ServingTable::Versions => &VERSIONS,
            ServingTable::Outlinks => &OUTLINKS,
            ServingTable::Inlinks => &INLINKS,
            ServingTable::Uris => &URIS,
            ServingTable::Domains => &DOMAINS,
            ServingTable::Top => &TOP,
            ServingTable::Previews => &PREVIEWS,
            ServingTable::PastVersions => &PAST_VERSIONS,
            ServingTable::Attachments => &ATTACHMENTS,
        }
    }

    /// The columns of its table of first keys.
    pub(crate) fn first_fields(self) -> &'static [Field] {
        match self {
            ServingTable::Inputs => &FIRST_INPUTS,
            ServingTable::Captures | ServingTable::Attachments => &FIRST_CAPTURES,
            ServingTable::Aliases => &FIRST_ALIASES,
            ServingTable::Outlinks => &FIRST_OUTLINKS,
            ServingTable::Inlinks => &FIRST_INLINKS,
            ServingTable::Versions | ServingTable::Uris | ServingTable::Previews => &FIRST_URL_KEYS,
            ServingTable::PastVersions => &FIRST_PAST_VERSIONS,
            ServingTable::Domains => &FIRST_DOMAINS,
            ServingTable::Top => &FIRST_TOP,
        }
    }

    /// The columns that its rows are sorted by.
    pub(crate) fn key(self) -> &'static [Field] {
        &self.first_fields()[PLACE.len()..]
    }
}
