//! Looks up captures of a URL, of all URLs that begin with it, of a host, or of a domain.

use archive::question::{Answer, CdxBody, CdxQuestion, MatchType};
use cdx::{Field, Filter, Order, Test, url_pattern};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::html::{Context, Html, PageResult};
use super::{calendar, download, parts};
use crate::failure::{Code, Failure};
use crate::query::Query;
use crate::state::State;
use crate::{link, present};
use ui::{Frame, Section};

/// Number of captures on a page.
const ROWS: usize = 100;

/// A query that all pages match.
const ALL_PAGES: &str = "from:1990";

const MATCHES: [(MatchType, &str); 4] = [
    (MatchType::Exact, "this URL"),
    (MatchType::Prefix, "all URLs with this prefix"),
    (MatchType::Host, "the whole host"),
    (MatchType::Domain, "the whole domain"),
];

/// Status codes that the list can be reduced to: value in the address, label, and expression.
const STATUSES: [(&str, &str, &str); 4] = [
    ("2xx", "2xx: success", "2.."),
    ("3xx", "3xx: redirect", "3.."),
    ("4xx", "4xx: missing, refused", "4.."),
    ("5xx", "5xx: server error", "5.."),
];

/// Values of the form.
struct Form {
    url: String,
    match_type: MatchType,
    from: Option<String>,
    to: Option<String>,
    /// One of [`STATUSES`].
    status: Option<&'static str>,
    /// Part of the media type.
    mime: Option<String>,
    collection: Option<String>,
    oldest_first: bool,
}

impl Form {
    fn of(query: &Query) -> Result<Form, Failure> {
        let given = query.text("url");
        let named = query.get("match").and_then(MatchType::named);
        let pattern = url_pattern(&given, named).map_err(|error| Failure::bad_request(error.to_string()))?;
        let (url, match_type) = match pattern {
            // All URLs of a collection: every URL begins with the empty one.
            ("", _) if query.get("collection").is_some() => ("", MatchType::Prefix),
            other => other,
        };
        let status = query.get("status");
        Ok(Form {
            url: url.to_owned(),
            match_type,
            from: query.time("from")?,
            to: query.time("to")?,
            status: STATUSES
                .iter()
                .map(|known| known.0)
                .find(|name| status == Some(name)),
            mime: query.owned("mime"),
            collection: query.owned("collection"),
            oldest_first: query.get("sort") == Some("oldest"),
        })
    }

    /// Returns the URL, or the collection if there is no URL.
    fn subject(&self) -> String {
        match &self.collection {
            Some(collection) if self.url.is_empty() => {
                format!("the collection {}", present::clean(collection))
            }
            _ => self.url.clone(),
        }
    }

    /// Returns the address of a list of these captures.
    fn link(&self, after: Option<&str>) -> String {
        link::with(
            "/captures",
            &[
                ("url", Some(&self.url)),
                ("match", Some(self.match_type.name())),
                ("from", self.from.as_deref()),
                ("to", self.to.as_deref()),
                ("status", self.status),
                ("mime", self.mime.as_deref()),
                ("collection", self.collection.as_deref()),
                ("sort", self.oldest_first.then_some("oldest")),
                ("after", after),
            ],
        )
    }

    /// Returns the address of a wider look-up, without filters.
    fn matched(&self, match_name: &str) -> String {
        link::with(
            "/captures",
            &[("url", Some(&self.url)), ("match", Some(match_name))],
        )
    }

    /// Returns the address of the same captures as CDXJ. Its filters have the form of pywb.
    fn cdxj(&self) -> String {
        let status = self.expression().map(|status| format!("~status:{status}"));
        let mime = self.mime.as_ref().map(|mime| format!("mime:{mime}"));
        link::with(
            "/cdx",
            &[
                ("url", Some(&self.url)),
                ("matchType", Some(self.match_type.name())),
                ("from", self.from.as_deref()),
                ("to", self.to.as_deref()),
                ("filter", status.as_deref()),
                ("filter", mime.as_deref()),
                ("collection", self.collection.as_deref()),
            ],
        )
    }

    /// Returns the links that download these captures.
    fn downloads(&self) -> Markup {
        download::links(
            "/api/v1/captures",
            &[
                ("url", Some(&self.url)),
                ("matchType", Some(self.match_type.name())),
                ("from", self.from.as_deref()),
                ("to", self.to.as_deref()),
                ("collection", self.collection.as_deref()),
            ],
        )
    }

