//! OutbackCDX's XML (`q=type:urlquery url:...`), used by OpenWayback's `RemoteResourceIndex`.
//!
//! `urlquery` lists the captures of one URL, `prefixquery` the URLs with a prefix, each with its
//! first and its last capture.

use archive::question::{CdxBody, CdxQuestion, CdxRow};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use cdx::{Field, MatchType, Order};
use quick_xml::events::{BytesDecl, Event};

use super::send::ROWS_AT_ONCE;
use crate::api::xml::{Xml, text};
use crate::archive_client::ArchiveClient;
use crate::arguments::Arguments;
use crate::failure::Failure;

/// Maximum number of results in one response, and of results counted after them, as in OutbackCDX.
const RESULTS_MAX: usize = 10_000;

/// Maximum number of captures read for the URLs of one response.
const LOOKED_AT_MAX: usize = 1_000_000;

const MEDIA_TYPE: &str = "application/xml;charset=UTF-8";

/// A query: words `name:value` separated by spaces, with values escaped a second time.
struct Query {
    kind: String,
    url: String,
    /// A time in digits. The capture nearest to it is marked.
    date: Option<String>,
    /// Number of results before the first one returned.
    offset: usize,
    limit: usize,
}

impl Query {
    fn read(arguments: &Arguments) -> Result<Query, Failure> {
        let text = arguments.required("q");
        // Within values, a plus is a space.
        let decoded = |text: &str| {
            url::form_urlencoded::parse(text.replace('&', "%26").replace('=', "%3D").as_bytes())
                .next()
                .map_or_else(String::new, |(name, _)| name.into_owned())
        };
        let words: Vec<(String, String)> = text
            .split(' ')
            .filter_map(|word| word.split_once(':'))
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect();
        let word = |name: &str| {
            words
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, value)| value.clone())
        };
        let number = |name: &str| word(name).and_then(|value| value.parse::<usize>().ok());
        let count = |name: &str| arguments.count(name).and_then(|n| usize::try_from(n).ok());
        let Some(url) = word("url").filter(|url| !url.is_empty()) else {
            return Err(Failure::bad_request(format!(
                "{text:?} contains no URL: expected type:urlquery url:http%3A%2F%2Fexample.org%2F"
            )));
        };
        let date = word("date").filter(|date| !date.is_empty());
        let is_date =
            |date: &String| (1..=14).contains(&date.len()) && date.bytes().all(|b| b.is_ascii_digit());
        if let Some(date) = date.as_ref().filter(|date| !is_date(date)) {
            return Err(Failure::bad_request(format!(
                "date:{date} is not a time: expected 1 to 14 digits"
            )));
        }
        let limit = count("count")
            .or(number("limit"))
            .unwrap_or(RESULTS_MAX)
            .min(RESULTS_MAX);
        let offset = match count("start_page") {
            Some(page) => limit.saturating_mul(page.max(1) - 1),
            None => number("offset").unwrap_or(0),
        };
        Ok(Query {
            kind: word("type").map_or_else(|| "urlquery".to_owned(), |kind| kind.to_ascii_lowercase()),
            url,
            date,
            offset,
            limit,
        })
    }
}

/// Answers a query about a collection.
pub(super) async fn answer(
    archive: &ArchiveClient,
    arguments: &Arguments,
    collection: Option<String>,
) -> Result<Response, Failure> {
    let query = Query::read(arguments)?;
    let match_type = match query.kind.as_str() {
        "prefixquery" => MatchType::Prefix,
        _ => MatchType::Exact,
    };
    let captures = Captures {
        archive,
        question: CdxQuestion {
            url: query.url.clone(),
            match_type,
            collection,
            base_names: true,
            limit: ROWS_AT_ONCE,
            ..CdxQuestion::default()
        },
    };
    let results = match query.kind.as_str() {
        "urlquery" => captures.of_url(&query).await?,
        "prefixquery" => captures.urls(&query).await?,
        _ => Results::NotKnown,
    };
    let xml = written(&query, &results).map_err(|error| {
        tracing::error!(%error, "cannot write an XML response");
        Failure::internal()
    })?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], xml).into_response())
}

