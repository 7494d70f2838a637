//! Compares how often queries match in each year.

use std::collections::BTreeMap;

use archive::question::{Answer, TREND_QUERIES_MAX, TrendRow, Trends, YearCount};
use maud::{Markup, html};
use ui::series::{self, Series};
use ui::shares::{FEW, Share};
use ui::{Frame, Section};

use super::download;
use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::query::Query;
use crate::{link, present};

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let mut queries: Vec<String> = query.all("q").map(str::to_owned).collect();
    let left_out = queries.split_off(queries.len().min(TREND_QUERIES_MAX));
    let (epoch, rows) = if queries.is_empty() {
        (None, Vec::new())
    } else {
        let question = Trends {
            queries: queries.clone(),
        };
        let Answer { epoch, body } = context.archive.ask(question).await?;
        (Some(epoch), body.rows)
    };
    let frame = Frame {
        title: "Trends",
        section: Section::Trends,
        parts: context.parts(),
        viewer: context.viewer(),
        query: queries.first().map_or("", String::as_str),
        epoch,
    };
    Ok(Html::ok(frame.around(content(&queries, &left_out, &rows))))
}

fn content(queries: &[String], left_out: &[String], rows: &[TrendRow]) -> Markup {
    html! {
        h1 { "Trends by year" }
        p { "Matches per 1,000 versions of pages, by the year of their last capture. Shares are shown so that years with many captures do not dominate." }
        (form(queries))
        @if !left_out.is_empty() {
            ul.notes { @for query in left_out { li { (parts::text(query)) ": left out, because at most " (TREND_QUERIES_MAX) " queries are compared." } } }
        }
        @if queries.is_empty() { p.soft { "Enter one query or several, such as " code { "library" } " and " code { "museum" } ", to compare how often pages match them." } }
        @for row in rows {
            @if !row.notes.is_empty() {
                ul.notes { @for note in &row.notes { li { (parts::text(&row.query)) ": " (parts::text(&note.text)) } } }
            }
        }
        @if let Some((first, last)) = span(rows) {
            (drawn(rows, first, last))
            (table(rows))
            (download::links("/api/v1/trends", &asked(queries)))
            p.soft { "Month by month: " @for (index, row) in rows.iter().enumerate() { @if index > 0 { ", " } a href=(link::events(&row.query)) { (parts::text(&row.query)) } } }
        } @else if !rows.is_empty() {
            (parts::nothing("Nothing to compare", html! { p { "No version of a page is from a year that these queries search." } }))
        }
    }
}

/// Returns the queries as parameters.
fn asked(queries: &[String]) -> Vec<(&str, Option<&str>)> {
    queries.iter().map(|query| ("q", Some(query.as_str()))).collect()
}

/// Shows a field for each query, and one more.
fn form(queries: &[String]) -> Markup {
    let fields = (queries.len() + 1).clamp(2, TREND_QUERIES_MAX);
    html! {
        form.trends-form action="/trends" method="get" {
            @for number in 0..fields {
                label.hidden for=(format!("trend-{number}")) { "Query " (number + 1) }
                input id=(format!("trend-{number}")) type="search" name="q" maxlength="2000" dir="auto" autocomplete="off"
                    value=(queries.get(number).map(|query| present::clean(query)).unwrap_or_default())
                    placeholder=(if number == 0 { "Query" } else { "Compared with" });
            }
            div { button type="submit" { "Compare" } }
        }
    }
}

/// Returns the first and the last year with any versions.
fn span(rows: &[TrendRow]) -> Option<(u64, u64)> {
    let years = || {
        rows.iter()
            .flat_map(|row| &row.years)
            .filter(|year| has_any(year))
    };
    let first = years().map(|year| year.year).min()?;
    Some((first, years().map(|year| year.year).max()?))
}

fn has_any(year: &YearCount) -> bool {
    year.year > 0 && year.documents > 0
}

fn share(year: &YearCount) -> Share {
    Share {
        year: year.year,
        part: year.count,
        whole: year.documents,
    }
}

fn drawn(rows: &[TrendRow], first: u64, last: u64) -> Markup {
    let series: Vec<Series> = rows
        .iter()
        .map(|row| {
            let years = row.years.iter().filter(|year| has_any(year));
            let by_year: BTreeMap<u64, Share> = years.map(|year| (year.year, share(year))).collect();
            let values = |is_of_few: bool| {
                let shares = (first..=last).map(|year| by_year.get(&year));
                let chosen = shares.map(|share| share.filter(|share| share.is_of_few() == is_of_few));
                chosen.map(|share| share.map(Share::per_mille)).collect()
            };
            Series {
                name: format!("{} ({})", row.query, present::count(row.total)),
                values: values(false),
                uncertain: values(true),
            }
        })
        .collect();
    let has_few = series.iter().any(|one| one.uncertain.iter().any(Option::is_some));
    html! {
        (series::years("Per 1,000 versions of the year", first, &series))
        @if has_few { p.soft { "Years with fewer than " (FEW) " versions are drawn as faint dashes: their shares are uncertain." } }
    }
}

/// Shows the numbers, with links to the results.
fn table(rows: &[TrendRow]) -> Markup {
    let mut years: BTreeMap<u64, Vec<Option<&YearCount>>> = BTreeMap::new();
    for (number, row) in rows.iter().enumerate() {
        for year in row.years.iter().filter(|year| has_any(year)) {
            years.entry(year.year).or_insert_with(|| vec![None; rows.len()])[number] = Some(year);
        }
    }
    let lines = years.into_iter().rev().map(|(year, counts)| {
        let documents = counts.iter().flatten().map(|count| count.documents).max();
        let queries = rows.iter().zip(counts).map(|(row, count)| html! {
            @if let Some(count) = count.filter(|count| count.count > 0) {
                a href=(results(row, year)) { (share(count).words()) }
                @if !share(count).is_of_few() { span.soft { " \u{b7} " (format!("{:.1}", share(count).per_mille())) } }
            } @else if let Some(count) = count { (share(count).words()) } @else { "left out by the query" }
        });
        let list = html! { ul.lines.wrapping {
            @for (row, shown) in rows.iter().zip(queries) { li { span { (parts::text(&row.query)) } span.amount { (shown) } } }
        } };
        vec![
            html! { (year) },
            html! { (present::count(documents.unwrap_or(0))) },
            list,
        ]
    });
    let columns = [
        Column("Year", Align::Text),
        Column("Versions of pages", Align::Number),
        Column("Matches of versions \u{b7} per 1,000", Align::Text),
    ];
    parts::table("Matches by year", &columns, lines.collect())
}

/// Returns the address of the results of a query in a year.
fn results(row: &TrendRow, year: u64) -> String {
    let query = format!("{} year:{year}", row.query);
    link::with("/search", &[("q", Some(&query)), ("all_versions", Some("1"))])
}
