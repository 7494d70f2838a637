//! The table of the API. Routing, the checks of parameters and the OpenAPI document are all derived
//! from it.

use archive::question::{
    Attachments, CONTEXT_WORDS, Calendar, CdxQuestion, Collections, ConcordanceQuestion, Diff, Domain,
    DomainOrder, Domains, Events, ImagesQuestion, Inlinks, Job, Jobs, LINES_PER_PAGE, Ledger, LedgerState,
    LinkCounts, LinkFilter, ListedPages, MatchType, Outlinks, Page, Quarantine, Question, Record, Report,
    Rights, SearchQuestion, Stages, Status, Suggest, Takedowns, Top, Trends,
};
use cdx::url_pattern;

use super::cdx::post::PostOperation;
use super::cdx::{COLLECTION_INDEX, Server};
use super::cdx_parameters::{DELETE, OUTBACK_CDX, POST, PYWB, PYWB_IN_COLLECTION, WAYBACK_MACHINE};
use super::parameters::*;
use super::upload::UPLOAD_PATH;
use crate::arguments::{Arguments, Kind, Parameter};
use crate::failure::Failure;
use crate::limits::REPORT_CAPTURES_MAX;

/// One route of the API.
pub(crate) struct Endpoint {
    /// `get` or `post`.
    pub(crate) method: &'static str,
    /// Path, with `{name}` for a path parameter and `{*name}` for one that contains slashes.
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) serves: Serves,
}

/// The kind of response of a route.
pub(crate) enum Serves {
    /// The answer to a question, as JSON.
    Answer {
        /// Value of `answer` in the response.
        answer: &'static str,
        question: fn(&Arguments) -> Result<Question, Failure>,
    },
    /// Captures in the formats of other CDX servers, streamed.
    Cdx(Server),
    /// The result of a post of captures, as text. Only clients named in the settings may post.
    Post(PostOperation),
    /// The collections, for clients of CDX servers.
    Collections,
    /// All results of a search, streamed.
    Export,
    /// The newest results of a search, as a feed.
    Atom,
    /// A record's bytes.
    Record,
    /// Bytes of an input.
    Stored,
    /// State of the attached store.
    Store,
    /// Overview of the catalogue of files.
    Files,
    /// A directory of the catalogue of files.
    FilesTree,
    /// Metrics in the Prometheus text format.
    Metrics,
    /// The job started by a load. Only administrators may load, and only if the settings allow it.
    Load,
    /// The job that loads the body, which is stored as a file. Only administrators may upload.
    Upload,
    /// Whether a job could be cancelled, under the same conditions.
    Cancel,
}

