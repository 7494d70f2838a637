//! Parameters of CDX queries in the formats of other servers, and of posts. docs/cdx.md describes
//! what each means for each server.

use super::cdx::{LAST_MAX, RANGE};
use super::parameters::{CDX, query};
use crate::arguments::{Kind, Parameter, ParameterLocation};

const URL: Parameter = CDX[0];
const MATCH_TYPE: Parameter = CDX[1];
const FROM: Parameter = with_digits(CDX[2]);
const TO: Parameter = with_digits(CDX[3]);
const COLLECTION: Parameter = CDX[4];
const FILTER: Parameter = query(
    "filter",
    Kind::Many,
    "`[!][=~]field:text`; captures must pass all filters; docs/cdx.md describes the rules of each server",
);
const COLLAPSE: Parameter = query(
    "collapse",
    Kind::Many,
    "`field` or `field:CHARS`: omits captures whose field equals that of the previous one",
);
const COLLAPSE_TIME: Parameter = query(
    "collapseTime",
    Kind::Count(0),
    "number of timestamp digits: omits captures that share these leading digits and whose status is the \
     same (pywb) or no better (Internet Archive)",
);
const SORT: Parameter = query(
    "sort",
    Kind::OneOf(&["default", "regular", "reverse", "closest"]),
    "`default` sorts by key, then time; `closest` requires a time in `closest` and a single URL",
);
const CLOSEST: Parameter = query(
    "closest",
    Kind::TimeDigits,
    "a time: captures nearest to it come first",
);
const FL: Parameter = query(
    "fl",
    Kind::Text,
    "comma-separated fields, under the names used by any of the servers",
);
const LIMIT: Parameter = query(
    "limit",
    Kind::Count(-LAST_MAX),
    "maximum number of captures; a negative number selects the last ones, sort=reverse returns all from \
     the end; default: all",
);
const OFFSET: Parameter = query("offset", Kind::Count(0), "number of captures to skip");
const PAGE: Parameter = query("page", Kind::Count(-1), "page number, from 0; -1 selects no page");
const PAGE_SIZE: Parameter = query(
    "pageSize",
    Kind::Count(1),
    "blocks of 3,000 captures per page, at most 50; default 5",
);
const SHOW_NUM_PAGES: Parameter = query("showNumPages", Kind::Flag, "returns only the number of pages");
const SHOW_PAGED_INDEX: Parameter = query(
    "showPagedIndex",
    Kind::Flag,
    "returns the first capture of each block of the page instead of captures",
);
const RESUME_KEY: Parameter = query(
    "resumeKey",
    Kind::Text,
    "continues after the response that returned this key",
);
const SHOW_RESUME_KEY: Parameter = query(
    "showResumeKey",
    Kind::Flag,
    "if `limit` cuts the list off, an empty line and a key to continue with follow",
);
const RESOLVE_REVISITS: Parameter = query(
    "resolveRevisits",
    Kind::Flag,
    "adds the location of a revisit's content: orig.length, orig.offset, orig.filename",
);
const GZIP: Parameter = query("gzip", Kind::Flag, "0: do not compress the response");
const FILENAMES: Parameter = query(
    "filenames",
    Kind::OneOf(&["base", "path"]),
    "`base`: the last part of an input's name; `path`: the whole name",
);

/// Returns a parameter of a time as other servers take it, which may be no date.
const fn with_digits(time: Parameter) -> Parameter {
    Parameter {
        kind: Kind::TimeDigits,
        ..time
    }
}

const fn path(name: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: ParameterLocation::Path,
        kind: Kind::Text,
        required: true,
        about,
    }
}

const IN_COLLECTION: Parameter = path("collection", "a collection; `all` for the whole archive");

const LABEL: Parameter = path(
    "collection",
    "collection label of the posted captures; `all` for no label",
);

// Specific to pywb.
const PYWB_OUTPUT: Parameter = query(
    "output",
    Kind::OneOf(&["cdxj", "json", "ndjson", "text", "link"]),
    "`cdxj`: key, timestamp and a JSON object per line; `json`, `ndjson`: one object per line; `text`: \
     columns; `link`: links to captures",
);
const FIELDS: Parameter = query("fields", Kind::Text, "alias of `fl`, which it overrides");
const FROM_TS: Parameter = query("from_ts", Kind::TimeDigits, "alias of `from`, which it overrides");
const REVERSE: Parameter = query("reverse", Kind::Flag, "alias of sort=reverse");
const ALLOW_FUZZY: Parameter = query(
    "allowFuzzy",
    Kind::Flag,
    "if a URL was not captured, lists the captures that replay shows in its place",
);

// Specific to the Internet Archive.
const WAYBACK_OUTPUT: Parameter = query(
    "output",
    Kind::OneOf(&["text", "json", "link", "cdxj", "ndjson"]),
    "`text`: columns; `json`: arrays, column names first; `link`: a Memento TimeMap; `cdxj`, `ndjson`: \
     lines with objects",
);
const LAST: Parameter = query("last", Kind::Flag, "only the last capture");
const FAST_LATEST: Parameter = query(
    "fastLatest",
    Kind::Flag,
    "for a single URL without `limit`: the last 3,000 captures",
);
const SHOW_DUPE_COUNT: Parameter = query(
    "showDupeCount",
    Kind::Flag,
    "adds `dupecount`: number of previous captures in the response with the same digest",
);
const SHOW_SKIP_COUNT: Parameter = query(
    "showSkipCount",
    Kind::Flag,
    "adds `skipcount`: number of captures after each one that filters and collapsing omitted",
);
const SHOW_GROUP_COUNT: Parameter = query(
    "showGroupCount",
    Kind::Flag,
    "adds `groupcount`: `skipcount` plus the capture itself",
);
const SHOW_UNIQ_COUNT: Parameter = query(
    "showUniqCount",
    Kind::Flag,
    "adds `groupcount` and `uniqcount`: number of distinct digests of each capture and those omitted \
     after it",
);
const LAST_SKIP_TIMESTAMP: Parameter = query(
    "lastSkipTimestamp",
    Kind::Flag,
    "adds `endtimestamp`: time of the last capture omitted after each one",
);

