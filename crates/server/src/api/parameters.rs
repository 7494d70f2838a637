//! Parameters of routes, and those that several have in common.

use archive::question::MatchType;

use super::cdx::LAST_MAX;
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
pub(super) const CDX_LINES: &[Parameter] = &[
    CDX[0],
    CDX[1],
    CDX[2],
    CDX[3],
    CDX[4],
    query(
        "filter",
        Kind::Many,
        "`[!][=~]field:text`, all of which must fit; docs/cdx.md says what each server means by it",
    ),
    query(
        "collapse",
        Kind::Many,
        "`field` or `field:CHARS`: leaves out captures equal to the one before",
    ),
    query(
        "sort",
        Kind::OneOf(&["default", "reverse", "closest"]),
        "`default` is by key, then time; `closest` wants a time in `closest` and one URL",
    ),
    query(
        "closest",
        Kind::Time,
        "the time that the captures nearest to it come first of",
    ),
    query(
        "fl",
        Kind::Text,
        "fields, with commas between them, under the names of either server",
    ),
    query(
        "limit",
        Kind::Count(-LAST_MAX),
        "most captures; a negative number asks for the last ones, and sort=reverse for all from the end; all there are \
         where absent",
    ),
    query("offset", Kind::Count(0), "captures passed over before the first"),
    query(
        "page",
        Kind::Count(-1),
        "a page by its number, from 0; -1 is none",
    ),
    query(
        "pageSize",
        Kind::Count(1),
        "blocks of 3,000 captures in a page, 50 where more are asked for; 5 where absent",
    ),
    query("showNumPages", Kind::Flag, "gives the number of pages alone"),
    query(
        "resumeKey",
        Kind::Text,
        "goes on where the answer with this key stopped",
    ),
    query(
        "showResumeKey",
        Kind::Flag,
        "if `limit` leaves captures out, a key to go on with follows an empty line",
    ),
    query("gzip", Kind::Flag, "0 keeps the answer uncompressed"),
    query(
        "output",
        Kind::OneOf(&["cdxj", "json", "ndjson", "text"]),
        "`cdxj`: key, timestamp and a JSON object on each line; `json`: arrays, the names of columns first; `ndjson`: \
         one object a line; `text`: columns",
    ),
    query(
        "filenames",
        Kind::OneOf(&["base", "path"]),
        "`base`: the last part of an input's name; `path`: all of it",
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
