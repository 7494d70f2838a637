//! Access control of routes: identifies the client of a request, and gives the request the state
//! that the client may see.
//!
//! Invariants:
//! - A route is for administrators only, unless it is in a list of others ([`audience`]).
//! - Administration is separate from reading: rules hide pages from administrators too, and
//!   permission to read everything does not make an administrator.
//! - If the rules cannot be read, no part of the archive is shown.

use std::sync::Arc;

use access::ADMIN;
use archive::question::{AccessScopeBody, Rights};
use axum::extract::{MatchedPath, Request};

use crate::failure::Failure;
use crate::health::HEALTH_PATH;
use crate::identity::Identity;
use crate::local_owner;
use crate::mcp_http::MCP_PATH;
use crate::sites;
use crate::state::Common;

/// Routes that reveal nothing about the archive.
const PUBLIC_ROUTES: [&str; 3] = [HEALTH_PATH, "/robots.txt", "/api/v1/openapi.json"];

/// Routes answered only by the archive, which shows each client what it may see.
const READER_ROUTES: [&str; 61] = [
    "/timegate/{*url}",
    "/timemap/{*url}",
    "/replay",
    "/replay/{*address}",
    "/replay-check",
    "/",
    "/search",
    "/trends",
    "/events",
    "/images",
    "/images/thumbnail",
    "/page",
    "/page/diff",
    "/page/inlinks",
    "/page/outlinks",
    "/domain",
    "/domains",
    "/graph",
    "/ranking",
    "/captures",
    "/collections",
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
    "/api/v1/events",
    "/api/v1/images",
    "/api/v1/report",
    "/api/v1/collections",
    "/api/v1/page",
    "/api/v1/attachments",
    "/api/v1/calendar",
    "/api/v1/diff",
    "/api/v1/inlinks",
    "/api/v1/inlinks/counts",
    "/api/v1/outlinks",
    "/api/v1/domain",
    "/api/v1/domains",
    "/api/v1/top",
    "/api/v1/captures",
    "/api/v1/pages",
    "/api/v1/record",
    MCP_PATH,
    "/cdx",
    "/cdx/search/cdx",
    "/api/v1/cdx",
    "/{collection}/cdx",
    "/{index}",
    "/collinfo.json",
    // The handler checks who may post, because that is a setting.
    "/outbackcdx/{collection}",
    "/outbackcdx/{collection}/delete",
    "/record",
    "/record/{*file}",
];

/// Routes whose answers come from all pages and reveal details of this machine.
const UNRESTRICTED_ADMIN_ROUTES: [&str; 3] = ["/sql", "/api/v1/sql", "/api/v1/sql/tables"];

/// Clients that may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Reveals nothing about the archive.
    Everybody,
    /// The archive answers, and shows each client what it may see.
    Readers,
    /// Administrators, even if rules hide pages from them.
    Admins,
    /// Administrators from whom nothing is hidden.
    UnrestrictedAdmins,
}

fn audience(path: &str) -> Audience {
    let is_asset = ui::ASSETS.iter().any(|asset| asset.path == path);
    match path {
        path if is_asset || PUBLIC_ROUTES.contains(&path) => Audience::Everybody,
        path if READER_ROUTES.contains(&path) => Audience::Readers,
        path if UNRESTRICTED_ADMIN_ROUTES.contains(&path) => Audience::UnrestrictedAdmins,
        _ => Audience::Admins,
    }
}

/// Address of the sign-in page.
const SIGN_IN: &str = "/sign-in";
const SIGN_OUT: &str = "/sign-out";

