//! `/replay-check?url=...&at=...`: how complete an archived page is, and which parts are missing.
//! The bar fetches the figure when a reader asks for it.
//!
//! The work is bounded as in [`check_page`], by [`TIME_MAX`], and by the permits for reading
//! contents. It ends early if the client disconnects.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use archive::Interrupt;
use axum::Extension;
use maud::{Markup, html};
use ui::{Frame, Section};

use super::check::{CheckedPage, check_page};
use crate::failure::Failure;
use crate::link;
use crate::pages::{Html, PageFailure, parts};
use crate::peer::Peer;
use crate::present;
use crate::query::Query;
use crate::state::Context;
use crate::stream::CancelOnDrop;

/// Time limit for looking up parts. Most pages need a hundredth of it.
const TIME_MAX: Duration = Duration::from_secs(8);

/// Maximum number of missing parts that are listed.
const LISTED_MAX: usize = 200;

/// Checks a page.
pub(crate) async fn show(
    Context(state): Context,
    peer: Option<Extension<Peer>>,
    query: Query,
) -> Result<Html, PageFailure> {
    let Some(url) = query.owned("url") else {
        return Err(Failure::bad_request("no page given: parameter url is missing").into());
    };
    state.bound_replay()?;
    let at = query.moment("at")?;
    let peer = peer.map_or(IpAddr::from(Ipv4Addr::LOCALHOST), |Extension(Peer(peer))| {
        peer.ip()
    });
    let place = state.contents.take(peer).await;
    let interrupt = Interrupt::after(TIME_MAX);
    let _cancel = CancelOnDrop(interrupt.clone());
    let checked = state
        .archive
        .blocking(move |source| {
            let _place = place;
            check_page(source, &url, at.as_deref(), &mut |_| !interrupt.is_over())
        })
        .await??;
    let title = format!("Parts of {}", checked.url);
    let frame = Frame {
        title: &title,
        section: Section::None,
        parts: state.parts(),
        viewer: state.viewer(),
        query: "",
        epoch: None,
    };
    Ok(Html::ok(frame.around(content(&checked))))
}

fn content(checked: &CheckedPage) -> Markup {
    let alternatives = checked.alternatives_found + checked.alternatives_missing;
    let missing = checked.missing().count();
    html! {
        header.page-head {
            h1 { "Completeness of the page" }
            p.where { a href=(link::replay(&checked.url, &checked.timestamp)) { (parts::url_text(&checked.url)) } " captured " (parts::time(&checked.timestamp)) }
        }
        p { (figure(checked)) }
        p.soft {
            "Parts are the resources that a browser loads to show the page: images, style sheets, scripts and frames. Requests made by scripts are not included."
            @if alternatives > 0 {
                " Of " (present::count(alternatives as u64)) " alternatives that a browser may choose, " (present::count(checked.alternatives_found as u64)) " are in the archive."
            }
        }
        @if missing > 0 {
            h2 { "Missing" span.amount { (present::count(missing as u64)) } }
            ul.links {
                @for part in checked.missing().take(LISTED_MAX) {
                    li { (parts::url_link(&part.url)) " " span.soft { (part.kind) @if part.referrer != checked.url { " in " (parts::url_text(&part.referrer)) } } }
                }
            }
            @if missing > LISTED_MAX { p.soft { "The rest: " code { "weft replay-check" } } }
        }
    }
}

/// Shows the figure in one line.
fn figure(checked: &CheckedPage) -> Markup {
    let all = checked.parts.len();
    let missing = checked.missing().count();
    let percent = (checked.completeness * 100.0).floor();
    html! {
        span.whole {
            meter min="0" max="1" low="0.5" value=(format!("{:.3}", checked.completeness)) {}
            " " strong { (percent) " % complete" }
            ": " (present::count((all - missing) as u64)) " of " (present::counted(all as u64, "part", "parts")) " found"
            @if checked.is_cut { ", and more beyond the limit" }
        }
    }
}
