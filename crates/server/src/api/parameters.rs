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
    query("limit", Kind::Limit(default), "most rows in the answer")
}

pub(super) const URL: Parameter = required("url", "a URL, or a URL key");
pub(super) const AFTER: Parameter = query(
    "after",
    Kind::Text,
    "`next` of the answer before, for the rows that follow",
);
pub(super) const INLINKS: &[Parameter] = &[
    URL,
    AFTER,
    limit(100),
    query(
        "at",
        Kind::Time,
        "the links of the versions that were current at the end of this time; 1 to 14 digits, in UTC",
    ),
    query("ever", Kind::Flag, "the links of all versions; not with `at`"),
];
pub(super) const SORT: Parameter = query(
    "sort",
    Kind::OneOf(&["relevance", "newest", "oldest", "url"]),
    "what comes first: the best match, what was captured last or first, or the least address",
);
pub(super) const ALL_VERSIONS: Parameter = query(
    "all_versions",
    Kind::Flag,
    "search past versions of pages, too, also without at:, from: or to:",
);
pub(super) const JOB: Parameter = Parameter {
    name: "id",
    place: Place::Path,
    kind: Kind::Number,
    required: true,
    about: "the job's number",
};
pub(super) const STORED: &[Parameter] = &[
    Parameter {
        name: "file",
        place: Place::Path,
        kind: Kind::Text,
        required: true,
        about: "the name of an input, or the last part of it, as /cdx gives both; slashes stay as they are",
    },
    query(
        "offset",
        Kind::Number,
        "where a record begins in the file, in bytes",
    ),
    query(
        "length",
        Kind::Number,
        "how many bytes from there; those of the record where nothing is said",
    ),
];
pub(super) const FILES_TREE: &[Parameter] = &[
    query(
        "path",
        Kind::Text,
        "an absolute path, its bytes escaped, UTF-8 or not; the trees themselves where none is given",
    ),
    query(
        "by",
        Kind::OneOf(ORDERS),
        "what the heaviest is; `size` where nothing is said",
    ),
    limit(200),
];
pub(super) const CDX: &[Parameter] = &[
    required(
        "url",
        "a URL; `example.com/*` asks for all that begins so, `*.example.com` for a whole domain",
    ),
    query(
        "matchType",
        Kind::OneOf(&MatchType::NAMES),
        "how the URL is matched; `exact` where nothing else is said",
    ),
    query(
        "from",
        Kind::Time,
        "captures at this time or later; 1 to 14 digits, in UTC",
    ),
    query(
        "to",
        Kind::Time,
        "captures at this time or earlier; a shorter one covers all it begins",
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
        "`[!][=~]field:text`, all of which must fit; docs/cdx.md says what each server means by it",
    );
    pub(super) const COLLAPSE: Parameter = query(
        "collapse",
        Kind::Many,
        "`field` or `field:CHARS`: leaves out captures equal to the one before",
    );
    pub(super) const COLLAPSE_TIME: Parameter = query(
        "collapseTime",
        Kind::Count(0),
        "leaves out captures whose time begins with the same so many digits, and whose status is the same or no better",
    );
    pub(super) const SORT: Parameter = query(
        "sort",
        Kind::OneOf(&["default", "regular", "reverse", "closest"]),
        "`default` is by key, then time; `closest` wants a time in `closest` and one URL",
    );
    pub(super) const CLOSEST: Parameter = query(
        "closest",
        Kind::Time,
        "the time that the captures nearest to it come first of",
    );
    pub(super) const FL: Parameter = query(
        "fl",
        Kind::Text,
        "fields, with commas between them, under the names of any of the servers",
    );
    pub(super) const LIMIT: Parameter = query(
        "limit",
        Kind::Count(-LAST_MAX),
        "most captures; a negative number asks for the last ones, and sort=reverse for all from the end; all there are \
         where absent",
    );
    pub(super) const OFFSET: Parameter =
        query("offset", Kind::Count(0), "captures passed over before the first");
    pub(super) const PAGE: Parameter = query(
        "page",
        Kind::Count(-1),
        "a page by its number, from 0; -1 is none",
    );
    pub(super) const PAGE_SIZE: Parameter = query(
        "pageSize",
        Kind::Count(1),
        "blocks of 3,000 captures in a page, 50 where more are asked for; 5 where absent",
    );
    pub(super) const SHOW_NUM_PAGES: Parameter =
        query("showNumPages", Kind::Flag, "gives the number of pages alone");
    pub(super) const SHOW_PAGED_INDEX: Parameter = query(
        "showPagedIndex",
        Kind::Flag,
        "gives the first capture of each block of the page, instead of captures",
    );
    pub(super) const RESUME_KEY: Parameter = query(
        "resumeKey",
        Kind::Text,
        "goes on where the answer with this key stopped",
    );
    pub(super) const SHOW_RESUME_KEY: Parameter = query(
        "showResumeKey",
        Kind::Flag,
        "if `limit` leaves captures out, a key to go on with follows an empty line",
    );
    pub(super) const RESOLVE_REVISITS: Parameter = query(
        "resolveRevisits",
        Kind::Flag,
        "adds where the content of a revisit is: orig.length, orig.offset, orig.filename",
    );
    pub(super) const GZIP: Parameter = query("gzip", Kind::Flag, "0 keeps the answer uncompressed");
    pub(super) const FILENAMES: Parameter = query(
        "filenames",
        Kind::OneOf(&["base", "path"]),
        "`base`: the last part of an input's name; `path`: all of it",
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
        path("collection", "a collection; `all` for everything in the archive");

    pub(super) const LABEL: Parameter = path("collection", "the label of what is posted; `all` for none");

    // Specific to pywb.
    pub(super) const PYWB_OUTPUT: Parameter = query(
        "output",
        Kind::OneOf(&["cdxj", "json", "ndjson", "text", "link"]),
        "`cdxj`: key, timestamp and a JSON object on each line; `json`, `ndjson`: one object a line; `text`: columns; \
         `link`: links to captures",
    );
    pub(super) const FIELDS: Parameter = query("fields", Kind::Text, "another name of `fl`, which wins");
    pub(super) const FROM_TS: Parameter = query("from_ts", Kind::Time, "another name of `from`, which wins");
    pub(super) const REVERSE: Parameter = query("reverse", Kind::Flag, "another name of sort=reverse");
    pub(super) const ALLOW_FUZZY: Parameter = query(
        "allowFuzzy",
        Kind::Flag,
        "where a URL was not captured, the captures of the one that replay shows in its place",
    );

    // Specific to the Internet Archive.
    pub(super) const WAYBACK_OUTPUT: Parameter = query(
        "output",
        Kind::OneOf(&["text", "json", "link", "cdxj", "ndjson"]),
        "`text`: columns; `json`: arrays, the names of columns first; `link`: a TimeMap of Memento; `cdxj`, `ndjson`: \
         lines with objects",
    );
    pub(super) const LAST: Parameter = query("last", Kind::Flag, "only the last capture");
    pub(super) const FAST_LATEST: Parameter = query(
        "fastLatest",
        Kind::Flag,
        "for one URL, without `limit`: the last 3,000 captures",
    );
    pub(super) const SHOW_DUPE_COUNT: Parameter = query(
        "showDupeCount",
        Kind::Flag,
        "adds `dupecount`: how many captures of the answer before had the same digest",
    );
    pub(super) const SHOW_SKIP_COUNT: Parameter = query(
        "showSkipCount",
        Kind::Flag,
        "adds `skipcount`: how many captures filters and collapsing left out behind each",
    );
    pub(super) const SHOW_GROUP_COUNT: Parameter = query(
        "showGroupCount",
        Kind::Flag,
        "adds `groupcount`: the same and the capture itself",
    );
    pub(super) const SHOW_UNIQ_COUNT: Parameter = query(
        "showUniqCount",
        Kind::Flag,
        "adds `groupcount` and `uniqcount`: how many different digests each and those left out behind it have",
    );
    pub(super) const LAST_SKIP_TIMESTAMP: Parameter = query(
        "lastSkipTimestamp",
        Kind::Flag,
        "adds `endtimestamp`: the time of the last capture left out behind each",
    );

    // Specific to OutbackCDX.
    pub(super) const URL_OR_KEY: Parameter = Parameter {
        required: false,
        ..URL
    };
    pub(super) const URLKEY: Parameter =
        query("urlkey", Kind::Text, "a URL key, used as it is, instead of `url`");
    pub(super) const OUTBACK_MATCH_TYPE: Parameter = query(
        "matchType",
        Kind::OneOf(&["default", "exact", "prefix", "host", "domain", RANGE]),
        "how the URL is matched; `range` is all captures from its key on",
    );
    pub(super) const METHOD: Parameter = query(
        "method",
        Kind::Text,
        "the method of the request that was captured, if not GET",
    );
    pub(super) const REQUEST_BODY: Parameter = query("requestBody", Kind::Text, "what it sent, as a query");
    pub(super) const OMIT_SELF_REDIRECTS: Parameter = query(
        "omitSelfRedirects",
        Kind::Flag,
        "without effect: the index does not have the targets of redirects",
    );
    pub(super) const COLLAPSE_TO_FIRST: Parameter = query("collapseToFirst", Kind::Text, "as `collapse`");
    pub(super) const COLLAPSE_TO_LAST: Parameter = query(
        "collapseToLast",
        Kind::Text,
        "`field` or `field:CHARS`: leaves out captures equal to the one that follows",
    );
    pub(super) const OUTBACK_LIMIT: Parameter = query("limit", Kind::Count(0), "most captures; 0 for none");
    pub(super) const OUTBACK_OUTPUT: Parameter = query(
        "output",
        Kind::OneOf(&["cdx", "text", "json", "jsondict", "cdxj"]),
        "`cdx`, `text`: columns; `json`: arrays with numbers, the names of columns first; `jsondict`: objects; `cdxj`: \
         key, timestamp and an object",
    );
    pub(super) const Q: Parameter = query(
        "q",
        Kind::Text,
        "an OpenSearch query of OpenWayback: `type:urlquery url:...` or `type:prefixquery url:...`, answered in XML",
    );
    pub(super) const COUNT: Parameter = query("count", Kind::Count(0), "with `q`: most results");
    pub(super) const START_PAGE: Parameter = query(
        "start_page",
        Kind::Count(0),
        "with `q`: a page of results, from 1",
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
        "`skip` leaves out lines that cannot be read, instead of refusing the whole body",
    ),
    query(
        "loaded",
        Kind::OneOf(&["error", "skip"]),
        "`skip` passes over captures that would be listed in another collection, because their records are loaded there, instead of \
         refusing the whole body",
    ),
];
pub(super) const DELETE: &[Parameter] = &[
    lines::LABEL,
    query(
        "loaded",
        Kind::OneOf(&["error", "skip"]),
        "`skip` passes over captures that stay listed, because their records or other indexes are loaded, instead of refusing \
         the whole body",
    ),
];
pub(super) const RECORD: &[Parameter] = &[
    URL,
    query(
        "at",
        Kind::Moment,
        "the capture nearest to this time, to the second or the millisecond; the current version where absent. Of \
         several captures of one second it is the current version, else one with status 2xx, else the latest",
    ),
    query(
        "capture",
        Kind::Text,
        "exactly this capture of the URL, whatever the time: its offset, a comma, and the name of its input (`filename`)",
    ),
];
