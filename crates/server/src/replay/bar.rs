//! `/replay/<14 digits>/<URL>` on the main port: an archived page in its frame, below a bar with
//! its URL and time.

use archive::question::{Calendar, CalendarBody, CalendarTime, CdxRow, Page, PageBody};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use replay::{Address, Modifier, Scripts};
use ui::{Frame, Section};
use url::Url;

use super::{find, frame, port};
use crate::failure::Failure;
use crate::link::{self, At};
use crate::pages::{Html, PageFailure, calendar, hidden, parts};
use crate::present;
use crate::query::Query;
use crate::replay_origin::SiteAddress;
use crate::sandbox;
use crate::state::{Context, State};

/// Why a page that the client may see is not replayed.
pub(crate) const HIDDEN_IN_REPLAY: &str = "Access rules hide this page from the public. Replay shows only what the \
    public may see, because it runs archived scripts and so accepts no sign-in.";

/// Shows the page of a capture, or nearby captures if the URL was not captured.
pub(crate) async fn show(Context(state): Context, request: Request) -> Result<Response, PageFailure> {
    let replay = state.bound_replay()?;
    let address =
        Address::parse(port::path(request.uri())).map_err(|error| Failure::bad_request(error.to_string()))?;
    let page = match state
        .archive
        .ask(Page {
            url: address.url.clone(),
        })
        .await
    {
        Ok(page) if page.body.captured => page.body,
        Ok(_) => return Ok(instead(&state, &address).await),
        Err(failure) if failure.status == StatusCode::NOT_FOUND => return Ok(instead(&state, &address).await),
        Err(failure) => return Err(failure.into()),
    };
    let found = find::nearest(&state.archive, &address.url, &address.time).await?;
    if !find::is_shown(&state, &found.capture).await? {
        return Ok(hidden_in_replay(&state, &found.capture).into_response());
    }
    let calendar = Calendar {
        url: address.url.clone(),
        around: Some(found.capture.timestamp.clone()),
    };
    let calendar = state.archive.ask(calendar).await?.body;
    let origin = replay.origin(request.headers());
    // A site keeps its origin, and what it stored there, while the reader follows its links.
    let time = match address.time.len() {
        14.. => &address.time,
        _ => &found.capture.timestamp,
    };
    let site = replay.site_address(request.headers(), &found.capture.url, time);
    let exact = Address {
        key: replay.key.clone(),
        time: found.capture.timestamp.clone(),
        modifier: Modifier::Page,
        url: address.url,
    };
    let shown = Frame {
        title: if page.title.is_empty() {
            &page.url
        } else {
            &page.title
        },
        section: Section::None,
        parts: state.parts(),
        viewer: state.viewer(),
        query: "",
        epoch: None,
    };
    let content = html! {
        (bar(&state, &page, &calendar, (&found.capture, &exact), (&origin, site.is_some())))
        (frame_of(site.as_ref(), &format!("{origin}{exact}"), replay.scripts()))
    };
    let sources = match &site {
        Some(site) => format!("{origin} {}", site.origins),
        None => origin,
    };
    Ok(Html::ok(shown.around(content)).with_frames_of(&sources))
}

/// Returns the frame of the page: in the origin of its site, if it has one.
fn frame_of(site: Option<&SiteAddress>, src: &str, scripts: Scripts) -> Markup {
    let title = "Archived page";
    match site {
        Some(site) => frame::element_in_origin(&site.address, src, title, scripts),
        None => frame::element(src, title, scripts),
    }
}

/// Redirects to the capture of a similar URL, or shows links to nearby captures.
async fn instead(state: &State, address: &Address) -> Response {
    let found = find::nearest_like(&state.archive, &address.url, &address.time).await;
    match found {
        Ok(found) if found.fuzzy.is_some() => {
            let capture = found.capture;
            let exact = Address {
                key: String::new(),
                time: capture.timestamp,
                modifier: Modifier::None,
                url: capture.url,
            };
            match HeaderValue::try_from(exact.to_string()) {
                Ok(location) => (StatusCode::FOUND, [(header::LOCATION, location)]).into_response(),
                Err(_) => not_captured(state, address).into_response(),
            }
        }
        _ => not_captured(state, address).into_response(),
    }
}

/// Redirects `/replay?url=...&at=...` to the address of the capture.
pub(crate) async fn redirect_to_address(Context(_): Context, query: Query) -> Result<Response, PageFailure> {
    let Some(url) = query.owned("url") else {
        return Err(Failure::bad_request("no page given: parameter url is missing").into());
    };
    let address = Address {
        key: String::new(),
        time: query.moment("at")?.unwrap_or_default(),
        modifier: Modifier::None,
        url: if url.contains("://") {
            url
        } else {
            format!("http://{url}")
        },
    };
    let refused = || Failure::bad_request(format!("{} is not a web URL", address.url));
    // The URL as a browser writes it, which is safe in a header. The fragment is removed, because
    // it names a place in the page.
    let mut url = Url::parse(&address.url).map_err(|_| refused())?;
    url.set_fragment(None);
    let exact = Address {
        url: url.into(),
        ..address.clone()
    };
    let address = Address::parse(&exact.to_string()).map_err(|_| refused())?;
    let location = HeaderValue::try_from(address.to_string()).map_err(|_| refused())?;
    Ok((StatusCode::FOUND, [(header::LOCATION, location)]).into_response())
}

