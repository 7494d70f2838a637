//! Signing in and out: a token is stored in a cookie that scripts cannot read and other sites
//! cannot send.
//!
//! Invariant: the token is in the body of one request and in the cookie, never in an address or a
//! page.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ui::{Frame, Section};

use super::html::{Context, Html, PageFailure};
use crate::failure::Failure;
use crate::identity::{COOKIE, SignedIn};
use crate::sites;

/// Maximum size of the form in bytes. A token has 64.
const FORM_BYTES_MAX: usize = 4096;

/// A browser names the origin of a form only if the page's referrer policy allows it. The origin
/// distinguishes our form from one of another site. Addresses of these pages contain no secrets.
const REFERRER: (HeaderName, HeaderValue) =
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));

/// Clears what the browser has cached of pages. This is best effort.
const FORGET: (HeaderName, HeaderValue) = (
    HeaderName::from_static("clear-site-data"),
    HeaderValue::from_static("\"cache\""),
);

/// Handles `GET /sign-in`.
pub(super) async fn show(context: Context) -> Result<Response, PageFailure> {
    check_possible(&context)?;
    let page = Html::ok(page(&context, None));
    Ok(([REFERRER], page).into_response())
}

/// Handles `POST /sign-in` with the field `token`.
pub(super) async fn enter(context: Context, request: Request) -> Result<Response, PageFailure> {
    check_possible(&context)?;
    check_site(&request)?;
    let is_secure = sites::is_over_tls(request.headers());
    let form = axum::body::to_bytes(request.into_body(), FORM_BYTES_MAX).await;
    let form = form.map_err(|_| Failure::bad_request("the request is not a form of the sign-in page"))?;
    let mut fields = url::form_urlencoded::parse(&form);
    let token = fields.find(|(name, _)| name == "token");
    let token = token.map_or_else(String::new, |(_, token)| token.trim().to_owned());
    match context.authenticator.bearer_of_token(&token) {
        Ok(_) => Ok(([cookie(&token, is_secure, "")?], Redirect::to("/")).into_response()),
        Err(failure) if failure.status == StatusCode::UNAUTHORIZED => {
            let page = Html {
                status: failure.status,
                markup: page(&context, Some(&failure.message)),
            };
            Ok(([REFERRER], page).into_response())
        }
        Err(failure) => Err(failure.into()),
    }
}

/// Handles `POST /sign-out`.
pub(super) async fn leave(context: Context, request: Request) -> Result<Response, PageFailure> {
    check_possible(&context)?;
    check_site(&request)?;
    let is_secure = sites::is_over_tls(request.headers());
    let gone = cookie("", is_secure, "; Max-Age=0")?;
    Ok(([gone, FORGET], Redirect::to("/")).into_response())
}

fn check_possible(context: &Context) -> Result<(), Failure> {
    if context.authenticator.accepts_tokens() {
        Ok(())
    } else {
        Err(Failure::not_found(
            "signing in is disabled: this server accepts no tokens (weft serve --tokens FILE)",
        ))
    }
}

fn check_site(request: &Request) -> Result<(), Failure> {
    if sites::is_cross_site(request.headers()) {
        Err(Failure::forbidden(
            "cross-site requests are refused; use the sign-in page of this server. A proxy in front of it \
             must pass on the Host that the browser requests",
        ))
    } else {
        Ok(())
    }
}

/// Returns the header that sets the cookie. The cookie is `Secure` if the request used TLS.
fn cookie(token: &str, is_secure: bool, more: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict{secure}{more}");
    let value = HeaderValue::try_from(text).map_err(|_| Failure::internal())?;
    Ok((header::SET_COOKIE, value))
}

fn page(context: &Context, wrong: Option<&str>) -> Markup {
    let signed_in = context.signed_in();
    let heading = match signed_in {
        SignedIn::Yes => "Signed in",
        SignedIn::No | SignedIn::Expired => "Sign in",
    };
    let frame = Frame {
        title: heading,
        section: Section::SignIn,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: None,
    };
    frame.around(html! {
        header.page-head {
            h1 { (heading) }
            @match signed_in {
                SignedIn::Yes => p { "You see this archive as " strong { (ui::clean(&context.groups().to_string())) } "." },
                SignedIn::Expired => p.callout { "Your token was withdrawn or has expired. Sign in with another token, or sign out to see the public pages." },
                SignedIn::No => p.soft { "Some pages are visible only to people with a token. The administrator of the archive issues tokens." },
            }
        }
        div.reading {
            @if let Some(wrong) = wrong { p.callout.problem role="alert" { "Not signed in: " (wrong) "." } }
            @if signed_in != SignedIn::Yes { (token_form()) }
            @if signed_in != SignedIn::No { (leave_form()) }
            @if signed_in == SignedIn::Yes {
                p.soft { "You stay signed in until you sign out, close the browser, or the token is withdrawn or expires." }
            }
        }
    })
}

fn token_form() -> Markup {
    html! {
        form.stacked method="post" action="/sign-in" {
            label for="token" { "Token" }
            input #token type="password" name="token" required autocomplete="current-password" autocapitalize="off"
                spellcheck="false" maxlength="200";
            button type="submit" { "Sign in" }
        }
    }
}

fn leave_form() -> Markup {
    html! {
        form method="post" action="/sign-out" { p { button.quiet type="submit" { "Sign out" } } }
    }
}
