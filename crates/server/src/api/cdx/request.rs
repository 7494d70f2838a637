//! The parsed parameters of a CDX request.

use archive::question::{CdxQuestion, ResolveRevisits};
use cdx::{
    BLOCK_ROWS, Collapse, CollapseTime, Column, Dialect, Field, Filter, FilterError, Form, MatchType, Order,
    page_number, page_size, url_and_match,
};

use crate::arguments::Arguments;
use crate::failure::Failure;

/// Maximum number of captures returned from the end (a negative `limit`). They are held in memory
/// until the first of them is found.
pub(in crate::api) const LAST_MAX: i64 = 10_000;

/// Which of the matching captures to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    First(usize),
    /// In the order of all captures.
    Last(usize),
}

/// Output format of captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Rows(Form),
    /// Links to captures, as in a Memento TimeMap.
    Links,
}

/// A request with parsed parameters.
#[derive(Debug, Clone)]
pub(super) struct CdxRequest {
    pub(super) dialect: Dialect,
    pub(super) question: CdxQuestion,
    pub(super) output: Output,
    pub(super) columns: Option<Vec<Column>>,
    /// Columns added after those of the dialect, if `columns` are not chosen.
    pub(super) added: Vec<Field>,
    /// Whether earlier captures with the same digest are counted.
    pub(super) count_duplicates: bool,
    /// If set, only the last of adjacent captures with the same value is returned.
    pub(super) collapse_to_last: Option<Collapse>,
    /// Number of captures to skip before the first one returned.
    pub(super) offset: usize,
    pub(super) take: Take,
    /// Number of the page, from 0.
    pub(super) page: Option<usize>,
    /// Number of blocks of a page.
    pub(super) page_size: usize,
    /// Whether only the number of pages is requested.
    pub(super) page_count: bool,
    /// Whether only the places of blocks are requested.
    pub(super) paged_index: bool,
    pub(super) show_resume_key: bool,
    pub(super) compress: bool,
    /// Whether captures of a similar URL are returned if this one was not captured. Only
    /// insignificant parts of the URLs may differ.
    pub(super) allow_fuzzy: bool,
}

impl CdxRequest {
    /// Reads `arguments` as the server with this dialect would. `collection` is taken from the path
    /// or from a parameter.
    pub(super) fn parse(
        arguments: &Arguments,
        dialect: Dialect,
        collection: Option<String>,
    ) -> Result<CdxRequest, Failure> {
        let page = page_number(arguments.count("page"));
        let columns = first_of(arguments, &["fields", "fl"]).map(Column::list);
        let added = added(arguments, columns.as_deref().unwrap_or_default());
        let mut question = question(arguments, dialect)?;
        question.collection = collection;
        question.count_skipped = has_any(&added, &COUNTS);
        question.count_digests = has_any(&added, &[Field::UniqCount]);
        question.revisits = has_any(&added, &Field::ORIGINAL).then_some(match dialect {
            Dialect::Pywb => ResolveRevisits::BeforeFilters,
            Dialect::WaybackMachine | Dialect::OutbackCdx => ResolveRevisits::AfterFilters,
        });
        if page.is_some() && question.order != Order::Forward {
            return Err(Failure::bad_request(
                "`page` requires the default order: remove `sort` and `closest`",
            ));
        }
        let output = match arguments.text("output") {
            Some("link") => Output::Links,
            output => Output::Rows(Form::named(output, dialect)),
        };
        let take = take(arguments, dialect, question.match_type);
        let is_limited = matches!(take, Take::First(count) if count < usize::MAX);
        Ok(CdxRequest {
            dialect,
            output,
            offset: arguments
                .count("offset")
                .map_or(0, |count| usize::try_from(count).unwrap_or(0)),
            take,
            page,
            page_size: page_size(arguments.count("pageSize")),
            page_count: arguments.flag("showNumPages"),
            paged_index: arguments.flag("showPagedIndex"),
            // A TimeMap of a part always links to the next one.
            show_resume_key: arguments.flag("showResumeKey") || output == Output::Links && is_limited,
            compress: arguments.text("gzip").is_none() || arguments.flag("gzip"),
            count_duplicates: has_any(&added, &[Field::DupeCount]),
            collapse_to_last: collapse_to_last(arguments, dialect)?,
            columns,
            added,
            allow_fuzzy: dialect == Dialect::Pywb
                && arguments.flag("allowFuzzy")
                && question.match_type == MatchType::Exact,
            question,
        })
    }
}

/// Columns that count omitted captures.
const COUNTS: [Field; 4] = [
    Field::SkipCount,
    Field::GroupCount,
    Field::EndTimestamp,
    Field::UniqCount,
];

fn has_any(fields: &[Field], wanted: &[Field]) -> bool {
    fields.iter().any(|field| wanted.contains(field))
}

/// Returns the columns that flags add, and those of `columns` that are computed, in the order of
/// the Internet Archive.
fn added(arguments: &Arguments, columns: &[Column]) -> Vec<Field> {
    let chosen = |field: Field| columns.iter().any(|column| column.field() == Some(field));
    let flagged = [
        ("showSkipCount", Field::SkipCount),
        ("showGroupCount", Field::GroupCount),
        ("lastSkipTimestamp", Field::EndTimestamp),
        ("showUniqCount", Field::UniqCount),
        ("resolveRevisits", Field::OriginalLength),
        ("resolveRevisits", Field::OriginalOffset),
        ("resolveRevisits", Field::OriginalFilename),
        ("showDupeCount", Field::DupeCount),
    ];
    let wanted = flagged.into_iter().filter(|(flag, field)| {
        // As at the Internet Archive, one implies the other.
        let comes_along = *field == Field::GroupCount && arguments.flag("showUniqCount");
        arguments.flag(flag) || comes_along || chosen(*field)
    });
    wanted.map(|(_, field)| field).collect()
}

