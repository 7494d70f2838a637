//! Responds with a capture: its status, its headers, and its content.

use archive::question::RecordBody;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use replay::{Modifier, Scope};
use url::Url;

use super::content::{self, ContentForm, OpenContent};
use super::headers::{media, redirect, status_of, take_over};
use super::partial::{self, PartRange};
use super::redirects::{self, RedirectEnd};
use super::request::CaptureRequest;
use crate::failure::{Code, Failure};
use crate::record::content_of;
use crate::state::State;

/// Header with the rule by which a capture of a similar URL replaces the requested one.
pub(crate) const FUZZY: HeaderName = HeaderName::from_static("weft-fuzzy");

/// Responds with the capture `found`, or with the original that it refers to. The content may
/// already be open.
pub(super) async fn respond(
    state: &State,
    request: &CaptureRequest<'_>,
    found: RecordBody,
    opened: Option<OpenContent>,
) -> Result<Response, Failure> {
    let (capture, fuzzy) = (found.capture.clone(), found.fuzzy.clone());
    let own_location = redirects::own_location(state, &found).await;
    let record = content_of(found)?;
    let opened = match opened {
        Some(opened) => opened,
        None => content::open(state, &record).await?,
    };
    let mut fields = opened.payload.fields().to_vec();
    if let Some(own) = own_location {
        fields.retain(|(name, _)| !name.eq_ignore_ascii_case("location"));
        fields.push(("Location".to_owned(), own));
    }
    let status = status_of(&capture, opened.payload.status());
    if let Some(location) = redirect(status, &fields) {
        match redirects::follow(state, &capture, location).await {
            // The replacement is not a redirect, so the recursion ends here.
            RedirectEnd::Itself(beyond) => {
                return Box::pin(respond(state, request, *beyond, None)).await;
            }
            RedirectEnd::Endless(way) if request.address.modifier != Modifier::Raw => {
                return Ok(super::frame::endless(&way, request));
            }
            RedirectEnd::Endless(_) | RedirectEnd::Elsewhere => {}
        }
    }
    let Ok(url) = Url::parse(&capture.url) else {
        return Err(Failure::not_found(format!("{} is not a web URL", capture.url)));
    };
    let scope = request.scope(Scope::new(&capture.timestamp, url));
    let part = part_of(&opened);
    let shown = ContentForm::of(request.modifier(), &fields, &record.capture);
    let mut response = content::answer(state, request, &record, opened, scope.clone(), shown).await?;
    let is_all = response.status() == StatusCode::OK;
    if is_all {
        *response.status_mut() = status;
    }
    let headers = response.headers_mut();
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(media(&fields, &record.capture));
    take_over(headers, &fields, &scope, request.address.modifier);
    if let Some(part) = part.filter(|_| is_all && !headers.contains_key(partial::PART)) {
        headers.insert(partial::PART, part);
    }
    if let Some(rule) = fuzzy.and_then(|rule| HeaderValue::from_str(&rule).ok()) {
        headers.insert(FUZZY, rule);
    }
    let first = state
        .replay_origin()
        .and_then(|place| place.main_origin(request.headers))
        // The host of a site's origin is not a name of the first port.
        .filter(|_| request.origins.is_none());
    super::frame::memento(headers, &capture, first.as_deref());
    Ok(response)
}

/// Returns which part of its URL a content is; `None` if it is the whole.
fn part_of(opened: &OpenContent) -> Option<HeaderValue> {
    if opened.payload.status() != StatusCode::PARTIAL_CONTENT.as_u16() {
        return None;
    }
    match PartRange::of(&opened.payload) {
        Some(part) if part.is_whole() => None,
        Some(part) => HeaderValue::try_from(part.text()).ok(),
        None => Some(HeaderValue::from_static("unknown")),
    }
}

/// Returns the refusal of a request for a service worker, which would intercept requests between
/// readers and the archive.
pub(super) fn no_service_worker() -> Response {
    Failure::new(
        StatusCode::FORBIDDEN,
        Code::Forbidden,
        "archived pages cannot use service workers",
    )
    .into_response()
}
