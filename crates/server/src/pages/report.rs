//! Report of a crawl with charts, as a page and as a self-contained file.

use archive::question::{Answer, Report, ReportBody, ReportDuplicates, ReportMonth, ReportRow};
use maud::{DOCTYPE, Markup, html};
use ui::chart::{self, Bar, DayValue, Scale};
use ui::{Frame, Section};

use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::failure::Code;
use crate::limits::REPORT_CAPTURES_MAX;
use crate::query::Query;
use crate::{link, present};

/// Number of rows of each list.
const ROWS: usize = 20;

/// Maximum number of months that are drawn. A longer span is drawn by year.
const MONTHS_MAX: usize = 60;

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let question = Report {
        from: query.owned("from"),
        to: query.owned("to"),
        collection: query.owned("collection"),
        captures_max: Some(REPORT_CAPTURES_MAX),
    };
    let (epoch, shown) = match context.archive.ask(question.clone()).await {
        Ok(Answer { epoch, body }) => (Some(epoch), content(&body, true)),
        Err(failure) if failure.code == Code::BadRequest => (
            None,
            html! { p.notes role="alert" { (present::clean(&failure.message)) } },
        ),
        Err(failure) => return Err(failure.into()),
    };
    let frame = Frame {
        title: "Report",
        section: Section::Report,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch,
    };
    let content = html! {
        header.page-head {
            h1 { "Crawl report" }
            p.soft { "Captures, and the size of their records as stored." }
        }
        (form(&question))
        (shown)
    };
    Ok(Html::ok(frame.around(content)))
}

fn form(question: &Report) -> Markup {
    let field = |id: &'static str, name: &str, value: &Option<String>, example: &str| {
        let value = value.as_deref().map(present::clean).unwrap_or_default();
        html! {
            div.short { label for=(id) { (name) } input id=(id) name=(id) value=(value) placeholder=(example) maxlength="200" autocomplete="off"; }
        }
    };
    html! {
        form.fields action="/report" method="get" {
            (field("from", "Captured from", &question.from, "2012"))
            (field("to", "Captured until", &question.to, "2014-06"))
            (field("collection", "Collection", &question.collection, "all"))
            button type="submit" { "Report" }
        }
    }
}

/// Returns the report as a self-contained HTML file. `of` names its subject.
pub fn report_document(answer: &Answer<ReportBody>, of: &str, made: &str) -> String {
    let styles = ui::ASSETS
        .iter()
        .find(|asset| asset.path.ends_with(".css"))
        .map_or("", |asset| asset.content);
    let title = format!("Report: {}", present::clean(of));
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (maud::PreEscaped(styles)) }
            }
            body {
                main #main {
                    header.page-head {
                        h1 { "Crawl report" }
                        p.soft { (present::clean(of)) ". Epoch " (present::count(answer.epoch)) " of the archive, created " (present::clean(made)) " by Weft." }
                    }
                    (content(&answer.body, false))
                }
            }
        }
    };
    document.into_string()
}

