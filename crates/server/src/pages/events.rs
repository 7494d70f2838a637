//! Pages that match a query, month by month.

use archive::question::{Answer, EVENT_PARTS_MAX, EventPage, EventRow, Events, EventsBody};
use maud::{Markup, html};
use ui::chart::{self, Bar};
use ui::{Frame, Section};

use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::failure::Code;
use crate::query::Query;
use crate::{link, present};

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let question = Events {
        query: query.text("q"),
        from: query.time("from")?,
        to: query.time("to")?,
    };
    let (epoch, shown) = if question.query.is_empty() {
        (None, prompt())
    } else {
        match context.archive.ask(question.clone()).await {
            Ok(Answer { epoch, body }) => (Some(epoch), content(&body)),
            Err(failure) if failure.code == Code::BadRequest => (
                None,
                html! { p.notes role="alert" { (present::clean(&failure.message)) } },
            ),
            Err(failure) => return Err(failure.into()),
        }
    };
    let frame = Frame {
        title: "Events",
        section: Section::Trends,
        parts: context.parts(),
        viewer: context.viewer(),
        query: &question.query,
        epoch,
    };
    let content = html! {
        h1 { "Month by month" }
        p { "Versions of pages with the words, in each month that they were captured in. Periods of more than " (EVENT_PARTS_MAX) " months are shown by year." }
        (form(&question))
        (shown)
    };
    Ok(Html::ok(frame.around(content)))
}

fn prompt() -> Markup {
    html! { p.soft { "Enter a query, such as " code { "flood" } ", and the first and the last month or year." } }
}

fn form(question: &Events) -> Markup {
    let field = |id: &'static str, name: &str, value: Option<&str>, example: &str| {
        html! {
            div.short { label for=(id) { (name) } input id=(id) name=(id) value=(value.unwrap_or_default()) placeholder=(example) maxlength="20" autocomplete="off"; }
        }
    };
    html! {
        form.fields action="/events" method="get" {
            div { label for="events-q" { "Query" } input id="events-q" type="search" name="q" value=(present::clean(&question.query)) maxlength="2000" dir="auto" autocomplete="off"; }
            (field("from", "First month", question.from.as_deref(), "2012-01"))
            (field("to", "Last month", question.to.as_deref(), "2013"))
            button type="submit" { "Show" }
        }
    }
}

fn content(body: &EventsBody) -> Markup {
    let by = if body.by_year { "year" } else { "month" };
    let columns: Vec<Bar> = body
        .rows
        .iter()
        .map(|row| Bar {
            name: row.period.clone(),
            value: row.versions as f64,
        })
        .collect();
    html! {
        @if !body.notes.is_empty() {
            ul.notes { @for note in &body.notes { li { (parts::text(&note.text)) } } }
        }
        @if body.rows.iter().all(|row| row.versions == 0) {
            (parts::nothing("No matches", html! { p { "No version of a page in this period has the words." } }))
        } @else {
            (chart::columns(&format!("Versions by {by}"), &columns))
            (table(body))
            p.soft { "First pages are chosen among the best 100 matches, linked ones among the best 20. Only links from other domains count, at the end of the " (by) "; for pages with more than 16 of them the number is an estimate." }
            p.soft { a href=(link::trends(&body.understood)) { "Compare by year" } }
        }
    }
}

/// Shows the months with matches, and links to the pages of that time.
fn table(body: &EventsBody) -> Markup {
    let rows = body.rows.iter().filter(|row| row.versions > 0);
    let lines = rows.map(|row| {
        let period = &row.period;
        let matches = link::search(&format!("{} from:{period} to:{period}", body.understood));
        vec![
            html! { a href=(matches) { (period) } },
            html! { (present::count(row.versions)) },
            html! { @match row.new_versions { Some(new) => { (present::count(new)) }, None => { "\u{2013}" } } },
            pages(&row.first, |page| parts::date(&page.since)),
            pages(&row.linked, |page| in_links(row, page)),
        ]
    });
    let columns = [
        Column("Period", Align::Text),
        Column("Versions", Align::Number),
        Column("New", Align::Number),
        Column("First pages", Align::Text),
        Column("Most linked", Align::Text),
    ];
    parts::table("Matches by period", &columns, lines.collect())
}

fn pages(pages: &[EventPage], amount: impl Fn(&EventPage) -> Markup) -> Markup {
    html! {
        ul.lines.wrapping {
            @for page in pages {
                li {
                    span { (parts::dated_link(&page.url, &page.since, &page.title)) }
                    span.amount { (amount(page)) }
                }
            }
        }
    }
}

/// Shows the number of in-links, with a link to the links of that time.
fn in_links(row: &EventRow, page: &EventPage) -> Markup {
    let at = row.period.replace('-', "");
    let address = link::with("/page/inlinks", &[("url", Some(&page.url)), ("at", Some(&at))]);
    let count = page.inlinks_external.unwrap_or(0);
    html! {
        @match link::if_short(address) {
            Some(address) => a href=(address) rel="nofollow" { (present::counted(count, "in-link", "in-links")) },
            None => { (present::counted(count, "in-link", "in-links")) }
        }
    }
}
