//! All links to a URL or to many, their counts, and all links of a page.

use archive::question::{
    Answer, Inlinks, LinkCountRow, LinkCounts, LinkFilter, LinkGrouping, LinkRow, LinksBody, MatchType,
    Outlinks,
};
use cdx::url_pattern;
use export::LinkCountSum;
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::download;
use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::failure::Failure;
use crate::query::Query;
use crate::{link, present};
use format::date::DateTime;
use ui::{Frame, Section};

/// Number of links on a page.
const ROWS: usize = 100;

/// Most answers whose counts are added on a page; each reads up to 10,000 links.
const PARTS_MAX: usize = 10;

/// End of a link that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Target,
}

/// The links to a URL that the address asks for.
struct Selection {
    /// As typed, with its star if it has one.
    url: String,
    /// Without the star.
    bare_url: String,
    match_type: MatchType,
    at: Option<String>,
    ever: bool,
    external: bool,
    /// Only links from this domain.
    from_domain: Option<String>,
    /// Only links whose anchor text contains this.
    anchor: Option<String>,
    /// Only links from pages captured in this time.
    from: Option<String>,
    to: Option<String>,
    by: Option<LinkGrouping>,
    after: Option<String>,
}

impl Selection {
    fn of(query: &Query) -> Result<Selection, Failure> {
        let url = url(query)?;
        let pattern = url_pattern(&url, None).map_err(|error| Failure::bad_request(error.to_string()))?;
        let (bare_url, match_type) = (pattern.0.to_owned(), pattern.1);
        Ok(Selection {
            url,
            bare_url,
            match_type,
            at: query.time("at")?,
            ever: query.get("ever") == Some("1"),
            external: query.get("external") == Some("1"),
            from_domain: query.owned("from_domain"),
            anchor: query.owned("anchor"),
            from: query.time("from")?,
            to: query.time("to")?,
            by: query.get("by").and_then(|by| by.parse().ok()),
            after: query.owned("after"),
        })
    }

    fn question(&self) -> Inlinks {
        Inlinks {
            url: self.bare_url.clone(),
            match_type: self.match_type,
            after: self.after.clone(),
            limit: ROWS,
            at: self.at.clone(),
            ever: self.ever,
            filter: LinkFilter {
                external: self.external,
                from_domain: self.from_domain.clone(),
                anchor: self.anchor.clone(),
                from: self.from.clone(),
                to: self.to.clone(),
            },
        }
    }

    /// Returns whether the links lead to one URL.
    fn is_of_one(&self) -> bool {
        self.match_type == MatchType::Exact
    }

    /// Returns whether versions other than the newest count.
    fn is_of_versions(&self) -> bool {
        self.ever || self.at.is_some()
    }

    /// Returns the parameters that select the links, without how they are shown.
    fn parameters(&self) -> Vec<(&'static str, Option<&str>)> {
        vec![
            ("url", Some(&self.url)),
            ("at", self.at.as_deref()),
            ("ever", self.ever.then_some("1")),
            ("external", self.external.then_some("1")),
            ("from_domain", self.from_domain.as_deref()),
            ("anchor", self.anchor.as_deref()),
            ("from", self.from.as_deref()),
            ("to", self.to.as_deref()),
        ]
    }

    /// Returns the address of the links in groups, or as a list.
    fn grouped(&self, by: Option<LinkGrouping>) -> String {
        let mut parameters = self.parameters();
        parameters.push(("by", by.map(LinkGrouping::name)));
        link::with("/page/inlinks", &parameters)
    }

    /// Returns the parameters of the counts of these links.
    fn counted(&self, by: LinkGrouping) -> Vec<(&'static str, Option<&str>)> {
        let mut parameters = self.parameters();
        parameters.push(("by", Some(by.name())));
        parameters
    }

    /// Returns the command that counts all of these links.
    fn command(&self, by: LinkGrouping) -> String {
        let command = self.question().command(&self.url, None);
        format!("{command} --by {by} --all")
    }