/// Shows the report. It links into the archive if it is a page of the server.
fn content(body: &ReportBody, linked: bool) -> Markup {
    html! {
        @if !body.complete {
            p.notes role="status" {
                "Partial result: " (present::counted(body.captures, "capture", "captures"))
                " among those read for a web page, in URL order. " code { "weft report" } " reads all captures."
            }
        }
        (totals(body))
        @if body.captures == 0 {
            (parts::nothing("No captures", html! { p { "There are no captures of this time or collection. Leave the fields empty to report on all captures." } }))
        } @else {
            section aria-labelledby="growth" { h2 #growth { "Over time" } (growth(&body.by_month)) }
            div.columns {
                section aria-labelledby="status" { h2 #status { "By status" } (statuses(body)) }
                section aria-labelledby="types" { h2 #types { "By type" } (chart::bars("Captures by type", &bars(&body.by_mime))) (more(body.mimes, "types")) }
            }
            section aria-labelledby="hosts" { h2 #hosts { "By host" } (hosts(body, linked)) }
            section aria-labelledby="failures" { h2 #failures { "Most frequent failures" } (failures(body, linked)) }
            section aria-labelledby="duplicates" { h2 #duplicates { "Duplicates" } (duplicates(&body.duplicates)) }
        }
    }
}

fn totals(body: &ReportBody) -> Markup {
    let time = |time: &Option<String>| match time {
        Some(time) => parts::date(time),
        None => html! { "\u{2013}" },
    };
    parts::figures(&[
        ("Captures", html! { (present::count(body.captures)) }),
        ("Bytes of records", html! { (present::size(body.bytes)) }),
        ("URLs", html! { (present::count(body.urls)) }),
        ("Hosts", html! { (present::count(body.hosts)) }),
        ("Failures", html! { (present::count(body.failures)) }),
        ("First capture", time(&body.fetch_time_first)),
        ("Last capture", time(&body.fetch_time_last)),
    ])
}

/// Returns months, or years if there are many months. Periods without captures in between are
/// included.
fn periods(months: &[ReportMonth]) -> Vec<(String, u64, u64)> {
    let number = |month: &ReportMonth| {
        let (year, month) = month.month.rsplit_once('-').unwrap_or(("0", "1"));
        year.parse::<i64>().unwrap_or(0) * 12 + month.parse::<i64>().unwrap_or(1) - 1
    };
    let (Some(first), Some(last)) = (months.first().map(number), months.last().map(number)) else {
        return Vec::new();
    };
    let by_year = last - first >= MONTHS_MAX as i64;
    let period = |number: i64| if by_year { number.div_euclid(12) } else { number };
    let name = |period: i64| {
        if by_year {
            format!("{period}")
        } else {
            format!("{:04}-{:02}", period.div_euclid(12), period.rem_euclid(12) + 1)
        }
    };
    let mut periods: Vec<(String, u64, u64)> = (period(first)..=period(last))
        .map(|at| (name(at), 0, 0))
        .collect();
    for month in months {
        let at = usize::try_from(period(number(month)) - period(first)).unwrap_or(0);
        if let Some((_, captures, bytes)) = periods.get_mut(at) {
            *captures += month.captures;
            *bytes += month.bytes;
        }
    }
    periods
}

fn growth(months: &[ReportMonth]) -> Markup {
    let periods = periods(months);
    let columns: Vec<Bar> = periods
        .iter()
        .map(|(name, captures, _)| Bar {
            name: name.clone(),
            value: *captures as f64,
        })
        .collect();
    let mut all = 0;
    let values: Vec<DayValue> = (0..)
        .zip(&periods)
        .map(|(day, (name, _, bytes))| {
            all += bytes;
            DayValue {
                day,
                name: name.clone(),
                value: all as f64,
            }
        })
        .collect();
    html! {
        div.charts {
            (chart::columns("Captures", &columns))
            (chart::days("Total bytes", &values, Scale::Binary, |bytes| present::size(bytes as u64)))
        }
        (months_table(months))
    }
}

fn months_table(months: &[ReportMonth]) -> Markup {
    let columns = [
        Column("Month", Align::Text),
        Column("Captures", Align::Number),
        Column("Bytes", Align::Number),
        Column("New URLs", Align::Number),
    ];
    let rows = months.iter().rev().map(|month| {
        vec![
            html! { (month.month) },
            html! { (present::count(month.captures)) },
            html! { (present::size(month.bytes)) },
            html! { (present::count(month.urls_new)) },
        ]
    });
    html! { details { summary { "Figures by month" } (parts::table("By month", &columns, rows.collect())) } }
}

fn bars(rows: &[ReportRow]) -> Vec<Bar> {
    let bar = |row: &ReportRow| Bar {
        name: match row.name.as_str() {
            "unk" => "no type declared".to_owned(),
            "warc/revisit" => "revisit".to_owned(),
            name => name.to_owned(),
        },
        value: row.captures as f64,
    };
    rows.iter().take(ROWS).map(bar).collect()
}

fn statuses(body: &ReportBody) -> Markup {
    let bar = |row: &archive::question::ReportStatus| Bar {
        name: match row.status {
            0 => "no status".to_owned(),
            status => status.to_string(),
        },
        value: row.captures as f64,
    };
    chart::bars(
        "Captures by status",
        &body.by_status.iter().map(bar).collect::<Vec<_>>(),
    )
}

/// Says that a list is not complete.
fn more(all: u64, of: &str) -> Markup {
    html! { @if all > ROWS as u64 { p.soft { "The first " (ROWS) " of " (present::count(all)) " " (of) "." } } }
}

fn host(name: &str, linked: bool) -> Markup {
    let address = link::with("/captures", &[("url", Some(name)), ("match", Some("host"))]);
    html! {
        @match link::if_short(address).filter(|_| linked) {
            Some(address) => a href=(address) { (parts::url_text(name)) },
            None => { (parts::url_text(name)) },
        }
    }
}

fn hosts(body: &ReportBody, linked: bool) -> Markup {
    let columns = [
        Column("Host", Align::Text),
        Column("Captures", Align::Number),
        Column("Bytes", Align::Number),
        Column("Share", Align::Text),
    ];
    let most = body.by_host.first().map_or(1, |row| row.captures);
    let rows = body.by_host.iter().take(ROWS).map(|row| {
        vec![
            host(&row.name, linked),
            html! { (present::count(row.captures)) },
            html! { (present::size(row.bytes)) },
            chart::bar(row.captures, most),
        ]
    });
    html! { (parts::table("By host", &columns, rows.collect())) (more(body.hosts, "hosts")) }
}

fn failures(body: &ReportBody, linked: bool) -> Markup {
    let columns = [
        Column("Host", Align::Text),
        Column("Status", Align::Text),
        Column("Captures", Align::Number),
    ];
    let rows = body.failures_most.iter().take(ROWS).map(|row| {
        vec![
            host(&row.host, linked),
            parts::status(row.status, archive::question::CaptureKind::Response),
            html! { (present::count(row.captures)) },
        ]
    });
    html! {
        @if body.failures_most.is_empty() { p.soft { "None." } } @else {
            (parts::table("Failures", &columns, rows.collect()))
        }
    }
}

fn duplicates(duplicates: &ReportDuplicates) -> Markup {
    html! {
        (parts::figures(&[
            ("Revisits", html! { (present::count(duplicates.revisits)) }),
            ("Bytes of these", html! { (present::size(duplicates.revisit_bytes)) }),
            ("Bytes saved", html! { (present::size(duplicates.saved_bytes)) }),
            ("Stored again", html! { (present::count(duplicates.repeated)) }),
            ("Bytes of these", html! { (present::size(duplicates.repeated_bytes)) }),
        ]))
        p.soft { "Based on payload digests. Revisits record that the content was unchanged; payloads stored again are identical to that of an earlier capture." }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_without_captures_are_shown_and_many_become_years() {
        let month = |month: &str, captures| ReportMonth {
            month: month.to_owned(),
            captures,
            bytes: captures * 10,
            urls_new: 0,
        };
        let few = periods(&[month("2013-11", 1), month("2014-02", 2)]);
        let names: Vec<&str> = few.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["2013-11", "2013-12", "2014-01", "2014-02"]);
        assert_eq!((few[0].1, few[1].1, few[3].2), (1, 0, 20));
        let many = periods(&[month("2001-12", 1), month("2002-01", 2), month("2010-05", 3)]);
        assert_eq!(many.len(), 10);
        assert_eq!((many[0].clone(), many[1].1), (("2001".to_owned(), 1, 10), 2));
        assert_eq!(periods(&[]), []);
    }
}
