//! Parameters of routes, including those that several routes share.

use archive::question::{LinkGrouping, MatchType, SearchOrder};

use super::files::ORDERS;
use crate::arguments::{Kind, Parameter, ParameterLocation};

pub(super) const fn query(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: ParameterLocation::Query,
        kind,
        required: false,
        about,
    }
}

pub(super) const fn required(name: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: ParameterLocation::Query,
        kind: Kind::Text,
        required: true,
        about,
    }
}

pub(super) const fn limit(default: usize) -> Parameter {
    query(
        "limit",
        Kind::Limit(default),
        "maximum number of rows in the response",
    )
}

pub(super) const URL: Parameter = required("url", "a URL or a URL key");
pub(super) const AFTER: Parameter = query(
    "after",
    Kind::Text,
    "`next` of the previous response, to get the rows that follow",
);
/// Formats in which a list can be downloaded.
pub(super) const TABLES: [&str; 3] = ["jsonl", "csv", "parquet"];
pub(super) const FORMAT: Parameter = query(
    "format",
    Kind::OneOf(&TABLES),
    "return a file with all rows instead of a JSON answer; `limit` is not used",
);
const MATCH: Parameter = query(
    "matchType",
    Kind::OneOf(&MatchType::NAMES),
    "which URLs belong to `url`; by default a star says so: `example.org/*` is a prefix, `*.example.org` a domain",
);
const EXTERNAL: Parameter = query("external", Kind::Flag, "only links from other registered domains");
const FROM_DOMAIN: Parameter = query(
    "from_domain",
    Kind::Text,
    "only links from pages of this domain and its subdomains",
);
const ANCHOR: Parameter = query(
    "anchor",
    Kind::Text,
    "only links whose anchor text contains this text, in any case",
);
const LINKED_FROM: Parameter = query(
    "from",
    Kind::Time,
    "only links from pages captured at this time or later: 2014, 2014-01-26 or 20140126200624, in UTC",
);
const LINKED_TO: Parameter = query(
    "to",
    Kind::Time,
    "only links from pages captured at this time or earlier, in UTC; a shorter time, such as a year, is included to its end",
);
const LINKED_AT: Parameter = query(
    "at",
    Kind::Time,
    "links of the versions that were current at the end of this time: 2014, 2014-01-26 or 20140126200624, in UTC",
);
const LINKED_EVER: Parameter = query(
    "ever",
    Kind::Flag,
    "links of all versions; cannot be combined with `at`",
);
pub(super) const INLINKS: &[Parameter] = &[
    URL,
    MATCH,
    EXTERNAL,
    FROM_DOMAIN,
    ANCHOR,
    LINKED_FROM,
    LINKED_TO,
    LINKED_AT,
    LINKED_EVER,
    AFTER,
    limit(100),
    FORMAT,
];
pub(super) const LINK_COUNTS: &[Parameter] = &[
    URL,
    query(
        "by",
        Kind::OneOf(&LinkGrouping::NAMES),
        "what to count by: default `anchor`; `month` is that of the capture of the page",
    ),
    MATCH,
    EXTERNAL,
    FROM_DOMAIN,
    ANCHOR,
    LINKED_FROM,
    LINKED_TO,
    LINKED_AT,
    LINKED_EVER,
    AFTER,
    query(
        "format",
        Kind::OneOf(&TABLES),
        "return a file with the counts of all links, instead of a JSON answer about a part of them",
    ),
];
pub(super) const SORT: Parameter = query(
    "sort",
    Kind::OneOf(&["relevance", "newest", "oldest", "url"]),
    "order of the results: best match, newest capture or oldest capture first, or by URL",
);
/// Returns the search order with this name, or relevance if the name is unknown.
pub(crate) fn search_order(name: Option<&str>) -> SearchOrder {
    match name {
        Some("newest") => SearchOrder::Newest,
        Some("oldest") => SearchOrder::Oldest,
        Some("url") => SearchOrder::Url,
        _ => SearchOrder::Relevance,
    }
}

pub(super) const ALL_VERSIONS: Parameter = query(
    "all_versions",
    Kind::Flag,
    "also search past versions of pages, even without at:, from: or to:",
);
pub(super) const JOB: Parameter = Parameter {
    name: "id",
    place: ParameterLocation::Path,
    kind: Kind::Number,
    required: true,
    about: "number of the job",
};
pub(super) const UPLOAD: &[Parameter] = &[
    required(
        "name",
        "name of the file, which decides whether it can be loaded, such as `crawl.wacz` or \
         `crawl.warc.gz`; folders are removed, and unusual characters become `_`",
    ),
    query("collection", Kind::Text, "label to give to the input"),
];
pub(super) const STORED: &[Parameter] = &[
    Parameter {
        name: "file",
        place: ParameterLocation::Path,
        kind: Kind::Text,
        required: true,
        about: "name of an input or its last part, as listed by /cdx; slashes are not percent-encoded",
    },
    query("offset", Kind::Number, "offset of a record in the file, in bytes"),
    query(
        "length",
        Kind::Number,
        "number of bytes from there; default: the length of the record",
    ),
];
pub(super) const FILES_TREE: &[Parameter] = &[
    query(
        "path",
        Kind::Text,
        "an absolute path, percent-encoded, not necessarily UTF-8; if absent, the trees are listed",
    ),
    query(
        "by",
        Kind::OneOf(ORDERS),
        "what entries are sorted by, largest first; default `size`",
    ),
    limit(200),
];
pub(super) const CDX: &[Parameter] = &[
    required(
        "url",
        "a URL; `example.com/*` selects all URLs with this prefix, `*.example.com` a whole domain",
    ),
    query(
        "matchType",
        Kind::OneOf(&MatchType::NAMES),
        "how the URL is matched; default `exact`",
    ),
    query(
        "from",
        Kind::Time,
        "captures at this time or later: 2014, 2014-01-26 or 20140126200624, in UTC",
    ),
    query(
        "to",
        Kind::Time,
        "captures at this time or earlier; a shorter time, such as a year, is included to its end",
    ),
    query("collection", Kind::Text, "only captures of this collection"),
];
pub(super) const CAPTURES: &[Parameter] =
    &[CDX[0], CDX[1], CDX[2], CDX[3], CDX[4], AFTER, limit(100), FORMAT];
pub(super) const RECORD: &[Parameter] = &[
    URL,
    query(
        "at",
        Kind::Moment,
        "the capture nearest to this time, given to the second or millisecond; default: the current version. \
         Among captures of the same second, prefers the current version, then one with status 2xx, then the \
         latest",
    ),
    query(
        "capture",
        Kind::Text,
        "exactly this capture of the URL, regardless of `at`: its offset, a comma and the name of its \
         input (`filename`)",
    ),
];