    fn continued(&self, after: Option<&str>) -> String {
        let mut parameters = self.parameters();
        parameters.push(("by", self.by.map(LinkGrouping::name)));
        parameters.push(("after", after));
        link::with("/page/inlinks", &parameters)
    }

    /// Shows which versions of the pages count, and leads to others.
    fn versions(&self) -> Markup {
        let here = |ever| link::with("/page/inlinks", &[("url", Some(&*self.url)), ("ever", ever)]);
        html! {
            @if let Some(at) = &self.at {
                "Links of the versions that were current at the end of " (at) ". "
                a href=(here(None)) { "Newest versions" }
            } @else if self.ever {
                "Links of all versions of each page, with the times of the first and last capture that contain them. "
                a href=(here(None)) { "Only newest versions" }
            } @else {
                "Only the newest version of each page counts; links found only in older captures are not included. "
                @if self.is_of_one() { a href=(here(Some("1"))) { "Links of all versions" } }
            }
        }
    }

    /// Shows the ways to show these links.
    fn views(&self) -> Markup {
        let views = [
            (None, "List"),
            (Some(LinkGrouping::Domain), "By domain"),
            (Some(LinkGrouping::Anchor), "By anchor text"),
            (Some(LinkGrouping::Month), "By month of capture"),
            (Some(LinkGrouping::Target), "By URL linked to"),
        ];
        let is_useful = |by: &Option<LinkGrouping>| *by != Some(LinkGrouping::Target) || !self.is_of_one();
        html! {
            nav.choices aria-label="Groups" {
                span.choice {
                    @for (by, name) in views.into_iter().filter(|(by, _)| is_useful(by)) {
                        a href=(self.grouped(by)) rel="nofollow" aria-current=[(by == self.by).then_some("true")] { (name) }
                    }
                }
            }
        }
    }
}

fn url(query: &Query) -> Result<String, Failure> {
    let url = query.owned("url");
    url.ok_or_else(|| Failure::bad_request("no page given: parameter url is missing"))
}

pub(super) async fn inlinks(context: Context, query: Query) -> PageResult {
    let selection = Selection::of(&query)?;
    if let Some(by) = selection.by {
        return counts(context, &selection, by).await;
    }
    let answer = context.archive.ask(selection.question()).await?;
    let Answer {
        epoch,
        body:
            LinksBody {
                rows,
                total,
                looked_at,
                next,
                ..
            },
    } = answer;
    let first = selection.after.as_ref().map(|_| selection.continued(None));
    let content = html! {
        (head(&selection, total))
        (selection.views())
        @if let Some(looked_at) = looked_at { (part_of_all(looked_at, selection.is_of_versions())) }
        @if rows.is_empty() { @if looked_at.is_none() { p.soft { "There are no such links." } } } @else {
            @if selection.is_of_one() { (list(&rows, Side::Source, ArchivedView::of(&context))) }
            @else { (pairs(&rows, ArchivedView::of(&context))) }
            (download::links("/api/v1/inlinks", &selection.parameters()))
        }
        (parts::pager(first, next.map(|next| selection.continued(Some(&next)))))
    };
    Ok(framed(
        &context,
        &format!("In-links: {}", selection.url),
        epoch,
        &content,
    ))
}

/// Says that the list ends before its limit, because a page looks at so many links.
fn part_of_all(looked_at: u64, is_of_versions: bool) -> Markup {
    let links = if is_of_versions { "linking pages" } else { "links" };
    html! {
        p.soft role="status" {
            (present::count(looked_at)) " " (links) " were looked at for this part of the list. "
            "The next part may have more."
        }
    }
}

