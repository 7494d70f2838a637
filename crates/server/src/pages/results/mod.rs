//! Results of a search.

mod aside;
mod attempts;
mod concordance;
mod hit;

use archive::question::{Answer, SearchBody, SearchNote, SearchOrder, SearchQuestion};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::html::{Context, Html, PageResult};
use super::parts;
use crate::api::search_order;
use crate::query::Query;
use crate::state::State;
use crate::{link, present};
use ui::{Frame, Section};

/// Number of results on a page.
const HITS: usize = 20;

/// Parameters of the address.
struct SearchRequest {
    query: String,
    after: Option<String>,
    explain: bool,
    list: List,
    /// Preferences of the client, as a query.
    prefer: String,
    /// Number of results on the pages before this one.
    before: u64,
    show: Form,
}

/// How results are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A list of pages.
    Pages,
    /// Matches with the words around them.
    Concordance,
}

/// Which results are listed, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct List {
    order: SearchOrder,
    all_versions: bool,
    one_per_site: bool,
    distinct: bool,
    near: bool,
}

impl SearchRequest {
    fn link(&self, after: Option<&str>, explain: bool, before: u64) -> String {
        self.listed(self.list, after, explain, before)
    }

    /// Returns the address of all results as a file.
    fn export(&self, format: &str) -> String {
        link::with(
            "/api/v1/search/export",
            &[
                ("q", Some(&self.query)),
                ("format", Some(format)),
                ("all_versions", self.list.all_versions.then_some("1")),
            ],
        )
    }

    /// Returns the address of the most recently captured results, for feed readers.
    fn atom(&self) -> String {
        link::with(
            "/search.atom",
            &[
                ("q", Some(&self.query)),
                ("all_versions", self.list.all_versions.then_some("1")),
            ],
        )
    }

    /// Returns the address of the first results in another form.
    fn shown_as(&self, show: Form) -> String {
        let other = SearchRequest {
            query: self.query.clone(),
            after: None,
            prefer: self.prefer.clone(),
            show,
            ..*self
        };
        other.first_of(self.list)
    }

    /// Returns the address of the first results of another list.
    fn first_of(&self, list: List) -> String {
        self.listed(list, None, self.explain, 0)
    }

    fn listed(&self, list: List, after: Option<&str>, explain: bool, before: u64) -> String {
        let before = (before > 0).then(|| before.to_string());
        link::with(
            "/search",
            &self.parameters(list, after, explain, before.as_deref()),
        )
    }

    /// Returns the parameters of an address of results. A parameter without a value is left out of
    /// the address.
    fn parameters<'a>(
        &'a self,
        list: List,
        after: Option<&'a str>,
        explain: bool,
        before: Option<&'a str>,
    ) -> [(&'static str, Option<&'a str>); 11] {
        let flag = |is_set: bool| is_set.then_some("1");
        let sort = match list.order {
            SearchOrder::Relevance => None,
            SearchOrder::Newest => Some("newest"),
            SearchOrder::Oldest => Some("oldest"),
            SearchOrder::Url => Some("url"),
        };
        [
            ("q", Some(&self.query)),
            ("after", after),
            ("before", before),
            ("explain", flag(explain)),
            ("sort", sort),
            ("all_versions", flag(list.all_versions)),
            ("per_site", flag(list.one_per_site)),
            ("distinct", flag(list.distinct)),
            ("prefer", Some(&self.prefer)),
            ("near", flag(list.near)),
            ("show", (self.show == Form::Concordance).then_some("concordance")),
        ]
    }
}

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let asked = SearchRequest {
        query: query.text("q"),
        after: query.owned("after"),
        explain: is_set(&query, "explain"),
        list: List {
            order: search_order(query.get("sort")),
            all_versions: is_set(&query, "all_versions"),
            one_per_site: is_set(&query, "per_site"),
            distinct: is_set(&query, "distinct"),
            near: is_set(&query, "near"),
        },
        prefer: query.text("prefer"),
        // Used only for the numbers next to the results. The cursor alone decides which results are
        // shown.
        before: query.get("before").and_then(|n| n.parse().ok()).unwrap_or(0),
        show: match query.get("show") {
            Some("concordance") => Form::Concordance,
            _ => Form::Pages,
        },
    };
    if asked.query.is_empty() {
        return Ok(Html::ok(prompt(&context)));
    }
    if asked.show == Form::Concordance {
        return concordance::show(&context, &asked).await;
    }
    let question = SearchQuestion {
        query: asked.query.clone(),
        limit: HITS,
        after: asked.after.clone(),
        explain: asked.explain,
        // Facets count all results, so they are the same on every page of a search.
        facets: true,
        order: asked.list.order,
        all_versions: asked.list.all_versions,
        per_site: usize::from(asked.list.one_per_site),
        distinct: asked.list.distinct,
        prefer: asked.prefer.clone(),
        near: asked.list.near,
        exact: true,
    };
    let Answer { epoch, body: found } = context.archive.ask(question).await?;
    let content = content(&asked, &found, epoch, ArchivedView::of(&context));
    Ok(Html::ok(frame(&context, &asked, epoch).around(content)))
}