enum Results {
    Captures {
        rows: Vec<CdxRow>,
        /// Index in `rows` of the capture nearest to the requested time.
        closest: Option<usize>,
        /// Total number, including results before and after these.
        count: usize,
    },
    Urls {
        urls: Vec<UrlResult>,
        count: usize,
    },
    NotKnown,
}

/// The captures of one key.
struct UrlResult {
    url_key: String,
    /// The URL of the last capture.
    url: String,
    first: String,
    last: String,
    captures: usize,
    /// Number of captures whose digest differs from the one before.
    versions: usize,
    last_digest: String,
}

struct Captures<'a> {
    archive: &'a ArchiveClient,
    question: CdxQuestion,
}

impl Captures<'_> {
    async fn of_url(mut self, query: &Query) -> Result<Results, Failure> {
        let end = query.offset.saturating_add(query.limit);
        let (mut rows, mut count) = (Vec::new(), 0_usize);
        loop {
            let CdxBody {
                rows: found, next, ..
            } = self.archive.ask(self.question.clone()).await?.body;
            for row in found {
                if (query.offset..end).contains(&count) {
                    rows.push(row);
                }
                count += 1;
            }
            self.question.after = next;
            if self.question.after.is_none() || count >= end.max(RESULTS_MAX) {
                break;
            }
        }
        let closest = match &query.date {
            Some(date) => self.closest(date, &rows).await?,
            None => None,
        };
        Ok(Results::Captures {
            closest,
            count: count.min(end.max(RESULTS_MAX)),
            rows,
        })
    }

    async fn closest(&self, date: &str, rows: &[CdxRow]) -> Result<Option<usize>, Failure> {
        let question = CdxQuestion {
            order: Order::Closest(date.to_owned()),
            limit: 1,
            after: None,
            ..self.question.clone()
        };
        let nearest = self.archive.ask(question).await?.body.rows.pop();
        Ok(nearest.and_then(|nearest| rows.iter().position(|row| row.name() == nearest.name())))
    }

    async fn urls(mut self, query: &Query) -> Result<Results, Failure> {
        let end = query.offset.saturating_add(query.limit);
        let (mut urls, mut count, mut looked_at) = (Vec::<UrlResult>::new(), 0_usize, 0_usize);
        let mut current: Option<UrlResult> = None;
        loop {
            let CdxBody { rows, next, .. } = self.archive.ask(self.question.clone()).await?.body;
            looked_at += rows.len();
            for row in rows {
                match &mut current {
                    Some(known) if known.url_key == row.url_key => known.add(row),
                    _ => {
                        if let Some(whole) = current.replace(UrlResult::of(row)) {
                            if (query.offset..end).contains(&count) {
                                urls.push(whole);
                            }
                            count += 1;
                        }
                    }
                }
            }
            self.question.after = next;
            let is_enough = count >= end.max(RESULTS_MAX) || count >= end && looked_at >= LOOKED_AT_MAX;
            if self.question.after.is_none() || is_enough {
                break;
            }
        }
        if let Some(whole) = current {
            if (query.offset..end).contains(&count) {
                urls.push(whole);
            }
            count += 1;
        }
        Ok(Results::Urls {
            urls,
            count: count.min(end.max(RESULTS_MAX)),
        })
    }
}

impl UrlResult {
    fn of(row: CdxRow) -> UrlResult {
        UrlResult {
            url_key: row.url_key,
            url: row.url,
            first: row.timestamp.clone(),
            last: row.timestamp,
            captures: 1,
            versions: 1,
            last_digest: row.digest,
        }
    }

    fn add(&mut self, row: CdxRow) {
        self.captures += 1;
        self.versions += usize::from(row.digest != self.last_digest);
        self.last_digest = row.digest;
        self.last = row.timestamp;
        self.url = row.url;
    }
}

