//! The home page: the search box, and an overview of the archive.

use std::time::UNIX_EPOCH;

use archive::question::{Answer, JobBody, Jobs, Status, StatusBody, Top, TopRow};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::html::{Context, Html, PageResult, optional};
use super::{hidden, loads, parts, ranking, upload};
use crate::link;
use crate::present;
use format::date::DateTime;
use ui::{Frame, Section, search_box};

/// Number of URIs of the ranking that are shown.
const TOP_ROWS: usize = 8;
/// Number of URIs of the ranking that the shown domains are taken from.
const TOP_LOOKED_AT: usize = 200;
/// Numbers of domains and loads shown.
const DOMAINS: usize = 8;
const LOADS: usize = 4;

pub(super) async fn show(context: Context) -> PageResult {
    if !context.sees_everything() {
        return for_others(&context).await;
    }
    let asked = context.archive.ask_together(|together| {
        let ranked = Top {
            limit: TOP_LOOKED_AT,
            ..Top::default()
        };
        (
            together.ask(Status {}),
            together.ask(ranked),
            together.ask(Jobs {}),
        )
    });
    let (status, top, jobs) = asked.await?;
    let Answer { epoch, body: status } = status?;
    let top = optional(top).map(|top| top.rows);
    // Loads contain paths of this machine.
    let jobs = optional(jobs).map(|jobs| jobs.rows);
    let jobs = jobs.filter(|_| context.is_admin());
    let frame = Frame {
        title: "",
        section: Section::Home,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    let status = if context.is_admin() {
        status
    } else {
        // These messages may contain paths.
        StatusBody {
            refuses_writes: String::new(),
            search_failure: String::new(),
            ..status
        }
    };
    let view = ArchivedView::of(&context);
    let content = content(
        &status,
        &top.unwrap_or_default(),
        &jobs.unwrap_or_default(),
        view,
        context.is_admin(),
        &upload::form(&context, Some(&status)),
    );
    Ok(Html::ok(frame.around(content)))
}

/// Shows the page for clients from whom something is hidden, without totals of the archive.
async fn for_others(context: &Context) -> PageResult {
    let ranked = Top {
        limit: TOP_ROWS,
        ..Top::default()
    };
    let Answer { epoch, body: top } = context.archive.ask(ranked).await?;
    let frame = Frame {
        title: "",
        section: Section::Home,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    let content = html! {
        section.hero {
            h1 { "Search and read a web archive" }
            (search_box("", true))
            (hidden::sign_in(context))
        }
        div.columns { (most_linked(&top.rows, ArchivedView::of(context))) }
    };
    Ok(Html::ok(frame.around(content)))
}

fn content(
    status: &StatusBody,
    top: &[TopRow],
    jobs: &[JobBody],
    view: ArchivedView,
    is_admin: bool,
    upload: &Markup,
) -> Markup {
    html! {
        section.hero {
            h1 { (headline(status)) }
            (search_box("", true))
            @if status.captures > 0 { (hints(status)) }
        }
        @if !status.refuses_writes.is_empty() {
            p.callout {
                span.badge.bad { "writes refused" }
                " because: " (parts::text(&status.refuses_writes)) ". The next load reopens the index."
            }
        }
        @if !status.search_failure.is_empty() {
            p.callout {
                span.badge.bad { "search is out of date" }
                " because its index could not be written: " (parts::text(&status.search_failure))
            }
        }
        @if status.captures == 0 {
            (parts::nothing_loaded(is_admin))
            (upload)
        } @else {
            (parts::figures(&[
                ("Pages", html! { (present::count(status.pages)) }),
                ("Captures", html! { (present::count(status.captures)) }),
                ("Links", html! { (present::count(status.links)) }),
                ("Known domains", html! { (present::count(status.domains)) }),
            ]))
            div.columns {
                (most_linked(top, view))
                (domains(top))
            }
            (collections(status))
        }
        (recent_loads(jobs))
    }
}

/// Returns whether a capture in this year is possible: there was no web before 1990, and clocks may
/// differ around New Year. A wrong date in one record must not change the years shown.
fn is_possible(year: i64) -> bool {
    let days = system::wall()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() / 86_400);
    // A year has less than 366 days, so the result is never too early.
    let this_year = 1970 + days / 365;
    u64::try_from(year).is_ok_and(|year| (1990..=this_year + 1).contains(&year))
}

/// Parses the time of the first or last capture, if it is possible.
fn possible(time: &Option<String>) -> Option<DateTime> {
    let moment = time.as_deref().and_then(DateTime::of_text);
    moment.filter(|moment| is_possible(moment.year))
}

fn headline(status: &StatusBody) -> String {
    let year = |time| possible(time).map(|moment| moment.year);
    match (year(&status.fetch_time_first), year(&status.fetch_time_last)) {
        (Some(first), Some(last)) if first == last => format!("Search and read the web of {first}"),
        (Some(first), Some(last)) => format!("Search and read the web from {first} to {last}"),
        (None, Some(last)) => format!("Search and read the web up to {last}"),
        (Some(first), None) => format!("Search and read the web from {first} on"),
        _ => "Search and read a web archive".to_owned(),
    }
}

fn hints(status: &StatusBody) -> Markup {
    html! {
        p.hint {
            "Pages with all words come first; " code { "\"a phrase\"" } ", " code { "-without" } ", "
            code { "site:example.org" } ", " code { "year:2014" } " and other filters narrow the search. "
            @if let (Some(first), Some(last)) = (&status.fetch_time_first, &status.fetch_time_last)
                && possible(&status.fetch_time_first).is_some() && possible(&status.fetch_time_last).is_some() {
                "Captured between " (parts::date(first)) " and " (parts::date(last)) "."
            }
        }
    }
}

fn most_linked(top: &[TopRow], view: ArchivedView) -> Markup {
    html! {
        section aria-labelledby="most-linked" {
            h2 #most-linked { "Most linked URLs" }
            @if top.is_empty() {
                p.soft { "No links between domains yet." }
            } @else {
                ol.lines {
                    @for row in top.iter().take(TOP_ROWS) {
                        li {
                            span { (parts::page_link(&row.url, &row.title)) " " (ranking::open(row, view)) }
                            span.amount { (present::counted(row.inlinks_external, "in-link", "in-links")) }
                        }
                    }
                }
                p { a.more href="/ranking" { "Full ranking" } }
            }
        }
    }
}

/// Shows the domains of the first URLs of the ranking. The archive does not rank domains.
fn domains(top: &[TopRow]) -> Markup {
    let domains = domains_of(top);
    html! {
        section aria-labelledby="top-domains" {
            h2 #top-domains { "Domains of the most linked URLs" }
            @if domains.is_empty() {
                p.soft { "No links between domains yet." }
            } @else {
                @if top.len() == TOP_LOOKED_AT {
                    p.soft { "In-links of the first " (TOP_LOOKED_AT) " URLs of the ranking, by domain." }
                }
                ol.lines {
                    @for (name, inlinks) in domains.iter().take(DOMAINS) {
                        li {
                            a href=(link::domain(name)) { (parts::url_text(name)) }
                            span.amount { (present::counted(*inlinks, "in-link", "in-links")) }
                        }
                    }
                }
                p { a.more href="/domains" { "All domains" } }
            }
        }
    }
}

/// Returns the domains of the ranking's first rows with the in-links of those rows, most in-links
/// first.
fn domains_of(top: &[TopRow]) -> Vec<(String, u64)> {
    let mut domains: Vec<(String, u64)> = Vec::new();
    for row in top.iter().filter(|row| row.inlinks_external > 0) {
        let name = urlkey::domain_of_key(&row.url_key);
        match domains.iter_mut().find(|(known, _)| *known == name) {
            Some((_, inlinks)) => *inlinks += row.inlinks_external,
            None => domains.push((name, row.inlinks_external)),
        }
    }
    domains.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    domains
}

fn collections(status: &StatusBody) -> Markup {
    let named: Vec<&String> = status
        .collections
        .iter()
        .filter(|name| !name.is_empty())
        .collect();
    html! {
        @if !named.is_empty() {
            section aria-labelledby="collections" {
                h2 #collections { "Collections" }
                ul.chips {
                    @for name in named {
                        li { a href=(link::search_collection(name)) { (parts::text(name)) } }
                    }
                }
                p { a.more href="/collections" { "All collections" } }
            }
        }
    }
}

fn recent_loads(jobs: &[JobBody]) -> Markup {
    let mut recent: Vec<&JobBody> = jobs.iter().collect();
    recent.sort_by_key(|job| std::cmp::Reverse(job.id));
    recent.truncate(LOADS);
    html! {
        @if !recent.is_empty() {
            section aria-labelledby="recent-loads" {
                h2 #recent-loads { "Recent loads" }
                @for job in recent { (loads::job(job, jobs)) }
                p { a.more href="/loads" { "All loads and inputs" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_writes_are_told() {
        let shown = |since: &str| {
            let status = StatusBody {
                refuses_writes: since.to_owned(),
                ..StatusBody::default()
            };
            content(&status, &[], &[], ArchivedView::Sandbox, true, &html! {}).into_string()
        };
        assert!(shown("no space left").contains("no space left"));
        assert!(!shown("").contains("refused"));
    }

    #[test]
    fn the_years_of_the_headline_can_have_been() {
        let check = |first: &str, last: &str, expected: &str| {
            let status = StatusBody {
                fetch_time_first: Some(first.to_owned()),
                fetch_time_last: Some(last.to_owned()),
                ..StatusBody::default()
            };
            assert_eq!(headline(&status), expected);
            let told = hints(&status).into_string().contains("Captured between");
            assert_eq!(
                told,
                expected.contains("from 1996 to") || expected.contains("of 1996"),
                "{expected}"
            );
        };
        check(
            "1996-01-01",
            "2025-01-01",
            "Search and read the web from 1996 to 2025",
        );
        check("1996-01-01", "1996-12-31", "Search and read the web of 1996");
        check("0000-01-01", "2025-01-01", "Search and read the web up to 2025");
        check("1996-01-01", "2099-01-01", "Search and read the web from 1996 on");
        check("0001-01-01", "2099-01-01", "Search and read a web archive");
    }

    #[test]
    fn domains_of_a_part_of_the_ranking_are_named_so() {
        let ranking = |rows: usize| -> Vec<TopRow> {
            let row = |n| TopRow {
                url_key: format!("org,example)/{n}"),
                inlinks_external: 2,
                ..TopRow::default()
            };
            (0..rows).map(row).collect()
        };
        let shown = |rows| domains(&ranking(rows)).into_string();
        let part = "In-links of the first 200 URLs of the ranking, by domain.";
        assert!(shown(TOP_LOOKED_AT).contains(part));
        assert!(!shown(TOP_LOOKED_AT - 1).contains(part));
        assert!(shown(3).contains("6 in-links"), "{}", shown(3));
    }
}
