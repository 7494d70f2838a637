//! `versions`: the versions of a page.

use archive::AskError;
use archive::question::{Page, PageBody};

use super::{Tool, URL, ask_typed};
use crate::AskArchive;
use crate::arguments::{Arguments, Kind, Parameter};
use crate::text::{self, AnswerText};

pub(super) const TOOL: Tool = Tool {
    name: "versions",
    title: "Versions of a page",
    description: "Lists the versions of a page, newest first: from when until when each held, and its title. A \
        version is a run of captures with the same content. `page` with `at` reads one, `diff` compares two.",
    parameters: &[
        URL,
        Parameter {
            name: "before",
            kind: Kind::Time,
            is_required: false,
            description: "Only versions that began before this time",
        },
        Parameter {
            name: "limit",
            kind: Kind::Number {
                default: 20,
                min: 1,
                max: 100,
            },
            is_required: false,
            description: "Maximum number of versions",
        },
    ],
    call,
};

/// Number of past versions that the archive lists.
const PAST_VERSIONS_MAX: usize = 1000;

/// A version of the page, current or past.
struct Version<'a> {
    since: &'a str,
    until: Option<&'a str>,
    fetch_time: &'a str,
    url: &'a str,
    title: &'a str,
}

fn call(arguments: &Arguments, ask: AskArchive<'_>) -> Result<AnswerText, AskError> {
    let url = arguments.text("url").unwrap_or_default();
    let page = ask_typed(ask, Page { url })?.body;
    let before = arguments.text("before");
    let versions = versions_before(&page, before.as_deref());
    text::fitting(arguments.rows("limit"), |rows| Ok(answer(&page, &versions, rows)))
}

/// Returns the versions that began before a time, newest first.
fn versions_before<'a>(page: &'a PageBody, before: Option<&str>) -> Vec<Version<'a>> {
    let current = match (&page.since, &page.fetch_time) {
        (Some(since), Some(fetch_time)) if page.is_page || page.is_document => Some(Version {
            since,
            until: None,
            fetch_time,
            url: &page.url,
            title: &page.title,
        }),
        _ => None,
    };
    let past = page.past_versions.iter().map(|past| Version {
        since: &past.since,
        until: Some(&past.until),
        fetch_time: &past.fetch_time,
        url: &past.url,
        title: &past.title,
    });
    let is_before = |version: &Version<'_>| before.is_none_or(|before| *digits(version.since) < *before);
    current.into_iter().chain(past).filter(is_before).collect()
}

/// Returns the digits of a time with milliseconds. They order like times, also before a beginning.
fn digits(iso: &str) -> String {
    iso.chars().filter(char::is_ascii_digit).collect()
}

fn answer(page: &PageBody, versions: &[Version<'_>], rows: usize) -> AnswerText {
    let mut text = AnswerText::new();
    let shown = &versions[..rows.min(versions.len())];
    text.line(&format!(
        "{} of {} versions that are pages or documents, and {} captures of the URL",
        shown.len(),
        versions.len(),
        at_least(page.captures.len())
    ));
    for version in shown {
        text.gap();
        let until = match version.until {
            Some(until) => format!("until {until}"),
            None => "the current version".into(),
        };
        text.line(&format!(
            "since {}, {until}; last captured {}",
            version.since, version.fetch_time
        ));
        text.quote_value("title", version.title);
        text.quote_url("url", version.url);
    }
    if let Some(last) = shown.last().filter(|_| shown.len() < versions.len()) {
        text.gap();
        text.line(&format!(
            "more: call versions again with the same url and before = {}",
            last.since.split('.').next().unwrap_or_default()
        ));
    }
    if page.past_versions.len() >= PAST_VERSIONS_MAX {
        text.line(&format!(
            "older versions than the newest {PAST_VERSIONS_MAX} are not listed"
        ));
    }
    text
}

/// The archive lists as many captures as past versions.
fn at_least(captures: usize) -> String {
    if captures >= PAST_VERSIONS_MAX {
        format!("at least {captures}")
    } else {
        captures.to_string()
    }
}