fn written(query: &Query, results: &Results) -> std::io::Result<Vec<u8>> {
    let mut xml = Xml::new(Vec::new());
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let root = xml.create_element("wayback");
    root.write_inner_content(|xml| match results {
        Results::NotKnown => error(
            xml,
            "Unsupported query type",
            "The requested query type is unknown to the index.",
        ),
        Results::Captures { rows, .. } if rows.is_empty() => not_found(xml),
        Results::Urls { urls, .. } if urls.is_empty() => not_found(xml),
        Results::Captures { rows, closest, count } => {
            let list = xml.create_element("results");
            list.write_inner_content(|xml| {
                let mut numbered = rows.iter().enumerate();
                numbered.try_for_each(|(n, row)| capture(xml, row, *closest == Some(n)))
            })?;
            request(xml, query, "resultstypecapture", rows.len(), *count)
        }
        Results::Urls { urls, count } => {
            let list = xml.create_element("results");
            list.write_inner_content(|xml| urls.iter().try_for_each(|found| url_result(xml, found)))?;
            request(xml, query, "resultstypeurl", urls.len(), *count)
        }
    })?;
    Ok(xml.into_inner())
}

fn capture(xml: &mut Xml, row: &CdxRow, is_closest: bool) -> std::io::Result<()> {
    let values = [
        ("compressedoffset", Field::Offset),
        ("compressedendoffset", Field::Length),
        ("mimetype", Field::Mime),
        ("file", Field::Filename),
        ("redirecturl", Field::Redirect),
        ("urlkey", Field::UrlKey),
        ("digest", Field::Digest),
        ("httpresponsecode", Field::Status),
        ("robotflags", Field::RobotFlags),
        ("url", Field::Url),
        ("capturedate", Field::Timestamp),
    ];
    let result = xml.create_element("result");
    result.write_inner_content(|xml| {
        for (name, field) in values {
            text(xml, name, &field.text(row))?;
        }
        if is_closest {
            text(xml, "closest", "true")?;
        }
        Ok(())
    })?;
    Ok(())
}

fn url_result(xml: &mut Xml, found: &UrlResult) -> std::io::Result<()> {
    let result = xml.create_element("result");
    result.write_inner_content(|xml| {
        text(xml, "urlkey", &found.url_key)?;
        text(xml, "originalurl", &found.url)?;
        text(xml, "numversions", &found.versions.to_string())?;
        text(xml, "numcaptures", &found.captures.to_string())?;
        text(xml, "firstcapturets", &found.first)?;
        text(xml, "lastcapturets", &found.last)
    })?;
    Ok(())
}

fn request(xml: &mut Xml, query: &Query, kind: &str, returned: usize, count: usize) -> std::io::Result<()> {
    let now_ms = system::time_ms();
    let request = xml.create_element("request");
    request.write_inner_content(|xml| {
        text(xml, "startdate", "19960101000000")?;
        text(xml, "enddate", &format::date::digits(now_ms))?;
        text(xml, "type", &query.kind)?;
        text(xml, "firstreturned", &query.offset.to_string())?;
        text(
            xml,
            "url",
            &urlkey::url_key(&query.url).unwrap_or_else(|_| query.url.clone()),
        )?;
        text(xml, "resultsrequested", &query.limit.to_string())?;
        text(xml, "resultstype", kind)?;
        text(xml, "numreturned", &returned.to_string())?;
        text(xml, "numresults", &count.to_string())
    })?;
    Ok(())
}

fn not_found(xml: &mut Xml) -> std::io::Result<()> {
    error(
        xml,
        "Resource Not In Archive",
        "The Resource you requested is not in this archive.",
    )
}

fn error(xml: &mut Xml, title: &str, message: &str) -> std::io::Result<()> {
    let error = xml.create_element("error");
    error.write_inner_content(|xml| {
        text(xml, "title", title)?;
        text(xml, "message", message)
    })?;
    Ok(())
}
