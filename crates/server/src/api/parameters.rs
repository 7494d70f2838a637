//! Parameters of routes, including those that several routes share.

use archive::question::MatchType;

use super::cdx::{LAST_MAX, RANGE};
use super::files::ORDERS;
use crate::arguments::{Kind, Parameter, Place};

pub(super) const fn query(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Query,
        kind,
        required: false,
        about,
    }
}

pub(super) const fn required(name: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Query,
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
pub(super) const INLINKS: &[Parameter] = &[
    URL,
    AFTER,
    limit(100),
    query(
        "at",
        Kind::Time,
        "links of the versions that were current at the end of this time; 1 to 14 digits, in UTC",
    ),
    query(
        "ever",
        Kind::Flag,
        "links of all versions; cannot be combined with `at`",
    ),
];
pub(super) const SORT: Parameter = query(
    "sort",
    Kind::OneOf(&["relevance", "newest", "oldest", "url"]),
    "order of the results: best match, newest capture or oldest capture first, or by URL",
);
pub(super) const ALL_VERSIONS: Parameter = query(
    "all_versions",
    Kind::Flag,
    "also search past versions of pages, even without at:, from: or to:",
);
pub(super) const JOB: Parameter = Parameter {
    name: "id",
    place: Place::Path,
    kind: Kind::Number,
    required: true,
    about: "number of the job",
};
pub(super) const STORED: &[Parameter] = &[
    Parameter {
        name: "file",
        place: Place::Path,
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
        "captures at this time or later; 1 to 14 digits, in UTC",
    ),
    query(
        "to",
        Kind::Time,
        "captures at this time or earlier; a shorter time, such as a year, is included to its end",
    ),
    query("collection", Kind::Text, "only captures of this collection"),
];
pub(super) const CAPTURES: &[Parameter] = &[CDX[0], CDX[1], CDX[2], CDX[3], CDX[4], AFTER, limit(100)];
/// Parameters of CDX queries in the formats of other servers. docs/cdx.md describes what each means
/// for each server.
mod lines {
    use super::{CDX, Kind, LAST_MAX, Parameter, Place, RANGE, query};

    pub(super) const URL: Parameter = CDX[0];
    pub(super) const MATCH_TYPE: Parameter = CDX[1];
    pub(super) const FROM: Parameter = CDX[2];
    pub(super) const TO: Parameter = CDX[3];
    pub(super) const COLLECTION: Parameter = CDX[4];
    pub(super) const FILTER: Parameter = query(
        "filter",
        Kind::Many,
        "`[!][=~]field:text`; captures must pass all filters; docs/cdx.md describes the rules of each server",
    );
    pub(super) const COLLAPSE: Parameter = query(
        "collapse",
        Kind::Many,
        "`field` or `field:CHARS`: omits captures whose field equals that of the previous one",
    );
    pub(super) const COLLAPSE_TIME: Parameter = query(
        "collapseTime",
        Kind::Count(0),
        "number of timestamp digits: omits captures that share these leading digits and whose status is the \
         same (pywb) or no better (Internet Archive)",
    );
    pub(super) const SORT: Parameter = query(
        "sort",
        Kind::OneOf(&["default", "regular", "reverse", "closest"]),
        "`default` sorts by key, then time; `closest` requires a time in `closest` and a single URL",
    );
    pub(super) const CLOSEST: Parameter =
        query("closest", Kind::Time, "a time: captures nearest to it come first");
    pub(super) const FL: Parameter = query(
        "fl",
        Kind::Text,
        "comma-separated fields, under the names used by any of the servers",
    );
    pub(super) const LIMIT: Parameter = query(
        "limit",
        Kind::Count(-LAST_MAX),
        "maximum number of captures; a negative number selects the last ones, sort=reverse returns all from \
         the end; default: all",
    );
    pub(super) const OFFSET: Parameter = query("offset", Kind::Count(0), "number of captures to skip");
    pub(super) const PAGE: Parameter =
        query("page", Kind::Count(-1), "page number, from 0; -1 selects no page");
    pub(super) const PAGE_SIZE: Parameter = query(
        "pageSize",
        Kind::Count(1),
        "blocks of 3,000 captures per page, at most 50; default 5",
    );
    pub(super) const SHOW_NUM_PAGES: Parameter =
        query("showNumPages", Kind::Flag, "returns only the number of pages");
    pub(super) const SHOW_PAGED_INDEX: Parameter = query(
        "showPagedIndex",
        Kind::Flag,
        "returns the first capture of each block of the page instead of captures",
    );
    pub(super) const RESUME_KEY: Parameter = query(
        "resumeKey",
        Kind::Text,
        "continues after the response that returned this key",
    );
    pub(super) const SHOW_RESUME_KEY: Parameter = query(
        "showResumeKey",
        Kind::Flag,
        "if `limit` cuts the list off, an empty line and a key to continue with follow",
    );
    pub(super) const RESOLVE_REVISITS: Parameter = query(
        "resolveRevisits",
        Kind::Flag,
        "adds the location of a revisit's content: orig.length, orig.offset, orig.filename",
    );
    pub(super) const GZIP: Parameter = query("gzip", Kind::Flag, "0: do not compress the response");
    pub(super) const FILENAMES: Parameter = query(
        "filenames",
        Kind::OneOf(&["base", "path"]),
        "`base`: the last part of an input's name; `path`: the whole name",
    );

    pub(super) const fn path(name: &'static str, about: &'static str) -> Parameter {
        Parameter {
            name,
            place: Place::Path,
            kind: Kind::Text,
            required: true,
            about,
        }
    }

    pub(super) const IN_COLLECTION: Parameter =
        path("collection", "a collection; `all` for the whole archive");

    pub(super) const LABEL: Parameter = path(
        "collection",
        "collection label of the posted captures; `all` for no label",
    );

    // Specific to pywb.
    pub(super) const PYWB_OUTPUT: Parameter = query(
        "output",
        Kind::OneOf(&["cdxj", "json", "ndjson", "text", "link"]),
        "`cdxj`: key, timestamp and a JSON object per line; `json`, `ndjson`: one object per line; `text`: \
         columns; `link`: links to captures",
    );
    pub(super) const FIELDS: Parameter = query("fields", Kind::Text, "alias of `fl`, which it overrides");
    pub(super) const FROM_TS: Parameter = query("from_ts", Kind::Time, "alias of `from`, which it overrides");
    pub(super) const REVERSE: Parameter = query("reverse", Kind::Flag, "alias of sort=reverse");
    pub(super) const ALLOW_FUZZY: Parameter = query(
        "allowFuzzy",
        Kind::Flag,
        "if a URL was not captured, lists the captures that replay shows in its place",
    );

    // Specific to the Internet Archive.
    pub(super) const WAYBACK_OUTPUT: Parameter = query(
        "output",
        Kind::OneOf(&["text", "json", "link", "cdxj", "ndjson"]),
        "`text`: columns; `json`: arrays, column names first; `link`: a Memento TimeMap; `cdxj`, `ndjson`: \
         lines with objects",
    );
    pub(super) const LAST: Parameter = query("last", Kind::Flag, "only the last capture");
    pub(super) const FAST_LATEST: Parameter = query(
        "fastLatest",
        Kind::Flag,
        "for a single URL without `limit`: the last 3,000 captures",
    );
    pub(super) const SHOW_DUPE_COUNT: Parameter = query(
        "showDupeCount",
        Kind::Flag,
        "adds `dupecount`: number of previous captures in the response with the same digest",
    );
    pub(super) const SHOW_SKIP_COUNT: Parameter = query(
        "showSkipCount",
        Kind::Flag,
        "adds `skipcount`: number of captures after each one that filters and collapsing omitted",
    );
    pub(super) const SHOW_GROUP_COUNT: Parameter = query(
        "showGroupCount",
        Kind::Flag,
        "adds `groupcount`: `skipcount` plus the capture itself",
    );
    pub(super) const SHOW_UNIQ_COUNT: Parameter = query(
        "showUniqCount",
        Kind::Flag,
        "adds `groupcount` and `uniqcount`: number of distinct digests of each capture and those omitted \
         after it",
    );
    pub(super) const LAST_SKIP_TIMESTAMP: Parameter = query(
        "lastSkipTimestamp",
        Kind::Flag,
        "adds `endtimestamp`: time of the last capture omitted after each one",
    );

    // Specific to OutbackCDX.
    pub(super) const URL_OR_KEY: Parameter = Parameter {
        required: false,
        ..URL
    };
    pub(super) const URLKEY: Parameter = query(
        "urlkey",
        Kind::Text,
        "a URL key, used unchanged, instead of `url`",
    );
    pub(super) const OUTBACK_MATCH_TYPE: Parameter = query(
        "matchType",
        Kind::OneOf(&["default", "exact", "prefix", "host", "domain", RANGE]),
        "how the URL is matched; `range` selects all captures from its key on",
    );
    pub(super) const METHOD: Parameter =
        query("method", Kind::Text, "method of the captured request, if not GET");
    pub(super) const REQUEST_BODY: Parameter = query(
        "requestBody",
        Kind::Text,
        "body of the captured request, in the form of a query string",
    );
    pub(super) const OMIT_SELF_REDIRECTS: Parameter = query(
        "omitSelfRedirects",
        Kind::Flag,
        "no effect: the index does not contain the targets of redirects",
    );
    pub(super) const COLLAPSE_TO_FIRST: Parameter =
        query("collapseToFirst", Kind::Text, "same as `collapse`");
    pub(super) const COLLAPSE_TO_LAST: Parameter = query(
        "collapseToLast",
        Kind::Text,
        "`field` or `field:CHARS`: omits captures whose field equals that of the next one",
    );
    pub(super) const OUTBACK_LIMIT: Parameter = query(
        "limit",
        Kind::Count(0),
        "maximum number of captures; 0 returns none",
    );
    pub(super) const OUTBACK_OUTPUT: Parameter = query(
        "output",
        Kind::OneOf(&["cdx", "text", "json", "jsondict", "cdxj"]),
        "`cdx`, `text`: columns; `json`: arrays with numbers, column names first; `jsondict`: objects; \
         `cdxj`: key, timestamp and an object",
    );
    pub(super) const Q: Parameter = query(
        "q",
        Kind::Text,
        "an OpenSearch query as in OpenWayback: `type:urlquery url:...` or `type:prefixquery url:...`; the \
         response is XML",
    );
    pub(super) const COUNT: Parameter = query("count", Kind::Count(0), "with `q`: maximum number of results");
    pub(super) const START_PAGE: Parameter = query(
        "start_page",
        Kind::Count(0),
        "with `q`: number of the page of results, from 1",
    );
}

/// Parameters of queries to the pywb endpoint.
pub(super) const PYWB: &[Parameter] = &[
    lines::URL,
    lines::MATCH_TYPE,
    lines::FROM,
    lines::FROM_TS,
    lines::TO,
    lines::FILTER,
    lines::COLLAPSE,
    lines::COLLAPSE_TIME,
    lines::SORT,
    lines::REVERSE,
    lines::CLOSEST,
    lines::FIELDS,
    lines::FL,
    lines::LIMIT,
    lines::OFFSET,
    lines::PAGE,
    lines::PAGE_SIZE,
    lines::SHOW_NUM_PAGES,
    lines::SHOW_PAGED_INDEX,
    lines::RESUME_KEY,
    lines::SHOW_RESUME_KEY,
    lines::RESOLVE_REVISITS,
    lines::ALLOW_FUZZY,
    lines::GZIP,
    lines::PYWB_OUTPUT,
    lines::FILENAMES,
    lines::COLLECTION,
];
/// The same for addresses that name the collection.
pub(super) const PYWB_IN_COLLECTION: &[Parameter] = &[
    lines::IN_COLLECTION,
    lines::URL,
    lines::MATCH_TYPE,
    lines::FROM,
    lines::FROM_TS,
    lines::TO,
    lines::FILTER,
    lines::COLLAPSE,
    lines::COLLAPSE_TIME,
    lines::SORT,
    lines::REVERSE,
    lines::CLOSEST,
    lines::FIELDS,
    lines::FL,
    lines::LIMIT,
    lines::OFFSET,
    lines::PAGE,
    lines::PAGE_SIZE,
    lines::SHOW_NUM_PAGES,
    lines::SHOW_PAGED_INDEX,
    lines::RESUME_KEY,
    lines::SHOW_RESUME_KEY,
    lines::RESOLVE_REVISITS,
    lines::ALLOW_FUZZY,
    lines::GZIP,
    lines::PYWB_OUTPUT,
    lines::FILENAMES,
];
/// Parameters of queries to the Internet Archive endpoint.
pub(super) const WAYBACK_MACHINE: &[Parameter] = &[
    lines::URL,
    lines::MATCH_TYPE,
    lines::FROM,
    lines::TO,
    lines::COLLECTION,
    lines::FILTER,
    lines::COLLAPSE,
    lines::COLLAPSE_TIME,
    lines::SORT,
    lines::CLOSEST,
    lines::FL,
    lines::LIMIT,
    lines::LAST,
    lines::FAST_LATEST,
    lines::OFFSET,
    lines::PAGE,
    lines::PAGE_SIZE,
    lines::SHOW_NUM_PAGES,
    lines::SHOW_PAGED_INDEX,
    lines::RESUME_KEY,
    lines::SHOW_RESUME_KEY,
    lines::RESOLVE_REVISITS,
    lines::SHOW_DUPE_COUNT,
    lines::SHOW_SKIP_COUNT,
    lines::SHOW_GROUP_COUNT,
    lines::LAST_SKIP_TIMESTAMP,
    lines::SHOW_UNIQ_COUNT,
    lines::GZIP,
    lines::WAYBACK_OUTPUT,
    lines::FILENAMES,
];
/// Parameters of queries to the OutbackCDX endpoint.
pub(super) const OUTBACK_CDX: &[Parameter] = &[
    lines::IN_COLLECTION,
    lines::URL_OR_KEY,
    lines::URLKEY,
    lines::OUTBACK_MATCH_TYPE,
    lines::METHOD,
    lines::REQUEST_BODY,
    lines::FROM,
    lines::TO,
    lines::FILTER,
    lines::COLLAPSE,
    lines::COLLAPSE_TO_FIRST,
    lines::COLLAPSE_TO_LAST,
    lines::OMIT_SELF_REDIRECTS,
    lines::SORT,
    lines::CLOSEST,
    lines::FL,
    lines::OUTBACK_LIMIT,
    lines::OUTBACK_OUTPUT,
    lines::FILENAMES,
    lines::Q,
    lines::COUNT,
    lines::START_PAGE,
];
pub(super) const POST: &[Parameter] = &[
    lines::LABEL,
    query(
        "badLines",
        Kind::OneOf(&["error", "skip"]),
        "`skip` skips lines that cannot be parsed, instead of rejecting the whole body",
    ),
    query(
        "loaded",
        Kind::OneOf(&["error", "skip"]),
        "`skip` skips captures that would be listed in another collection because their records are loaded \
         there, instead of rejecting the whole body",
    ),
];
pub(super) const DELETE: &[Parameter] = &[
    lines::LABEL,
    query(
        "loaded",
        Kind::OneOf(&["error", "skip"]),
        "`skip` skips captures that stay listed because their records or other indexes are loaded, instead \
         of rejecting the whole body",
    ),
];
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