fn head(selection: &Selection, total: Option<u64>) -> Markup {
    html! {
        header.page-head {
            h1 { "In-links" @if let Some(total) = total { span.amount { (present::count(total)) } } }
            p.where { "to "
                @if selection.is_of_one() { (parts::url_link(&selection.url)) } @else { (parts::url_text(&selection.url)) }
            }
            @if let Some(domain) = &selection.from_domain {
                p.where { "from " a href=(link::domain(domain)) { (parts::url_text(domain)) } }
            }
            @if let Some(anchor) = &selection.anchor { p.where { "with " q dir="auto" { (parts::directing_text(anchor)) } } }
            @if let Some(from) = &selection.from { p.where { "of pages captured from " (from) " on" } }
            @if let Some(to) = &selection.to { p.where { "of pages captured to the end of " (to) } }
            p.soft { (selection.versions()) }
        }
    }
}

/// Adds the counts of up to [`PARTS_MAX`] answers. Returns them with the epoch of the last one and the
/// cursor of the links that are not counted.
async fn sum_of_parts(
    context: &Context,
    selection: &Selection,
    by: LinkGrouping,
) -> Result<(u64, LinkCountSum, Option<String>), Failure> {
    let mut question = LinkCounts {
        links: selection.question(),
        by,
        first_links: 0,
    };
    let mut sum = LinkCountSum::default();
    let mut parts = 0;
    loop {
        let Answer { epoch, body } = context.archive.ask(question.clone()).await?;
        sum.add(&body);
        parts += 1;
        if body.next.is_none() || parts == PARTS_MAX {
            return Ok((epoch, sum, body.next));
        }
        question.links.after = body.next;
    }
}

/// Shows how many links are in each group.
async fn counts(context: Context, selection: &Selection, by: LinkGrouping) -> PageResult {
    let (epoch, sum, next) = sum_of_parts(&context, selection, by).await?;
    let links = sum.links();
    let rows = sum.into_rows();
    let is_part = selection.after.is_some() || next.is_some();
    let first = selection.after.as_ref().map(|_| selection.continued(None));
    let content = html! {
        (head(selection, None))
        (selection.views())
        @if rows.is_empty() {
            p.soft {
                @if next.is_some() { "This part of the list has no such links. The next part may have some." }
                @else { "There are no such links." }
            }
        } @else {
            p { (present::count(links)) " links"
                @if is_part { ", a part of all: this page reads at most 100,000 links. A group may go on in the next part. \
                    A download has the counts of all links, and so has the command "
                    code { (selection.command(by)) } }
                "."
            }
            (count_table(&rows, by))
            (download::links("/api/v1/inlinks/counts", &selection.counted(by)))
        }
        (parts::pager(first, next.map(|next| selection.continued(Some(&next)))))
    };
    Ok(framed(
        &context,
        &format!("In-links: {}", selection.url),
        epoch,
        &content,
    ))
}

fn count_table(rows: &[LinkCountRow], by: LinkGrouping) -> Markup {
    let heading = match by {
        LinkGrouping::Anchor => "Anchor text",
        LinkGrouping::Domain => "Domain",
        LinkGrouping::Page => "Page",
        LinkGrouping::Target => "URL",
        LinkGrouping::Month => "Month",
    };
    let columns = [
        Column(heading, Align::Text),
        Column("Links", Align::Number),
        Column("From other domains", Align::Number),
    ];
    let table_rows = rows.iter().take(ROWS).map(|row| {
        vec![
            group(&row.value, by),
            html! { (present::count(row.links)) },
            html! { (present::count(row.links_external)) },
        ]
    });
    html! {
        (parts::table("Counts", &columns, table_rows.collect()))
        @if rows.len() > ROWS { p.soft { (present::count(ROWS as u64)) " of " (present::count(rows.len() as u64)) " groups" } }
    }
}

/// Shows the value that the links of a group share.
fn group(value: &str, by: LinkGrouping) -> Markup {
    html! {
        @match by {
            _ if value.is_empty() => { span.soft { "(no text)" } }
            LinkGrouping::Domain => { a href=(link::domain(value)) { (parts::url_text(value)) } }
            LinkGrouping::Page | LinkGrouping::Target => { (parts::url_link(value)) }
            LinkGrouping::Anchor => { (parts::directing_text(value)) }
            LinkGrouping::Month => { (value) }
        }
    }
}

