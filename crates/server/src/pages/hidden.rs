//! The note on pages that find nothing: access rules may hide the URL from the client.
//!
//! Invariant: it depends on the rules and on the client only, so it does not reveal whether the URL
//! was captured.

use maud::{Markup, html};

use crate::identity::SignedIn;
use crate::link;
use crate::state::State;

/// Returns the heading of a page that found nothing. It says that rules may hide the URL, if they
/// hide something from the client.
pub(crate) fn heading(state: &State, absent: &str) -> String {
    if state.sees_everything() {
        absent.to_owned()
    } else {
        format!("{absent}, or is hidden from you")
    }
}

/// Shows what the client can do if rules may hide `url`.
pub(crate) fn note(state: &State, url: &str) -> Markup {
    let groups: Vec<&str> = state.groups().names().collect();
    let groups = groups.join(",");
    let test = link::with("/rights", &[("url", Some(url)), ("as", Some(&groups))]);
    html! {
        @if !state.sees_everything() {
            @if state.is_admin() {
                p { "Access rules hide part of the archive from you. "
                    a href={ (test) "#who" } { "Which rule applies to this URL?" } }
            } @else {
                (sign_in(state))
            }
        }
    }
}

/// Shows clients that are not signed in where to do so, if the server accepts tokens.
pub(super) fn sign_in(state: &State) -> Markup {
    html! {
        @if state.authenticator.accepts_tokens() && state.signed_in() == SignedIn::No {
            p.hint { "Some content is visible only to users who " a href="/sign-in" { "sign in" } "." }
        }
    }
}