/// Returns the first of these parameters that is given.
fn first_of<'a>(arguments: &'a Arguments, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| arguments.text(name))
}

/// Returns the question in `arguments`, without the number of captures per request.
fn question(arguments: &Arguments, dialect: Dialect) -> Result<CdxQuestion, Failure> {
    let onward = arguments.text("matchType") == Some(RANGE);
    let named = arguments.text("matchType").and_then(MatchType::named);
    let (url, match_type, as_key) = match (arguments.text("url"), arguments.text("urlkey")) {
        (Some(url), None) => {
            let (url, match_type) = if onward {
                (url, MatchType::Exact)
            } else {
                url_and_match(url, named)
            };
            (with_method(url, arguments), match_type, false)
        }
        (None, Some(key)) => (key.to_owned(), named.unwrap_or_default(), true),
        _ => {
            return Err(Failure::bad_request(
                "expected either `url` (the URL of the captures) or `urlkey` (its key)",
            ));
        }
    };
    let filters = arguments.all("filter").map(|text| Filter::read(text, dialect));
    let collapse = arguments
        .all("collapse")
        .chain(arguments.text("collapseToFirst"))
        .map(|text| Collapse::read_as(text, dialect));
    let order = order(arguments, dialect);
    if onward && order != Order::Forward {
        return Err(Failure::bad_request(
            "matchType=range requires the default order: remove `sort` and `closest`",
        ));
    }
    Ok(CdxQuestion {
        url,
        match_type,
        as_key,
        onward,
        from: first_of(arguments, &["from", "from_ts"]).map(str::to_owned),
        to: arguments.owned("to"),
        after: arguments.owned("resumeKey"),
        filters: filters.collect::<Result<_, _>>().map_err(refused)?,
        collapse: collapse.collect::<Result<_, _>>().map_err(refused)?,
        collapse_any: dialect == Dialect::WaybackMachine,
        aliases: dialect == Dialect::OutbackCdx,
        collapse_time: collapse_time(arguments, dialect),
        order,
        base_names: arguments.text("filenames") != Some("path"),
        ..CdxQuestion::default()
    })
}

/// A match type that only OutbackCDX has: all captures from a key on.
pub(in crate::api) const RANGE: &str = "range";

/// Returns the URL that the index contains for a capture with a method other than GET (pywb's
/// `__wb_method`), built as in OutbackCDX.
fn with_method(url: &str, arguments: &Arguments) -> String {
    let method = arguments.text("method").unwrap_or("GET").to_ascii_uppercase();
    if method == "GET" {
        return url.to_owned();
    }
    let sign = if url.contains('?') { '&' } else { '?' };
    let escaped: String = url::form_urlencoded::byte_serialize(method.as_bytes()).collect();
    let body = arguments.text("requestBody").map(|body| format!("&{body}"));
    format!("{url}{sign}__wb_method={escaped}{}", body.unwrap_or_default())
}

fn collapse_time(arguments: &Arguments, dialect: Dialect) -> Option<CollapseTime> {
    let digits = usize::try_from(arguments.count("collapseTime")?).ok()?;
    (digits > 0).then_some(CollapseTime {
        digits,
        best_status: dialect == Dialect::WaybackMachine,
    })
}

/// Reads `collapseToLast`. As in OutbackCDX, `collapse` and `collapseToFirst` take precedence.
fn collapse_to_last(arguments: &Arguments, dialect: Dialect) -> Result<Option<Collapse>, Failure> {
    let is_to_first = first_of(arguments, &["collapse", "collapseToFirst"]).is_some();
    let text = arguments.text("collapseToLast").filter(|_| !is_to_first);
    text.map(|text| Collapse::read_as(text, dialect))
        .transpose()
        .map_err(refused)
}

/// Returns the order of captures. pywb orders by distance whenever a time is given. `sort=closest`
/// without a time, which it sends for whole calendars, has no effect.
fn order(arguments: &Arguments, dialect: Dialect) -> Order {
    let is_reverse = arguments.text("sort") == Some("reverse") || arguments.flag("reverse");
    match (arguments.text("sort"), arguments.owned("closest")) {
        (Some("closest"), Some(time)) => Order::Closest(time),
        // The others ignore `closest` unless `sort` is `closest`.
        (None, Some(time)) if dialect == Dialect::Pywb => Order::Closest(time),
        _ if is_reverse || arguments.flag("last") => Order::Reverse,
        _ => Order::Forward,
    }
}

/// Returns how many captures are requested, and from which end. 0 means all of them, except in
/// OutbackCDX.
fn take(arguments: &Arguments, dialect: Dialect, match_type: MatchType) -> Take {
    let all = Take::First(usize::MAX);
    let number = |n: i64| usize::try_from(n.unsigned_abs());
    if arguments.flag("last") {
        return Take::First(1);
    }
    match arguments.count("limit") {
        Some(0) if dialect == Dialect::OutbackCdx => Take::First(0),
        // The Internet Archive returns the captures of the last block.
        None if arguments.flag("fastLatest") && match_type == MatchType::Exact => Take::Last(BLOCK_ROWS),
        None | Some(0) => all,
        Some(first @ 1..) => number(first).map_or(all, Take::First),
        Some(last) => number(last).map_or(all, Take::Last),
    }
}

fn refused(error: FilterError) -> Failure {
    Failure::bad_request(error.to_string())
}