pub(super) async fn outlinks(context: Context, query: Query) -> PageResult {
    let url = url(&query)?;
    let after = query.owned("after");
    let question = Outlinks {
        url: url.clone(),
        after: after.clone(),
        limit: ROWS,
    };
    let Answer {
        epoch,
        body: LinksBody {
            rows, total, next, ..
        },
    } = context.archive.ask(question).await?;
    let address =
        |after: Option<&str>| link::with("/page/outlinks", &[("url", Some(&url)), ("after", after)]);
    let content = html! {
        header.page-head {
            h1 { "Links" @if let Some(total) = total { span.amount { (present::count(total)) } } }
            p.where { "of " (parts::url_link(&url)) }
            p.soft { "Links of the newest version of the page." }
        }
        @if rows.is_empty() { p.soft { "There are no such links." } } @else {
            (list(&rows, Side::Target, ArchivedView::of(&context)))
            (download::links("/api/v1/outlinks", &[("url", Some(&url))]))
        }
        (parts::pager(after.as_ref().map(|_| address(None)), next.map(|next| address(Some(&next)))))
    };
    Ok(framed(&context, &format!("Links: {url}"), epoch, &content))
}

fn framed(context: &Context, title: &str, epoch: u64, content: &Markup) -> Html {
    let frame = Frame {
        title,
        section: Section::None,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Html::ok(frame.around(html! { (content) }))
}

/// Shows links to different URLs: both ends of each.
fn pairs(rows: &[LinkRow], view: ArchivedView) -> Markup {
    html! {
        ul.links {
            @for row in rows {
                li { (item(row, Side::Source, view)) span.where { "to " (parts::url_link(target(row))) } }
            }
        }
    }
}

fn target(row: &LinkRow) -> &str {
    if row.target_url.is_empty() {
        &row.target_key
    } else {
        &row.target_url
    }
}

/// Shows links with their anchors.
pub(super) fn list(rows: &[LinkRow], side: Side, view: ArchivedView) -> Markup {
    html! {
        ul.links { @for row in rows { li { (item(row, side, view)) } } }
    }
}

fn item(row: &LinkRow, side: Side, view: ArchivedView) -> Markup {
    let (url, key, title) = match side {
        Side::Source => (&row.source_url, &row.source_key, row.source_title.as_str()),
        Side::Target => (&row.target_url, &row.target_key, ""),
    };
    let url = if url.is_empty() { key } else { url };
    html! {
        @match side {
            Side::Source => {
                (parts::page_link(url, title)) " " (open(row, url, view))
                @if !title.trim().is_empty() { span.where { (parts::url_text(url)) } }
                @if !row.anchor.is_empty() { q dir="auto" { (parts::directing_text(&row.anchor)) } }
            }
            Side::Target => {
                (parts::page_link(url, &row.anchor))
                @if !row.anchor.trim().is_empty() { span.where { (parts::url_text(url)) } }
            }
        }
        @if let Some(version) = &row.version {
            span.where {
                (day(&version.first_seen))
                @if version.fetch_time != version.first_seen { " to " (day(&version.fetch_time)) }
            }
            @if !version.is_current { span.badge.plain title="The newest version of the page no longer has this link" { "gone" } }
        }
        @if row.external { span.badge.plain { "other domain" } }
        @if row.nofollow { span.badge.plain title="Marked nofollow, ugc or sponsored" { "nofollow" } }
    }
}

/// Returns the link that opens the page with the link. The page linked to might be missing in the archive.
fn open(row: &LinkRow, url: &str, view: ArchivedView) -> Markup {
    let time = row.version.as_ref().map(|version| version.fetch_time.as_str());
    html! { @if let Some(link) = view.page(url, time, "") { (link.word(&row.source_title, url)) } }
}

/// Formats as `26 January 2014`.
fn day(time: &str) -> String {
    DateTime::of_text(time).map_or_else(|| time.to_owned(), DateTime::date)
}