    /// Returns the expression that the status code must match.
    fn expression(&self) -> Option<&'static str> {
        let known = STATUSES.iter().find(|known| Some(known.0) == self.status);
        known.map(|known| known.2)
    }

    fn filters(&self) -> Vec<Filter> {
        let filter = |field, test, text: &str| Filter {
            field: Some(field),
            test,
            text: text.to_owned(),
            negated: false,
        };
        let status = self.expression();
        let status = status.map(|text| filter(Field::Status, Test::Matches, text));
        let mime = self.mime.as_ref();
        let mime = mime.map(|text| filter(Field::Mime, Test::Contains, text));
        status.into_iter().chain(mime).collect()
    }

    /// Returns whether the list is reduced in another way than by URL.
    fn is_filtered(&self) -> bool {
        self.from.is_some() || self.to.is_some() || self.has_more()
    }

    /// Returns whether a field of the folded part of the form is set.
    fn has_more(&self) -> bool {
        self.status.is_some() || self.mime.is_some() || self.collection.is_some() || self.oldest_first
    }

    fn order(&self) -> Order {
        if self.oldest_first {
            Order::Forward
        } else {
            Order::Reverse
        }
    }
}

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let form = Form::of(&query)?;
    let after = query.owned("after");
    if form.url.is_empty() && form.collection.is_none() {
        let frame = Frame {
            title: "Captures",
            section: Section::Captures,
            parts: context.parts(),
            viewer: context.viewer(),
            query: "",
            epoch: None,
        };
        return Ok(Html::ok(frame.around(html! { (head(&form)) (help()) })));
    }
    let question = CdxQuestion {
        url: form.url.clone(),
        everything: form.url.is_empty(),
        match_type: form.match_type,
        from: form.from.clone(),
        to: form.to.clone(),
        collection: form.collection.clone(),
        filters: form.filters(),
        limit: ROWS,
        after: after.clone(),
        order: form.order(),
        ..CdxQuestion::default()
    };
    let Answer {
        epoch,
        body: CdxBody { rows, next, .. },
    } = match context.archive.ask(question).await {
        Err(failure) if failure.code == Code::BadRequest => {
            return Ok(refused(&context, &form, &failure.message));
        }
        answer => answer?,
    };
    let title = format!("Captures of {}", form.subject());
    let frame = Frame {
        title: &title,
        section: Section::Captures,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    let content = html! {
        (head(&form))
        @if form.url.is_empty() { p { "Captures of " (form.subject()) "." } }
        @if rows.is_empty() && next.is_some() {
            p { "No match among the captures read so far; there are more." }
        } @else if rows.is_empty() {
            (none(&form))
        } @else {
            // With only part of the captures, a calendar would show gaps that do not exist.
            @if form.match_type == MatchType::Exact {
                @if after.is_none() && next.is_none() && !form.is_filtered() { (calendar::strip(&form.url, &rows, None)) }
                @else { p { a.more href=(link::page(&form.url)) { "Page with a calendar of its captures" } } }
            }
            p.soft { (order_words(&form)) }
            (parts::captures(&rows, rows.len(), after.is_some() || next.is_some(), true, ArchivedView::of(&context)))
            @if !form.url.is_empty() {
                p.actions { a.button.quiet href=(form.cdxj()) { "As CDXJ" } }
                // The filters of status and media type are those of CDX servers.
                @if form.status.is_none() && form.mime.is_none() { (form.downloads()) }
            }
        }
        (parts::pager(
            after.as_ref().map(|_| form.link(None)),
            next.map(|next| form.link(Some(&next))),
        ))
    };
    Ok(Html::ok(frame.around(content)))
}