fn frame<'a>(context: &State, asked: &'a SearchRequest, epoch: u64) -> Frame<'a> {
    Frame {
        title: &asked.query,
        section: Section::Results,
        parts: context.parts(),
        viewer: context.viewer(),
        query: &asked.query,
        epoch: Some(epoch),
    }
}

fn is_set(query: &Query, name: &str) -> bool {
    query.get(name).is_some_and(|value| value != "0")
}

fn prompt(context: &State) -> Markup {
    let frame = Frame {
        title: "Search",
        section: Section::Results,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: None,
    };
    frame.around(parts::only(
        "What are you looking for?",
        html! {
            p { "Enter one or more words in the box above. Pages with all words come first. " (newest_only()) }
            (syntax())
        },
    ))
}

/// Explains which versions are searched.
pub(super) fn newest_only() -> &'static str {
    "Searches the current version of each page; at:, from: or to: also search past versions."
}

/// Shows the query syntax, with an example of each form.
pub(super) fn syntax() -> Markup {
    const FORMS: [(&str, &str); 14] = [
        (
            "web archive",
            "pages with all words first, anywhere in the title, text or URL",
        ),
        ("+web archive", "a word that must match"),
        ("\"web archive\"", "an exact phrase"),
        ("archive -museum", "excludes a word"),
        ("library OR museum", "either of two words"),
        ("archiv*", "words with this prefix of three letters or more"),
        (
            "title:archive url:museum",
            "a word in the title, a word in the URL",
        ),
        (
            "site:example.org",
            "only this domain; site:example.org/news only URLs with that path",
        ),
        ("suffix:ac.uk", "only domains directly below this public suffix"),
        ("type:text/html lang:en", "only this type, only this language"),
        (
            "year:2014",
            "only pages whose current version was captured in this year",
        ),
        (
            "at:2012-05",
            "the versions that were current at the end of that month",
        ),
        ("from:2012 to:2014", "versions of pages captured in this period"),
        ("collection:news", "only this collection"),
    ];
    html! {
        dl.syntax {
            @for (form, meaning) in FORMS { div { dt { code { (form) } } dd { (meaning) } } }
        }
    }
}

fn content(asked: &SearchRequest, found: &SearchBody, epoch: u64, view: ArchivedView) -> Markup {
    let next = found.next.as_deref();
    let shown = asked.before + found.hits.len() as u64;
    html! {
        h1.hidden { "Results for " (parts::text(&asked.query)) }
        div.with-aside {
            div.main-column {
                p.summary role="status" { (summary(asked, found)) }
                @if found.summary.search_epoch < epoch {
                    p.soft { "Search covers epoch " (found.summary.search_epoch) " of " (epoch) ": the newest pages cannot be found yet." }
                }
                (lists(asked))
                (notes(&found.summary.notes, &found.summary.understood))
                @if found.hits.is_empty() {
                    (no_hits(asked))
                } @else {
                    ol.hits start=(asked.before + 1) {
                        @for (i, hit) in found.hits.iter().enumerate() { li { (hit::item(asked, hit, i == 0, view)) } }
                    }
                    (parts::pager(
                        asked.after.as_ref().map(|_| asked.link(None, asked.explain, 0)),
                        next.map(|next| asked.link(Some(next), asked.explain, shown)),
                    ))
                    p.soft.more { (newest_only()) " All results as "
                        @for (i, (format, name)) in [("csv", "CSV"), ("jsonl", "JSON lines"), ("parquet", "Parquet"), ("cdxj", "CDXJ")].into_iter().enumerate() {
                            @if i > 0 { ", " }
                            a href=(asked.export(format)) rel="nofollow" download { (name) }
                        }
                        ". New captures as an " a href=(asked.atom()) rel="alternate" type="application/atom+xml" { "Atom feed" } "."
                    }
                }
            }
            (aside::facets(&asked.query, &found.facets, &found.years))
        }
    }
}

