//! Looks up captures of a URL, of all URLs that begin with it, of a host, or of a domain.

use archive::question::{Answer, CdxBody, CdxQuestion, MatchType};
use cdx::{Order, url_and_match};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::html::{Context, Html, PageResult};
use super::{calendar, parts};
use crate::failure::Code;
use crate::query::Query;
use crate::state::State;
use crate::{link, present};
use ui::{Frame, Section};

/// Number of captures on a page.
const ROWS: usize = 100;

const MATCHES: [(MatchType, &str); 4] = [
    (MatchType::Exact, "this URL"),
    (MatchType::Prefix, "all URLs with this prefix"),
    (MatchType::Host, "the whole host"),
    (MatchType::Domain, "the whole domain"),
];

/// Values of the form.
struct Form {
    url: String,
    match_type: MatchType,
    from: Option<String>,
    to: Option<String>,
}

impl Form {
    fn of(query: &Query) -> Form {
        let given = query.text("url");
        let (url, match_type) = url_and_match(&given, query.get("match").and_then(MatchType::named));
        Form {
            url: url.to_owned(),
            match_type,
            from: query.time("from"),
            to: query.time("to"),
        }
    }

    fn link(&self, path: &str, match_name: &str, after: Option<&str>) -> String {
        link::with(
            path,
            &[
                ("url", Some(&self.url)),
                (match_name, Some(self.match_type.name())),
                ("from", self.from.as_deref()),
                ("to", self.to.as_deref()),
                ("after", after),
            ],
        )
    }
}

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let form = Form::of(&query);
    let after = query.owned("after");
    if form.url.is_empty() {
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
        match_type: form.match_type,
        from: form.from.clone(),
        to: form.to.clone(),
        collection: query.owned("collection"),
        limit: ROWS,
        after: after.clone(),
        // For one URL the newest capture comes first, as on its page. For several URLs the captures
        // of each stay together.
        order: if form.match_type == MatchType::Exact {
            Order::Reverse
        } else {
            Order::Forward
        },
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
    let title = format!("Captures of {}", form.url);
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
        @if rows.is_empty() && next.is_some() {
            p { "No match among the captures read so far; there are more." }
        } @else if rows.is_empty() {
            (none(&form))
        } @else {
            // With only part of the captures, a calendar would show gaps that do not exist.
            @if form.match_type == MatchType::Exact {
                @if after.is_none() && next.is_none() { (calendar::strip(&form.url, &rows, None)) }
                @else { p { a.more href=(link::page(&form.url)) { "Page with a calendar of its captures" } } }
            }
            (parts::captures(&rows, rows.len(), after.is_some() || next.is_some(), true, ArchivedView::of(&context)))
            p.actions { a.button.quiet href=(form.link("/cdx", "matchType", None)) { "As CDXJ" } }
        }
        (parts::pager(
            after.as_ref().map(|_| form.link("/captures", "match", None)),
            next.map(|next| form.link("/captures", "match", Some(&next))),
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
        }
    }
}

fn help() -> Markup {
    html! {
        section.reading {
            p { "A capture is the archived response of a URL at one time. Times are in UTC: a year, "
                code { "201401" } " for a month, or up to 14 digits." }
            p { code { "example.org/news/*" } " looks up all URLs with this prefix, " code { "*.example.org" } " a whole domain. "
                "Programs can use " code { "/cdx?url=\u{2026}" } " to get the same as CDXJ lines." }
            p { "Pages that WACZ packages list: " a href="/pages" { "pages of crawls" } ". Captures by host, type and month: " a href="/report" { "report" } "." }
        }
    }
}

fn none(form: &Form) -> Markup {
    parts::nothing(
        "No captures",
        html! {
            p { "No captures of " (parts::url_text(&form.url)) @if form.from.is_some() || form.to.is_some() { " in that time" } "." }
            @if form.match_type == MatchType::Exact {
                p { a.button.quiet href=(link::with("/captures", &[("url", Some(&form.url)), ("match", Some("host"))])) { "Look up the whole host" } }
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