fn head(form: &Form) -> Markup {
    html! {
        header.page-head { h1 { "Captures" } }
        form.fields action="/captures" method="get" {
            div.grow {
                label for="url" { "URL" }
                input #url type="text" name="url" value=(present::clean(&form.url)) required inputmode="url"
                    autocapitalize="off" spellcheck="false" placeholder="http://www.example.org/" dir="ltr";
            }
            div {
                label for="match" { "Look up" }
                select #match name="match" {
                    @for (kind, words) in MATCHES {
                        option value=(kind.name()) selected[kind == form.match_type] { (words) }
                    }
                }
            }
            div.short {
                label for="from" { "From" }
                input #from type="text" name="from" value=[form.from.as_deref()] placeholder="2008" inputmode="numeric" maxlength="24";
            }
            div.short {
                label for="to" { "To" }
                input #to type="text" name="to" value=[form.to.as_deref()] placeholder="2014" inputmode="numeric" maxlength="24";
            }
            button type="submit" { "Look up" }
            (more_fields(form))
        }
    }
}

/// Shows the fields that few look-ups need.
fn more_fields(form: &Form) -> Markup {
    let text = |text: &Option<String>| present::clean(text.as_deref().unwrap_or("")).into_owned();
    html! {
        details.more-fields open[form.has_more()] {
            summary { "Filter and order" }
            div.fields {
                div {
                    label for="status" { "Status" }
                    select #status name="status" {
                        option value="" { "any" }
                        @for (name, words, _) in STATUSES { option value=(name) selected[form.status == Some(name)] { (words) } }
                    }
                }
                div {
                    label for="mime" { "Type contains" }
                    input #mime type="text" name="mime" value=(text(&form.mime)) placeholder="html" autocapitalize="off" spellcheck="false" maxlength="200";
                }
                div {
                    label for="collection" { "Collection" }
                    input #collection type="text" name="collection" value=(text(&form.collection)) placeholder="all" maxlength="500" autocomplete="off";
                }
                div {
                    label for="sort" { "Order" }
                    select #sort name="sort" {
                        option value="" { "newest first" }
                        option value="oldest" selected[form.oldest_first] { "oldest first" }
                    }
                }
            }
        }
    }
}

/// Says in which order the captures are listed. Captures of one URL stay together.
fn order_words(form: &Form) -> &'static str {
    match (form.match_type, form.oldest_first) {
        (MatchType::Exact, false) => "Newest first.",
        (MatchType::Exact, true) => "Oldest first.",
        (_, false) => "URLs from Z to A, the newest capture of each first.",
        (_, true) => "URLs from A to Z, the oldest capture of each first.",
    }
}

fn help() -> Markup {
    html! {
        section.reading {
            p { "A capture is the archived response of a URL at one time. Times are in UTC: a year, "
                code { "201401" } " for a month, or up to 14 digits." }
            p { code { "example.org/news/*" } " looks up all URLs with this prefix, " code { "*.example.org" } " a whole domain. "
                "Programs can use " code { "/cdx?url=\u{2026}" } " to get the same as CDXJ lines." }
            p { "The pages captured last: " a href=(link::with("/search", &[("q", Some(ALL_PAGES)), ("sort", Some("newest"))])) { "newest pages" } "." }
            p { "Pages that WACZ packages list: " a href="/pages" { "pages of crawls" } ". Captures by host, type and month: " a href="/report" { "report" } "." }
        }
    }
}

fn none(form: &Form) -> Markup {
    if form.url.is_empty() {
        let words = html! { p { "Nothing in this collection matches." } p { a.button.quiet href="/collections" { "All collections" } } };
        return parts::nothing("No captures", words);
    }
    parts::nothing(
        "No captures",
        html! {
            p { "No captures of " (parts::url_text(&form.url)) @if form.is_filtered() { " with these filters" } "." }
            @if form.is_filtered() {
                p { a.button.quiet href=(form.matched(form.match_type.name())) { "Look up without filters" } }
            }
            @if form.match_type != MatchType::Domain {
                p {
                    @if form.match_type != MatchType::Host { a.button.quiet href=(form.matched("host")) { "Look up the whole host" } " " }
                    a.button.quiet href=(form.matched("domain")) { "Look up the whole domain" }
                }
            } @else {
                p { "No page of this domain is loaded. " a href="/domains" { "All domains" } }
            }
        },
    )
}

fn refused(context: &State, form: &Form, message: &str) -> Html {
    let frame = Frame {
        title: "Captures",
        section: Section::Captures,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: None,
    };
    let content = html! {
        (head(form))
        (parts::nothing("Invalid lookup", html! { p dir="auto" { (present::clean(message)) } }))
        (help())
    };
    Html {
        status: axum::http::StatusCode::BAD_REQUEST,
        markup: frame.around(content),
    }
}