// Specific to OutbackCDX.
const URL_OR_KEY: Parameter = Parameter {
    required: false,
    ..URL
};
const URLKEY: Parameter = query(
    "urlkey",
    Kind::Text,
    "a URL key, used unchanged, instead of `url`",
);
const OUTBACK_MATCH_TYPE: Parameter = query(
    "matchType",
    Kind::OneOf(&["default", "exact", "prefix", "host", "domain", RANGE]),
    "how the URL is matched; `range` selects all captures from its key on",
);
const METHOD: Parameter = query("method", Kind::Text, "method of the captured request, if not GET");
const REQUEST_BODY: Parameter = query(
    "requestBody",
    Kind::Text,
    "body of the captured request, in the form of a query string",
);
const OMIT_SELF_REDIRECTS: Parameter = query(
    "omitSelfRedirects",
    Kind::Flag,
    "no effect: the index does not contain the targets of redirects",
);
const COLLAPSE_TO_FIRST: Parameter = query("collapseToFirst", Kind::Text, "same as `collapse`");
const COLLAPSE_TO_LAST: Parameter = query(
    "collapseToLast",
    Kind::Text,
    "`field` or `field:CHARS`: omits captures whose field equals that of the next one",
);
const OUTBACK_LIMIT: Parameter = query(
    "limit",
    Kind::Count(0),
    "maximum number of captures; 0 returns none",
);
const OUTBACK_OUTPUT: Parameter = query(
    "output",
    Kind::OneOf(&["cdx", "text", "json", "jsondict", "cdxj"]),
    "`cdx`, `text`: columns; `json`: arrays with numbers, column names first; `jsondict`: objects; \
     `cdxj`: key, timestamp and an object",
);
const Q: Parameter = query(
    "q",
    Kind::Text,
    "an OpenSearch query as in OpenWayback: `type:urlquery url:...` or `type:prefixquery url:...`; the \
     response is XML",
);
const COUNT: Parameter = query("count", Kind::Count(0), "with `q`: maximum number of results");
const START_PAGE: Parameter = query(
    "start_page",
    Kind::Count(0),
    "with `q`: number of the page of results, from 1",
);

/// Parameters of the pywb endpoints. The collection is in the path (first) or in the query (last);
/// each endpoint has one of both.
const PYWB_ALL: &[Parameter] = &[
    IN_COLLECTION,
    URL,
    MATCH_TYPE,
    FROM,
    FROM_TS,
    TO,
    FILTER,
    COLLAPSE,
    COLLAPSE_TIME,
    SORT,
    REVERSE,
    CLOSEST,
    FIELDS,
    FL,
    LIMIT,
    OFFSET,
    PAGE,
    PAGE_SIZE,
    SHOW_NUM_PAGES,
    SHOW_PAGED_INDEX,
    RESUME_KEY,
    SHOW_RESUME_KEY,
    RESOLVE_REVISITS,
    ALLOW_FUZZY,
    GZIP,
    PYWB_OUTPUT,
    FILENAMES,
    COLLECTION,
];

/// Parameters of queries to the pywb endpoint.
pub(super) const PYWB: &[Parameter] = PYWB_ALL.split_at(1).1;

/// The same for addresses that name the collection.
pub(super) const PYWB_IN_COLLECTION: &[Parameter] = PYWB_ALL.split_at(PYWB_ALL.len() - 1).0;

/// Parameters of queries to the Internet Archive endpoint.
pub(super) const WAYBACK_MACHINE: &[Parameter] = &[
    URL,
    MATCH_TYPE,
    FROM,
    TO,
    COLLECTION,
    FILTER,
    COLLAPSE,
    COLLAPSE_TIME,
    SORT,
    CLOSEST,
    FL,
    LIMIT,
    LAST,
    FAST_LATEST,
    OFFSET,
    PAGE,
    PAGE_SIZE,
    SHOW_NUM_PAGES,
    SHOW_PAGED_INDEX,
    RESUME_KEY,
    SHOW_RESUME_KEY,
    RESOLVE_REVISITS,
    SHOW_DUPE_COUNT,
    SHOW_SKIP_COUNT,
    SHOW_GROUP_COUNT,
    LAST_SKIP_TIMESTAMP,
    SHOW_UNIQ_COUNT,
    GZIP,
    WAYBACK_OUTPUT,
    FILENAMES,
];
/// Parameters of queries to the OutbackCDX endpoint.
pub(super) const OUTBACK_CDX: &[Parameter] = &[
    IN_COLLECTION,
    URL_OR_KEY,
    URLKEY,
    OUTBACK_MATCH_TYPE,
    METHOD,
    REQUEST_BODY,
    FROM,
    TO,
    FILTER,
    COLLAPSE,
    COLLAPSE_TO_FIRST,
    COLLAPSE_TO_LAST,
    OMIT_SELF_REDIRECTS,
    SORT,
    CLOSEST,
    FL,
    OUTBACK_LIMIT,
    OUTBACK_OUTPUT,
    FILENAMES,
    Q,
    COUNT,
    START_PAGE,
];
pub(super) const POST: &[Parameter] = &[
    LABEL,
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
    LABEL,
    query(
        "loaded",
        Kind::OneOf(&["error", "skip"]),
        "`skip` skips captures that stay listed because their records or other indexes are loaded, instead \
         of rejecting the whole body",
    ),
];
