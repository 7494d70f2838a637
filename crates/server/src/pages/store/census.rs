//! The last census: a count of every replica of every object.

use maud::{Markup, html};
use store::upkeep::Census;

use super::super::parts;
use crate::present;
use crate::storage::StoreReport;

pub(super) fn show(report: &StoreReport) -> Markup {
    html! {
        @match &report.census {
            Some(census) => { (taken(census, report.time_ms)) }
            None => {
                p.soft { "No census since the server started. On a machine of the store, run: " code { "weft store census" } }
            }
        }
    }
}

fn taken(census: &Census, now_ms: u64) -> Markup {
    let ago = present::span(now_ms.saturating_sub(census.time_ms));
    html! {
        p {
            @if census.is_whole() {
                span.badge.good { "complete" } " Every replica of every object was found "
            } @else {
                span.badge.bad { "incomplete" } " Taken "
            }
            (ago) " ago, against layout " (present::count(census.layout)) "."
        }
        (parts::figures(&figures(census)))
        @if !census.lost_bytes.is_empty() { (keys("Objects with blocks damaged in every replica", &census.lost_bytes)) }
        @if !census.conflicting.is_empty() { (keys("Objects whose replicas disagree", &census.conflicting)) }
        @if !census.volumes_unreachable.is_empty() { (keys("Volumes that did not answer", &census.volumes_unreachable)) }
    }
}

fn figures(census: &Census) -> Vec<(&'static str, Markup)> {
    let figure = |n: u64| html! { (present::count(n)) };
    let wanting = |n: u64| html! { @if n > 0 { span.bad { (present::count(n)) } } @else { "0" } };
    vec![
        ("Objects", figure(census.objects)),
        ("Content", html! { (present::size(census.object_bytes)) }),
        ("Replicas expected", figure(census.replicas_expected)),
        ("Good", figure(census.replicas_good)),
        ("Missing", wanting(census.replicas_missing)),
        ("Bad", wanting(census.replicas_bad)),
        ("Lost objects", wanting(census.objects_lost)),
        ("Stray files", wanting(census.strays)),
        ("Surplus", figure(census.replicas_surplus)),
        ("Tombstones", figure(census.tombstones)),
    ]
}

fn keys(heading: &str, keys: &[String]) -> Markup {
    html! {
        details {
            summary { (heading) " (" (keys.len()) ")" }
            ul { @for key in keys { li { (parts::url_text(key)) } } }
        }
    }
}