/// All routes of the API, in the order of the document.
pub(crate) const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        method: "get",
        path: "/api/v1/status",
        summary: "Totals and state of the archive",
        parameters: &[],
        serves: Serves::Answer {
            answer: "status",
            question: |_| Ok(Question::Status(Status {})),
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/search",
        summary: "Full-text search in the current versions of pages; at:, from: or to: also search past \
            versions",
        parameters: &[
            required(
                "q",
                "words, \"phrases\", -words, OR, prefixes (archiv*), title:, url:, site:, suffix:, type:, \
                 lang:, year:, at:, from:, to:, collection:; `notes` lists parts that are ignored",
            ),
            limit(20),
            AFTER,
            query("explain", Kind::Flag, "explain the score of each result"),
            query(
                "facets",
                Kind::Flag,
                "count the results by domain, year, type, language, public suffix and collection",
            ),
            SORT,
            ALL_VERSIONS,
            query(
                "per_site",
                Kind::Number,
                "maximum number of results per registered domain; 0 for all",
            ),
            query(
                "distinct",
                Kind::Flag,
                "show only the first of results with the same content (payload digest)",
            ),
            query(
                "prefer",
                Kind::Text,
                "rank preferred pages higher among the best 1,000 results: lang:, site:, place:, \
                 collection:, type:, from: and to:; each raises the score by 20 per cent, or by N per cent \
                 with ^N",
            ),
            query(
                "near",
                Kind::Flag,
                "show only the first of results with nearly the same text; add `like` of a result to the \
                 query to find the others",
            ),
            query(
                "exact",
                Kind::Flag,
                "count all results; without it, more than 10,000 are not counted, unless `sort`, `facets`, \
                 `per_site`, `distinct` or `near` need all",
            ),
        ],
        serves: Serves::Answer {
            answer: "search",
            question: search,
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/search/concordance",
        summary: "Matches of a search in the texts of pages, each with the words before and after it",
        parameters: &[
            required("q", "as for /api/v1/search"),
            limit(100),
            AFTER,
            query(
                "per_page",
                Kind::Number,
                "maximum number of lines per page; default 5",
            ),
            query(
                "context",
                Kind::Number,
                "number of words on each side of a match, at most 50; default 8",
            ),
            SORT,
            ALL_VERSIONS,
        ],
        serves: Serves::Answer {
            answer: "concordance",
            question: concordance,
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/images",
        summary: "Images that current pages show, by the words that the pages say of them, or captured \
            images by what they look like",
        parameters: &[
            query(
                "q",
                Kind::Text,
                "as for /api/v1/search; ignored if `same` is given",
            ),
            query(
                "same",
                Kind::Text,
                "a perceptual hash: find all versions of captured images that look like the one with it",
            ),
            limit(20),
            AFTER,
            SORT,
            query(
                "every_page",
                Kind::Flag,
                "an image is a result for each page that shows it, and not once",
            ),
            FORMAT,
        ],
        serves: Serves::Answer {
            answer: "images",
            question: images,
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/suggest",
        summary: "Completions of the last word of a query, by the number of pages that contain it",
        parameters: &[required("q", "the text typed so far"), limit(8)],
        serves: Serves::Answer {
            answer: "suggestions",
            question: |a| {
                Ok(Question::Suggest(Suggest {
                    text: a.required("q"),
                    limit: rows(a),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/trends",
        summary: "Matching versions of pages per year, and all versions of that year, for up to five queries",
        parameters: &[
            Parameter {
                required: true,
                ..query(
                    "q",
                    Kind::Many,
                    "as for /api/v1/search; repeat it for each query to compare",
                )
            },
            FORMAT,
        ],
        serves: Serves::Answer {
            answer: "trends",
            question: |a| {
                Ok(Question::Trends(Trends {
                    queries: a.all("q").map(str::to_owned).collect(),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/events",
        summary: "Matching versions of pages per month, with the first and the most linked pages; per year \
            for more than 60 months",
        parameters: &[
            required(
                "q",
                "as for /api/v1/search; its from: and to: are the period if the parameters are absent",
            ),
            query(
                "from",
                Kind::Time,
                "the first month or year, as 1 to 14 digits; default: the first year with a match",
            ),
            query(
                "to",
                Kind::Time,
                "the last month or year; default: the last year with a match",
            ),
        ],
        serves: Serves::Answer {
            answer: "events",
            question: |a| {
                Ok(Question::Events(Events {
                    query: a.required("q"),
                    from: a.owned("from"),
                    to: a.owned("to"),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/report",
        summary: "Captures and bytes by host, status, type and month, failures and repeated fetches; of at \
            most 500,000 captures",
        parameters: &[
            query(
                "from",
                Kind::Time,
                "only captures at this time or later: 2014, 2014-01-26 or 20140126200624, in UTC",
            ),
            query("to", Kind::Time, "only captures at this time or earlier"),
            query("collection", Kind::Text, "only captures of this collection"),
        ],
        serves: Serves::Answer {
            answer: "report",
            question: |a| {
                Ok(Question::Report(Report {
                    from: a.owned("from"),
                    to: a.owned("to"),
                    collection: a.owned("collection"),
                    captures_max: Some(REPORT_CAPTURES_MAX),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/collections",
        summary: "The collections with their inputs, captures and times; reads at most 500,000 captures",
        parameters: &[],
        serves: Serves::Answer {
            answer: "collections",
            question: |_| {
                Ok(Question::Collections(Collections {
                    captures_max: Some(REPORT_CAPTURES_MAX),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/diff",
        summary: "Changes of a page between two of its versions",
        parameters: &[
            URL,
            query(
                "from",
                Kind::Time,
                "the version of this time; default: the one before `to`",
            ),
            query("to", Kind::Time, "the version of this time; default: the newest"),
        ],
        serves: Serves::Answer {
            answer: "diff",
            question: |a| {
                Ok(Question::Diff(Diff {
                    url: a.required("url"),
                    from: a.owned("from"),
                    to: a.owned("to"),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/search/export",
        summary: "All results of a search in the order of their URL keys, without a limit; if grouped, the \
            results shown, in the order of `sort`",
        parameters: &[
            required("q", "as for /api/v1/search"),
            query(
                "format",
                Kind::OneOf(&super::export::FORMATS),
                "one JSON object per line (default), comma-separated values, a Parquet file with the same \
                 columns, or the captures as CDXJ",
            ),
            ALL_VERSIONS,
            SORT,
            query(
                "per_site",
                Kind::Number,
                "maximum number of results per registered domain; 0 for all",
            ),
            query(
                "distinct",
                Kind::Flag,
                "only the first of results with the same content (payload digest)",
            ),
            query(
                "near",
                Kind::Flag,
                "only the first of results with nearly the same text",
            ),
        ],
        serves: Serves::Export,
    },
    Endpoint {
        method: "get",
        path: "/api/v1/page",
        summary: "Everything known about one URL",
        parameters: &[URL],
        serves: Serves::Answer {
            answer: "page",
            question: |a| {
                Ok(Question::Page(Page {
                    url: a.required("url"),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/attachments",
        summary: "What crawlers added to a page: rendered text, screenshots, lists of its requests",
        parameters: &[
            URL,
            query(
                "at",
                Kind::Moment,
                "of each address only the attachment nearest to this time, given to the second or millisecond",
            ),
        ],
        serves: Serves::Answer {
            answer: "attachments",
            question: |a| {
                Ok(Question::Attachments(Attachments {
                    url: a.required("url"),
                    at: a.owned("at"),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/calendar",
        summary: "Days on which a URL was captured, and how often its content changed",
        parameters: &[
            URL,
            query(
                "around",
                Kind::Time,
                "a time: lists the captures of its day and those next to it",
            ),
        ],
        serves: Serves::Answer {
            answer: "calendar",
            question: |a| {
                Ok(Question::Calendar(Calendar {
                    url: a.required("url"),
                    around: a.owned("around"),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/inlinks",
        summary: "Links to a URL, with their anchor texts",
        parameters: INLINKS,
        serves: Serves::Answer {
            answer: "links",
            question: |a| {
                Ok(Question::Inlinks(Inlinks {
                    limit: rows(a),
                    ..links(a)?
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/inlinks/counts",
        summary: "Numbers of links to a URL by anchor text, domain, page, URL linked to, or month. One answer \
            counts up to 10,000 links: add the counts of consecutive answers, or use `format`, up to 100,000 groups",
        parameters: LINK_COUNTS,
        serves: Serves::Answer {
            answer: "link_counts",
            question: |a| {
                Ok(Question::LinkCounts(LinkCounts {
                    links: links(a)?,
                    by: a.text("by").and_then(|by| by.parse().ok()).unwrap_or_default(),
                    first_links: 0,
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/outlinks",
        summary: "Links on a page",
        parameters: &[URL, AFTER, limit(100), FORMAT],
        serves: Serves::Answer {
            answer: "links",
            question: |a| {
                Ok(Question::Outlinks(Outlinks {
                    url: a.required("url"),
                    after: a.owned("after"),
                    limit: rows(a),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/domain",
        summary: "A domain: its size, its most linked pages and the domains that link to it",
        parameters: &[required(
            "name",
            "the registered domain, for example `example.co.uk`",
        )],
        serves: Serves::Answer {
            answer: "domain",
            question: |a| {
                Ok(Question::Domain(Domain {
                    name: a.required("name"),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/domains",
        summary: "All domains, by name, or those with the most pages or in-links from other domains first",
        parameters: &[
            query(
                "order",
                Kind::OneOf(&DomainOrder::NAMES),
                "default `name`; the other orders read all domains for each request",
            ),
            AFTER,
            limit(100),
            FORMAT,
        ],
        serves: Serves::Answer {
            answer: "domains",
            question: |a| {
                Ok(Question::Domains(Domains {
                    order: a.text("order").and_then(DomainOrder::named).unwrap_or_default(),
                    after: a.owned("after"),
                    limit: rows(a),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/top",
        summary: "The URIs with the most in-links from other domains, overall or of one domain",
        parameters: &[
            query("domain", Kind::Text, "only URIs of this domain"),
            AFTER,
            limit(100),
            FORMAT,
        ],
        serves: Serves::Answer {
            answer: "top",
            question: |a| {
                Ok(Question::Top(Top {
                    domain: a.owned("domain"),
                    after: a.owned("after"),
                    limit: rows(a),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/captures",
        summary: "Captures of a URL, a URL prefix, a host or a domain",
        parameters: CAPTURES,
        serves: Serves::Answer {
            answer: "cdx",
            question: captures,
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/pages",
        summary: "Pages listed in WACZ packages as those a crawl was meant for, each with its capture in \
            the package",
        parameters: &[
            query(
                "input",
                Kind::Text,
                "only pages of packages with this name, last part of a name, or a member of this name",
            ),
            query("collection", Kind::Text, "only pages of packages with this label"),
            query(
                "whole",
                Kind::Flag,
                "include everything that is listed of each page",
            ),
            AFTER,
            limit(100),
            FORMAT,
        ],
        serves: Serves::Answer {
            answer: "listed_pages",
            question: |a| {
                Ok(Question::ListedPages(ListedPages {
                    input: a.owned("input"),
                    collection: a.owned("collection"),
                    whole: a.flag("whole"),
                    after: a.owned("after"),
                    limit: rows(a),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/record",
        summary: "The capture nearest to a time, and where to get its record",
        parameters: RECORD,
        serves: Serves::Answer {
            answer: "record",
            question: |a| {
                Ok(Question::Record(Record {
                    url: a.required("url"),
                    at: a.owned("at"),
                    capture: a.owned("capture"),
                    fuzzy: false,
                    with_content: false,
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/stages",
        summary: "Statistics of the stages of loading",
        parameters: &[],
        serves: Serves::Answer {
            answer: "stages",
            question: |_| Ok(Question::Stages(Stages {})),
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/ledger",
        summary: "Inputs: progress and outcome of loading each",
        parameters: &[
            query(
                "state",
                Kind::OneOf(&["pending", "loading", "done", "failed", "cut", "missing"]),
                "only inputs in this state",
            ),
            query(
                "input",
                Kind::Text,
                "only inputs with this name, last part of a name, or digest",
            ),
            AFTER,
            limit(100),
        ],
        serves: Serves::Answer {
            answer: "ledger",
            question: |a| {
                Ok(Question::Ledger(Ledger {
                    state: a.text("state").and_then(LedgerState::of_name),
                    input: a.owned("input"),
                    after: a.owned("after"),
                    limit: rows(a),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/quarantine",
        summary: "Records that are damaged or could not be used, with reason and position",
        parameters: &[
            query("input", Kind::Text, "only records of this input"),
            AFTER,
            limit(100),
        ],
        serves: Serves::Answer {
            answer: "quarantine",
            question: |a| {
                Ok(Question::Quarantine(Quarantine {
                    input: a.owned("input"),
                    after: a.owned("after"),
                    limit: rows(a),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/takedowns",
        summary: "The register of takedowns: when, by whom, why and how much, but not what",
        parameters: &[],
        serves: Serves::Answer {
            answer: "takedowns",
            question: |_| Ok(Question::Takedowns(Takedowns {})),
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/rights",
        summary: "The access rules: who may see what, and what applies if no rule matches",
        parameters: &[query(
            "counts",
            Kind::Flag,
            "count the hosts, URLs and captures that each rule matches now",
        )],
        serves: Serves::Answer {
            answer: "rights",
            question: |a| {
                Ok(Question::Rights(Rights {
                    counts: a.flag("counts"),
                }))
            },
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/jobs",
        summary: "Loads, running and finished, since the archive was opened",
        parameters: &[],
        serves: Serves::Answer {
            answer: "jobs",
            question: |_| Ok(Question::Jobs(Jobs {})),
        },
    },
    Endpoint {
        method: "get",
        path: "/api/v1/jobs/{id}",
        summary: "Progress of one load",
        parameters: &[JOB],
        serves: Serves::Answer {
            answer: "job",
            question: |a| Ok(Question::Job(Job { id: a.number("id") })),
        },
    },
    Endpoint {
        method: "post",
        path: "/api/v1/loads",
        summary: "Start a load of inputs on the server's machine; only from that machine, and not with \
            `weft serve`, which has no option for it (403)",
        parameters: &[],
        serves: Serves::Load,
    },
    Endpoint {
        method: "post",
        path: UPLOAD_PATH,
        summary: "Store the body as a file in the archive's directory, and start a load of it; same \
            content under the same name is stored once, other content is refused (409)",
        parameters: UPLOAD,
        serves: Serves::Upload,
    },
    Endpoint {
        method: "post",
        path: "/api/v1/jobs/{id}/cancel",
        summary: "Stop a load; same conditions as for starting one",
        parameters: &[JOB],
        serves: Serves::Cancel,
    },
    Endpoint {
        method: "get",
        path: "/api/v1/store",
        summary: "The replicated store: nodes, volumes, workers, the last census; only if one is attached",
        parameters: &[],
        serves: Serves::Store,
    },
    Endpoint {
        method: "get",
        path: "/api/v1/files",
        summary: "The catalogue of files: trees, sizes, ages, owners, formats, growth, scans; only if \
            there is one",
        parameters: &[],
        serves: Serves::Files,
    },
    Endpoint {
        method: "get",
        path: "/api/v1/files/tree",
        summary: "The entries directly below a directory of the catalogue of files, largest first",
        parameters: FILES_TREE,
        serves: Serves::FilesTree,
    },
    Endpoint {
        method: "get",
        path: "/cdx",
        summary: "Captures in the format of pywb's CDXJ server, streamed; unknown parameters are ignored",
        parameters: PYWB,
        serves: Serves::Cdx(Server::Pywb),
    },
    Endpoint {
        method: "get",
        path: "/api/v1/cdx",
        summary: "Alias of /cdx",
        parameters: PYWB,
        serves: Serves::Cdx(Server::Pywb),
    },
    Endpoint {
        method: "get",
        path: "/{collection}/cdx",
        summary: "Captures of a collection, at the path that pywb uses",
        parameters: PYWB_IN_COLLECTION,
        serves: Serves::Cdx(Server::Pywb),
    },
    Endpoint {
        method: "get",
        path: COLLECTION_INDEX,
        summary: "Captures of a collection in the format of Common Crawl's index server; 404 if there are none",
        parameters: PYWB_IN_COLLECTION,
        serves: Serves::Cdx(Server::CommonCrawl),
    },
    Endpoint {
        method: "get",
        path: "/collinfo.json",
        summary: "The collections, in the format of Common Crawl's index server",
        parameters: &[],
        serves: Serves::Collections,
    },
    Endpoint {
        method: "get",
        path: "/outbackcdx/{collection}",
        summary: "Captures of a collection in the format of OutbackCDX, streamed; unknown parameters are \
            ignored",
        parameters: OUTBACK_CDX,
        serves: Serves::Cdx(Server::OutbackCdx),
    },
    Endpoint {
        method: "post",
        path: "/outbackcdx/{collection}",
        summary: "Add captures from lines of CDX or CDXJ, as in OutbackCDX; only with weft serve --posts \
            or --posts-group",
        parameters: POST,
        serves: Serves::Post(PostOperation::Add),
    },
    Endpoint {
        method: "post",
        path: "/outbackcdx/{collection}/delete",
        summary: "Delete posted captures, given as lines of the same formats; same condition",
        parameters: DELETE,
        serves: Serves::Post(PostOperation::Delete),
    },
    Endpoint {
        method: "get",
        path: "/cdx/search/cdx",
        summary: "Captures in the format of the Internet Archive's CDX server, streamed; unknown \
            parameters are ignored",
        parameters: WAYBACK_MACHINE,
        serves: Serves::Cdx(Server::WaybackMachine),
    },
    Endpoint {
        method: "get",
        path: "/search.atom",
        summary: "The most recently captured results of a search as an Atom feed: a saved search for feed \
            readers",
        parameters: &[
            required("q", "as for /api/v1/search"),
            limit(super::atom::ENTRIES),
            ALL_VERSIONS,
        ],
        serves: Serves::Atom,
    },
    Endpoint {
        method: "get",
        path: "/record",
        summary: "The stored record of a capture, as a file with one record",
        parameters: RECORD,
        serves: Serves::Record,
    },
    Endpoint {
        method: "get",
        path: "/record/{*file}",
        summary: "Bytes of an input as stored: one record, by offset and length or by a Range header; the \
            whole file for clients that may see all of it",
        parameters: STORED,
        serves: Serves::Stored,
    },
    Endpoint {
        method: "get",
        path: "/metrics",
        summary: "Metrics in Prometheus text format",
        parameters: &[],
        serves: Serves::Metrics,
    },
];

fn rows(arguments: &Arguments) -> usize {
    arguments.limit("limit").unwrap_or(crate::arguments::LIMIT_MAX)
}

fn search(arguments: &Arguments) -> Result<Question, Failure> {
    Ok(Question::Search(SearchQuestion {
        query: arguments.required("q"),
        limit: rows(arguments),
        after: arguments.owned("after"),
        explain: arguments.flag("explain"),
        facets: arguments.flag("facets"),
        order: search_order(arguments.text("sort")),
        all_versions: arguments.flag("all_versions"),
        per_site: usize::try_from(arguments.number("per_site")).unwrap_or(usize::MAX),
        distinct: arguments.flag("distinct"),
        prefer: arguments.owned("prefer").unwrap_or_default(),
        near: arguments.flag("near"),
        exact: arguments.flag("exact"),
    }))
}

fn images(arguments: &Arguments) -> Result<Question, Failure> {
    Ok(Question::Images(ImagesQuestion {
        query: arguments.owned("q").unwrap_or_default(),
        same: arguments.owned("same"),
        limit: rows(arguments),
        after: arguments.owned("after"),
        order: search_order(arguments.text("sort")),
        every_page: arguments.flag("every_page"),
    }))
}

fn concordance(arguments: &Arguments) -> Result<Question, Failure> {
    let number = |name: &str, default: usize| match arguments.text(name) {
        Some(_) => usize::try_from(arguments.number(name)).unwrap_or(usize::MAX),
        None => default,
    };
    Ok(Question::Concordance(ConcordanceQuestion {
        query: arguments.required("q"),
        limit: rows(arguments),
        per_page: number("per_page", LINES_PER_PAGE),
        context: number("context", CONTEXT_WORDS),
        after: arguments.owned("after"),
        order: search_order(arguments.text("sort")),
        all_versions: arguments.flag("all_versions"),
    }))
}

/// Returns the links that the parameters select.
fn links(arguments: &Arguments) -> Result<Inlinks, Failure> {
    let (url, match_type) = pattern(arguments)?;
    Ok(Inlinks {
        url: url.to_owned(),
        match_type,
        filter: LinkFilter {
            external: arguments.flag("external"),
            from_domain: arguments.owned("from_domain"),
            anchor: arguments.owned("anchor"),
            from: arguments.owned("from"),
            to: arguments.owned("to"),
        },
        after: arguments.owned("after"),
        limit: 0,
        at: arguments.owned("at"),
        ever: arguments.flag("ever"),
    })
}

/// Returns the URL without its star, and which URLs belong to it.
fn pattern(arguments: &Arguments) -> Result<(&str, MatchType), Failure> {
    let named = arguments.text("matchType").and_then(MatchType::named);
    let pattern = url_pattern(arguments.text("url").unwrap_or(""), named);
    pattern.map_err(|error| Failure::bad_request(error.to_string()))
}

fn captures(arguments: &Arguments) -> Result<Question, Failure> {
    let (url, match_type) = pattern(arguments)?;
    Ok(Question::Cdx(CdxQuestion {
        url: url.to_owned(),
        match_type,
        from: arguments.owned("from"),
        to: arguments.owned("to"),
        collection: arguments.owned("collection"),
        limit: rows(arguments),
        after: arguments.owned("after"),
        ..CdxQuestion::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::ParameterLocation;

    #[test]
    fn no_route_twice_and_path_parameters_agree_with_the_path() {
        for (i, endpoint) in ENDPOINTS.iter().enumerate() {
            let again = ENDPOINTS[..i]
                .iter()
                .any(|e| (e.method, e.path) == (endpoint.method, endpoint.path));
            assert!(!again, "{} twice", endpoint.path);
            for parameter in endpoint
                .parameters
                .iter()
                .filter(|p| p.place == ParameterLocation::Path)
            {
                // `{*name}` is a parameter that contains slashes.
                let path = endpoint.path.replace("{*", "{");
                let named = format!("{{{}}}", parameter.name);
                assert!(path.contains(&named), "{}", endpoint.path);
            }
        }
    }
}
