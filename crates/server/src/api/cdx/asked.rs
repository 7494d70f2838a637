//! What a request to a CDX address asks for.

use archive::cdx::{
    Collapse, Column, Dialect, Filter, FilterError, Form, MatchType, Order, page_number, page_size,
    url_and_match,
};
use archive::question::CdxQuestion;

use crate::arguments::Arguments;
use crate::failure::Failure;

/// Most captures returned from the end (a `limit` below 0). They are kept in memory until the first of them
/// is found.
pub(in crate::api) const LAST_MAX: i64 = 10_000;

/// Which of the matching captures to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    First(usize),
    /// In the order that they have among all captures.
    Last(usize),
}

/// A request whose parameters were read.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) dialect: Dialect,
    pub(super) question: CdxQuestion,
    pub(super) form: Form,
    pub(super) columns: Option<Vec<Column>>,
    /// Number of captures to skip before the first one returned.
    pub(super) offset: usize,
    pub(super) take: Take,
    /// Number of the page, from 0.
    pub(super) page: Option<usize>,
    /// Blocks of a page.
    pub(super) page_size: usize,
    /// Whether only the number of pages is wanted.
    pub(super) page_count: bool,
    pub(super) show_resume_key: bool,
    pub(super) compress: bool,
}

impl Asked {
    pub(super) fn of(arguments: &Arguments, dialect: Dialect) -> Result<Asked, Failure> {
        let page = page_number(arguments.count("page"));
        let question = question(arguments, dialect)?;
        if page.is_some() && question.order != Order::Forward {
            return Err(Failure::bad_request(
                "page goes with captures in their own order; leave sort and closest out",
            ));
        }
        Ok(Asked {
            dialect,
            form: Form::named(arguments.text("output"), dialect),
            columns: arguments.text("fl").map(Column::list),
            offset: arguments
                .count("offset")
                .map_or(0, |count| usize::try_from(count).unwrap_or(0)),
            take: take(arguments.count("limit")),
            page,
            page_size: page_size(arguments.count("pageSize")),
            page_count: arguments.flag("showNumPages"),
            show_resume_key: arguments.flag("showResumeKey"),
            compress: arguments.text("gzip").is_none() || arguments.flag("gzip"),
            question,
        })
    }
}

/// The question in `arguments`, without the number of captures to ask for at once.
fn question(arguments: &Arguments, dialect: Dialect) -> Result<CdxQuestion, Failure> {
    let named = arguments.text("matchType").and_then(MatchType::named);
    let (url, match_type) = url_and_match(arguments.text("url").unwrap_or(""), named);
    let filters = arguments.all("filter").map(|text| Filter::read(text, dialect));
    let collapse = arguments.all("collapse").map(Collapse::read);
    Ok(CdxQuestion {
        url: url.to_owned(),
        match_type,
        from: arguments.owned("from"),
        to: arguments.owned("to"),
        collection: arguments.owned("collection"),
        after: arguments.owned("resumeKey"),
        filters: filters.collect::<Result<_, _>>().map_err(refused)?,
        collapse: collapse.collect::<Result<_, _>>().map_err(refused)?,
        order: order(arguments, dialect),
        base_names: arguments.text("filenames") != Some("path"),
        ..CdxQuestion::default()
    })
}

/// pywb orders by distance whenever a time is given. `sort=closest` without a time, which it sends for whole
/// calendars, has no effect.
fn order(arguments: &Arguments, dialect: Dialect) -> Order {
    match (arguments.text("sort"), arguments.owned("closest")) {
        (Some("closest"), Some(time)) => Order::Closest(time),
        // The Internet Archive ignores `closest` unless it is asked to sort by it.
        (None, Some(time)) if dialect == Dialect::Pywb => Order::Closest(time),
        (Some("reverse"), _) => Order::Reverse,
        _ => Order::Forward,
    }
}

/// In both servers 0 means all captures.
fn take(limit: Option<i64>) -> Take {
    let all = Take::First(usize::MAX);
    let number = |n: i64| usize::try_from(n.unsigned_abs());
    match limit {
        None | Some(0) => all,
        Some(first @ 1..) => number(first).map_or(all, Take::First),
        Some(last) => number(last).map_or(all, Take::Last),
    }
}

fn refused(error: FilterError) -> Failure {
    Failure::bad_request(error.to_string())
}