fn bar(
    state: &State,
    page: &PageBody,
    calendar: &CalendarBody,
    (capture, shown): (&CdxRow, &Address),
    (origin, has_origin): (&str, bool),
) -> Markup {
    let at = At::exactly(capture);
    let alone = Address {
        key: String::new(),
        modifier: Modifier::None,
        ..shown.clone()
    };
    let mut facts = facts(page, calendar, capture);
    if state.seen_in_replay().is_some() {
        facts.push(html! { "shown without your access rights: restricted parts are missing" });
    }
    html! {
        div.replay-bar {
            a.home href="/" { "Weft" }
            h1.hidden { "Archived page " (parts::url_text(&capture.url)) }
            (neighbours(calendar, &shown.url))
            details {
                summary { (parts::time(&capture.fetch_time)) " \u{b7} " (parts::url_text(&capture.url)) }
                div.panel {
                    (parts::facts(&facts))
                    (calendar::strip_and_days(&page.url, calendar, &capture.timestamp, |time| link::replay(&shown.url, time)))
                    p.actions {
                        a.button.quiet data-in-place=".whole" href=(link::replay_check(&capture.url, &capture.timestamp)) { "Check completeness" }
                        a.button.quiet href=(link::page_at(&capture.url, &at)) { "About this capture" }
                        a.button.quiet href=(link::page(&page.url)) { "Text and links" }
                        a.button.quiet href=(link::record(&capture.url, Some(&at))) download { "Record" }
                        a.button.quiet href={ (origin) (alone) } { "Open without the bar" }
                        (parts::outside_link(&capture.url))
                        @if has_origin { " " button.button.quiet type="button" data-clear { "Delete what the site stored" } }
                    }
                }
            }
        }
    }
}

fn facts(page: &PageBody, calendar: &CalendarBody, capture: &CdxRow) -> Vec<Markup> {
    let captures = present::counted(calendar.captures, "capture", "captures");
    let all = link::with("/captures", &[("url", Some(&page.url))]);
    vec![
        html! { a href=(all) { @if calendar.is_cut { "more than " } (captures) } },
        html! { (present::counted(calendar.contents, "distinct content", "distinct contents")) },
        html! { "status " (capture.status) },
        html! { (present::clean(&capture.filename)) " at " (present::count(capture.offset)) },
    ]
}

fn neighbours(calendar: &CalendarBody, url: &str) -> Markup {
    let time = |near: &CalendarTime| html! { span.soft { " " (parts::time(&near.fetch_time)) } };
    html! {
        nav.neighbours aria-label="Earlier and later captures" {
            @if let Some(near) = &calendar.earlier { a rel="prev" href=(link::replay(url, &near.timestamp)) { "\u{2190} Earlier" (time(near)) } }
            @if let Some(near) = &calendar.later { a rel="next" href=(link::replay(url, &near.timestamp)) { "Later" (time(near)) " \u{2192}" } }
        }
    }
}

/// Shows that the replay origin does not show a capture, and where the client can see it.
fn hidden_in_replay(state: &State, capture: &CdxRow) -> Html {
    let at = At::exactly(capture);
    let frame = Frame {
        title: "Not shown in replay",
        section: Section::None,
        parts: state.parts(),
        viewer: state.viewer(),
        query: "",
        epoch: None,
    };
    let in_sandbox = sandbox::worth_showing(capture.status, &capture.mime, capture.kind);
    let content = parts::only(
        "Replay does not show this page",
        html! {
            p { (parts::url_text(&capture.url)) }
            p { (HIDDEN_IN_REPLAY) }
            p {
                @if in_sandbox {
                    a.button href=(link::sandbox(&capture.url, Some(&at))) rel="noopener" target="_blank" { "Open in the sandbox" } " "
                }
                a.button.quiet href=(link::record(&capture.url, Some(&at))) download { "Download the record" }
                " " a.button.quiet href=(link::page_at(&capture.url, &at)) { "About this capture" }
            }
        },
    );
    Html::ok(frame.around(content))
}

/// Shows that a URL was not captured, with links to nearby captures.
fn not_captured(state: &State, address: &Address) -> Html {
    let url = &address.url;
    let shown = Frame {
        title: "Not captured",
        section: Section::None,
        parts: state.parts(),
        viewer: state.viewer(),
        query: "",
        epoch: None,
    };
    let near = |kind| link::with("/captures", &[("url", Some(url)), ("match", Some(kind))]);
    let content = parts::only(
        &hidden::heading(state, "This URL was not captured"),
        html! {
            p { (parts::url_text(url)) }
            (hidden::note(state, url))
            p {
                a.button href=(near("prefix")) { "Captures of URLs with this prefix" }
                " " a.button.quiet href=(near("host")) { "Captures of this host" }
                " " a.button.quiet href=(link::page(url)) { "Pages that link to it" }
            }
            p { (parts::outside_link(url)) }
        },
    );
    Html {
        status: StatusCode::NOT_FOUND,
        markup: shown.around(content),
    }
}