/// Returns links to the same results in another order, or to more or fewer of them.
fn lists(asked: &SearchRequest) -> Markup {
    let list = asked.list;
    let ordered = |order| List { order, ..list };
    let choices = [
        ("Best match", SearchOrder::Relevance),
        ("Newest", SearchOrder::Newest),
        ("Oldest", SearchOrder::Oldest),
    ];
    let flags = [
        (
            "All versions",
            list.all_versions,
            List {
                all_versions: !list.all_versions,
                ..list
            },
        ),
        (
            "One per site",
            list.one_per_site,
            List {
                one_per_site: !list.one_per_site,
                ..list
            },
        ),
        (
            "No duplicates",
            list.distinct,
            List {
                distinct: !list.distinct,
                ..list
            },
        ),
        (
            "No near-duplicates",
            list.near,
            List {
                near: !list.near,
                ..list
            },
        ),
    ];
    html! {
        nav.choices aria-label="Order and filters of results" {
            span.choice {
                @for (name, order) in choices {
                    a href=(asked.first_of(ordered(order))) rel="nofollow" aria-current=[(list.order == order).then_some("true")] { (name) }
                }
            }
            span.choice {
                @for (name, form) in [("Pages", Form::Pages), ("In context", Form::Concordance)] {
                    a href=(asked.shown_as(form)) rel="nofollow" aria-current=[(asked.show == form).then_some("true")] { (name) }
                }
                a href=(link::with("/images", &[("q", Some(&asked.query))])) rel="nofollow" { "Images" }
            }
            span.choice {
                // A concordance has no groups.
                @for (name, is_set, other) in flags.into_iter().take(if asked.show == Form::Pages { 4 } else { 1 }) {
                    a href=(asked.first_of(other)) rel="nofollow" aria-current=[is_set.then_some("true")] { (name) }
                }
            }
            @if asked.show == Form::Pages { (preferences(asked)) }
        }
    }
}

/// Shows a field for the preferences of the client.
fn preferences(asked: &SearchRequest) -> Markup {
    // Preferences have no effect in another order.
    let list = List {
        order: SearchOrder::Relevance,
        ..asked.list
    };
    let kept = asked.parameters(list, None, asked.explain, None);
    let kept = kept.into_iter().filter(|(name, _)| *name != "prefer");
    html! {
        details.preferences open[!asked.prefer.is_empty()] {
            summary { "Prefer" }
            form action="/search" method="get" {
                @for (name, value) in kept.filter_map(|(name, value)| Some((name, value?))) {
                    input type="hidden" name=(name) value=(value);
                }
                label { span.soft { "Among the best 1,000 results, rank higher" }
                    input type="text" name="prefer" value=(asked.prefer) placeholder="lang:de site:example.org^40 from:2010"; }
                button { "Show" }
            }
        }
    }
}

fn summary(asked: &SearchRequest, found: &SearchBody) -> Markup {
    let shown = asked.before + found.hits.len() as u64;
    html! {
        strong { (present::counted(found.summary.total, "result", "results")) }
        @if asked.before > 0 && !found.hits.is_empty() {
            ", " (present::count(asked.before + 1)) " to " (present::count(shown))
        }
        @if found.summary.shown_total < found.summary.total {
            span.soft { ", " (present::count(found.summary.shown_total)) " after grouping" }
        }
        // Never "0 ms", which reads as if nothing had been searched.
        span.soft { " \u{b7} " (format!("{:.0}", found.summary.took_ms.max(1.0))) " ms" }
        @if !found.hits.is_empty() {
            span.soft { " \u{b7} " }
            a href=(asked.link(asked.after.as_deref(), !asked.explain, asked.before)) rel="nofollow" {
                @if asked.explain { "Hide explanations" } @else { "Explain the ranking" }
            }
            @if found.facets.iter().any(|facet| !facet.values.is_empty()) {
                span.to-facets { span.soft { " \u{b7} " } a href="#narrow" { "Narrow down" } }
            }
        }
    }
}

fn notes(notes: &[SearchNote], understood: &str) -> Markup {
    html! {
        @if !notes.is_empty() {
            ul.notes { @for note in notes { li { (parts::text(&note.text)) } } }
            @if !understood.is_empty() {
                p.soft { "Interpreted as " code { (parts::text(understood)) } }
            }
        }
    }
}

fn no_hits(asked: &SearchRequest) -> Markup {
    // People paste addresses into search boxes.
    let address = asked.query.contains('.') && !asked.query.contains(char::is_whitespace);
    parts::nothing(
        if asked.after.is_some() {
            "No more results"
        } else {
            "No results"
        },
        html! {
            @if address {
                p { "Is it a URL? " a href=(link::page(&asked.query)) { "See its page in the archive" }
                    ", or " a href=(link::with("/captures", &[("url", Some(&asked.query)), ("match", Some("prefix"))])) { "look up captures" } "." }
            }
            p { "No page has enough of these words. Try fewer or different words." }
            (attempts::list(asked))
            (syntax())
        },
    )
}