/// Identifies the client of a request and gives the request the state that the client may see.
/// Refuses requests that the route does not admit. For routes answered by the archive, the archive
/// checks each question.
pub(crate) async fn admit(
    state: &Arc<Common>,
    route: Option<&MatchedPath>,
    request: &mut Request,
) -> Result<(), Failure> {
    let path = route.map_or("", MatchedPath::as_str);
    let audience = match route {
        // For an unknown route, every client gets the same response.
        None => Audience::Readers,
        Some(_) => audience(path),
    };
    let is_for_everybody = audience == Audience::Everybody;
    let identity = match state.authenticator.identify(request) {
        // A client with an expired or revoked cookie must reach this page and the styles to sign in
        // again.
        Err(_) if is_for_everybody || [SIGN_IN, SIGN_OUT].contains(&path) => {
            expired_identity(state, request)?
        }
        identity => identity?,
    };
    let (groups, is_admin) = (identity.groups.clone(), identity.is_admin);
    let nothing = AccessScopeBody::default();
    if is_for_everybody {
        request.extensions_mut().insert(state.seen_by(identity, nothing));
        return Ok(());
    }
    let administers = matches!(audience, Audience::Admins | Audience::UnrestrictedAdmins);
    let sight = match state.sight(&identity).await {
        Ok(sight) => sight,
        // Administration pages stay available if the rules cannot be read, because they are needed
        // to repair them.
        Err(_) if is_admin && audience == Audience::Admins => nothing,
        Err(failure) => return Err(failure_of_rules(state, is_admin, failure).await),
    };
    let everything = sight.everything;
    request.extensions_mut().insert(if is_admin && administers {
        state.administered_by(identity, sight)
    } else {
        state.seen_by(identity, sight)
    });
    match audience {
        _ if administers && !is_admin => Err(admins_only(state)),
        Audience::UnrestrictedAdmins if !everything => Err(Failure::forbidden(format!(
            "SQL reads all pages, but rules hide some of them from {groups}: exempt administrators in these \
             rules (except = [\"{ADMIN}\"]), or run weft sql on the server's machine, which reads everything"
        ))),
        _ => Ok(()),
    }
}

/// Returns the failure for a client that is not an administrator. It says how to become one.
fn admins_only(state: &Common) -> Failure {
    let make = "weft rights token NAME --admin --tokens FILE";
    let token = if state.authenticator.accepts_tokens() {
        format!("sign in with a token created by {make}, or send it as Authorization: Bearer TOKEN")
    } else {
        format!("create a token with {make}, and start the server with weft serve --tokens FILE")
    };
    let here = if local_owner::is_known_without_token(&state.settings) {
        "; the user who runs the server needs no token in a browser on the same machine, without a proxy"
    } else {
        ""
    };
    Failure::forbidden(format!(
        "only administrators of the archive may do this: {token}{here}"
    ))
}

/// Returns a client whose cookie is expired or revoked. If the request has no cookie, returns the
/// original failure.
fn expired_identity(state: &Common, request: &Request) -> Result<Identity, Failure> {
    match state.authenticator.cookie(request.headers()) {
        Some(_) => Ok(Identity::expired()),
        None => state.authenticator.identify(request),
    }
}

/// Returns the failure if the rules cannot be read. Only administrators get the file name and the
/// faulty content.
async fn failure_of_rules(state: &Common, is_admin: bool, failure: Failure) -> Failure {
    // The owner sees everything regardless of the rules, so this fails only if they cannot be read.
    let is_of_rules = failure.is_unavailable() && state.owner().ask(Rights::default()).await.is_err();
    if !is_of_rules || is_admin {
        return failure;
    }
    // Clients can repeat this without limit, so it is not logged as an error each time.
    tracing::debug!(
        reason = failure.message,
        "everything is hidden: the access rules cannot be read"
    );
    Failure::unavailable(
        "the access rules cannot be read, so everything is hidden until they are fixed: as the owner of the \
         archive, run weft rights ls to see what is wrong",
    )
}

/// Returns whether a user arrives from another site, so that the browser did not send the session
/// cookie.
pub(crate) fn is_arrival(state: &Common, route: Option<&MatchedPath>, request: &Request) -> bool {
    let is_page = route.is_some_and(|route| !route.as_str().starts_with("/sandbox"));
    is_page
        && state.authenticator.accepts_tokens()
        && state.authenticator.cookie(request.headers()).is_none()
        && sites::is_arrival(request)
}
