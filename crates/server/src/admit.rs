//! Who is let in where: finds out who sent a request, and gives it the state that they may see.
//!
//! Invariants:
//! - a route is for those alone who see everything until it stands in [`FOR_EVERYBODY`] or [`OF_THE_ARCHIVE`];
//! - where the rules cannot be read, nothing of the archive is shown to anybody.

use std::sync::Arc;

use archive::question::{Rights, SightBody};
use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;

use crate::api::loads;
use crate::failure::{Code, Failure};
use crate::routes::HEALTH_PATH;
use crate::sites;
use crate::state::{Common, Paths};
use crate::who_asks::Asking;

/// Routes that tell nothing of the archive.
const FOR_EVERYBODY: [&str; 3] = [HEALTH_PATH, "/robots.txt", "/api/v1/openapi.json"];

/// Routes whose answers come from the archive alone, which shows everybody what they may see.
const OF_THE_ARCHIVE: [&str; 51] = [
    "/timegate/{*url}",
    "/timemap/{*url}",
    "/replay",
    "/replay/{*address}",
    "/replay-check",
    "/",
    "/search",
    "/trends",
    "/page",
    "/page/diff",
    "/page/inlinks",
    "/page/outlinks",
    "/domain",
    "/domains",
    "/graph",
    "/ranking",
    "/captures",
    "/pages",
    "/report",
    "/about",
    SIGN_IN,
    SIGN_OUT,
    "/sandbox/content",
    "/api/v1/search",
    "/api/v1/search/export",
    "/api/v1/search/concordance",
    "/api/v1/suggest",
    "/search.atom",
    "/api/v1/trends",
    "/api/v1/report",
    "/api/v1/page",
    "/api/v1/calendar",
    "/api/v1/diff",
    "/api/v1/inlinks",
    "/api/v1/outlinks",
    "/api/v1/domain",
    "/api/v1/domains",
    "/api/v1/top",
    "/api/v1/captures",
    "/api/v1/pages",
    "/api/v1/record",
    "/cdx",
    "/cdx/search/cdx",
    "/api/v1/cdx",
    "/{collection}/cdx",
    "/{index}",
    "/collinfo.json",
    // Who may post is looked at there: a setting says it.
    "/outbackcdx/{collection}",
    "/outbackcdx/{collection}/delete",
    "/record",
    "/record/{*file}",
];

/// Where people say who they are.
const SIGN_IN: &str = "/sign-in";
const SIGN_OUT: &str = "/sign-out";

/// Finds out who sent a request and gives it the state that they may see; refuses what is not for them. What is answered by the
/// archive is refused there, question by question. All else is of the server itself, and for those alone who see everything:
/// a new page is, until it stands in [`OF_THE_ARCHIVE`].
pub(crate) async fn admit(
    state: &Arc<Common>,
    route: Option<&MatchedPath>,
    request: &mut Request,
) -> Result<(), Failure> {
    let path = route.map_or("", MatchedPath::as_str);
    let is_for_everybody =
        FOR_EVERYBODY.contains(&path) || look::ASSETS.iter().any(|asset| asset.path == path);
    let asking = match state.who_asks.asking(request) {
        // Whoever has a cookie that opens nothing any more must get here, and to the styles, to sign in again.
        Err(_) if is_for_everybody || [SIGN_IN, SIGN_OUT].contains(&path) => over(state, request)?,
        asking => asking?,
    };
    if is_for_everybody {
        let nothing = SightBody::default();
        request
            .extensions_mut()
            .insert(state.seen_by(asking, nothing, Paths::Hidden));
        return Ok(());
    }
    let sight = match state.sight(&asking).await {
        Ok(sight) => sight,
        Err(failure) => {
            let is_from_here = loads::is_from_here(request);
            return Err(closed(state, is_from_here, failure).await);
        }
    };
    let (groups, everything) = (asking.groups.clone(), sight.everything);
    let paths = may_see_paths(state, request, everything);
    request
        .extensions_mut()
        .insert(state.seen_by(asking, sight, paths));
    // Where there is nothing, everybody is told so.
    match everything || route.is_none() || OF_THE_ARCHIVE.contains(&path) {
        true => Ok(()),
        false => Err(Failure::new(
            StatusCode::FORBIDDEN,
            Code::Forbidden,
            format!(
                "this is only for those from whom nothing of the archive is hidden, and rules hide some of it from {groups}"
            ),
        )),
    }
}

/// Whether who sent a request may see in which folders files lie: the owner of the archive, which is whoever asks from this machine
/// itself and sees everything. Behind a proxy everybody seems to.
fn may_see_paths(state: &Common, request: &Request, everything: bool) -> Paths {
    let has_proxy = state.who_asks.believes_a_proxy() || !state.settings.hosts.is_empty();
    match everything && !has_proxy && loads::is_from_here(request) {
        true => Paths::Shown,
        false => Paths::Hidden,
    }
}

/// Somebody whose cookie opens nothing any more; the same failure again if it was no cookie.
fn over(state: &Common, request: &Request) -> Result<Asking, Failure> {
    match state.who_asks.cookie(request.headers()) {
        Some(_) => Ok(Asking::over()),
        None => state.who_asks.asking(request),
    }
}

/// Why nothing is shown at all: the rules cannot be read. Their file's name and what stands in it are told on this machine alone.
async fn closed(state: &Common, is_from_here: bool, failure: Failure) -> Failure {
    // The owner sees everything whatever the rules are, so this fails only where they cannot be read.
    let is_of_rules = failure.is_unavailable() && state.owner().ask(Rights {}).await.is_err();
    let has_proxy = state.who_asks.believes_a_proxy() || !state.settings.hosts.is_empty();
    if !is_of_rules || !has_proxy && is_from_here {
        return failure;
    }
    // Anybody can ask as often as they like, so this is no error in the log each time.
    tracing::debug!(
        reason = failure.message,
        "nothing is shown: the rules cannot be read"
    );
    Failure::unavailable(
        "the rules of who may see what cannot be read, so nothing is shown until they are mended: weft rights ls says to the owner \
         of the archive what is wrong with them",
    )
}

/// Whether somebody comes from another site, so that the cookie of signing in, if they have one, is not with them.
pub(crate) fn is_arrival(state: &Common, route: Option<&MatchedPath>, request: &Request) -> bool {
    let is_page = route.is_some_and(|route| !route.as_str().starts_with("/sandbox"));
    is_page
        && state.who_asks.takes_tokens()
        && state.who_asks.cookie(request.headers()).is_none()
        && sites::is_arrival(request)
}
