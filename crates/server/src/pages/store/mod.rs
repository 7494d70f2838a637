//! The page of the replicated store: its health, volumes and nodes, its speed, and the work of its
//! background workers.

use std::time::Duration;

use maud::{Markup, html};
use store::RequestCount;

use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::present;
use crate::storage::{Point, Rate, StoreMonitor, StoreReport};
use ui::chart::{self, Scale};
use ui::{Frame, Section};

mod census;
mod nodes;
mod volumes;

pub(super) async fn show(Context(context): Context) -> PageResult {
    let watch = context.attached_store()?;
    let report = watch.report().await;
    let content = html! {
        header.page-head {
            h1 { "Store" }
            p.soft {
                "Replicated storage of files: " (copies(report.replicas)) " of every object, on different volumes."
                noscript { " " a href="/store" { "Refresh" } }
            }
        }
        div data-live="/store/live" data-every-ms="2000" { (live_part(watch, &report, context.settings.sample_interval)) }
    };
    let frame = Frame {
        title: "Store",
        section: Section::Store,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: None,
    };
    Ok(Html::ok(frame.around(content)))
}

/// Shows the part of the page that the script fetches repeatedly.
pub(super) async fn live(Context(context): Context) -> PageResult {
    let watch = context.attached_store()?;
    let report = watch.report().await;
    Ok(Html::ok(live_part(
        watch,
        &report,
        context.settings.sample_interval,
    )))
}

fn copies(replicas: u8) -> String {
    present::counted(u64::from(replicas), "copy", "copies")
}

fn live_part(watch: &StoreMonitor, report: &StoreReport, every: Duration) -> Markup {
    html! {
        (verdict(report))
        (totals(report))
        section aria-labelledby="volumes" { h2 #volumes { "Volumes" } (volumes::show(report)) }
        section aria-labelledby="activity" {
            h2 #activity { "Activity" }
            (charts(&watch.history.points(), every))
        }
        @if !report.s3.is_empty() {
            section aria-labelledby="s3" {
                h2 #s3 { "S3 requests" }
                (requests("S3 requests", &report.s3, |operation| watch.history.s3_rate(operation)))
            }
        }
        section aria-labelledby="requests" {
            h2 #requests { "Requests to nodes" }
            (requests("Requests to nodes", &report.requests(), |operation| watch.history.node_rate(operation)))
        }
        section aria-labelledby="workers" { h2 #workers { "Maintenance" } (nodes::workers(report)) }
        section aria-labelledby="census" { h2 #census { "Last census" } (census::show(report)) }
        section aria-labelledby="nodes" { h2 #nodes { "Nodes" } (nodes::show(report)) }
    }
}

/// Says in a sentence whether an administrator must act.
fn verdict(report: &StoreReport) -> Markup {
    let troubles = report.troubles();
    html! {
        @if troubles.is_empty() {
            p.callout { span.badge.good { "healthy" } " All nodes and volumes respond and are in service." }
        } @else {
            div.callout {
                p { span.badge.bad { "attention" } " Objects stay readable as long as one copy is good." }
                ul.problems { @for trouble in &troubles { li { (parts::text(trouble)) } } }
            }
        }
    }
}

fn totals(report: &StoreReport) -> Markup {
    let sum =
        |figure: fn(&crate::storage::VolumeReport) -> u64| report.volumes.iter().map(figure).sum::<u64>();
    let mut zones: Vec<&str> = report.volumes.iter().map(|volume| volume.zone.as_str()).collect();
    zones.sort_unstable();
    zones.dedup();
    let layout = html! {
        (present::count(report.layout))
        @if !report.layouts_older.is_empty() {
            " " span.badge { "moving from " (present::count(report.layouts_older[0])) }
        }
    };
    let objects = match &report.census {
        Some(census) => html! { (present::count(census.objects)) },
        None => html! { "\u{2013}" },
    };
    parts::figures(&[
        ("Objects (last census)", objects),
        ("Replicas", html! { (present::count(sum(|v| v.replicas))) }),
        (
            "Content in replicas",
            html! { (present::size(sum(|v| v.replica_bytes))) },
        ),
        ("Known bad replicas", html! { (present::count(sum(|v| v.bad))) }),
        ("Volumes", html! { (report.volumes.len()) }),
        ("Nodes", html! { (report.nodes.len()) }),
        ("Zones", html! { (zones.len()) }),
        ("Layout", layout),
    ])
}

fn charts(points: &[Point], every: Duration) -> Markup {
    let values = |value: fn(&Point) -> f64| points.iter().map(value).collect::<Vec<f64>>();
    let size = |v: f64| format!("{}/s", present::size(v as u64));
    html! {
        div.charts {
            (chart::line("Requests per second", &values(|p| p.requests_per_s), every, Scale::Decimal, present::rate))
            (chart::line("Mean response time", &values(|p| p.ms_mean), every, Scale::Decimal, |v| format!("{v:.1} ms")))
            (chart::line("Received", &values(|p| p.bytes_in_per_s), every, Scale::Binary, size))
            (chart::line("Sent", &values(|p| p.bytes_out_per_s), every, Scale::Binary, size))
            (chart::line("Read by scrub and repair", &values(|p| p.upkeep_bytes_per_s), every, Scale::Binary, size))
        }
    }
}

fn requests(caption: &str, counts: &[RequestCount], rate: impl Fn(&str) -> Rate) -> Markup {
    const COLUMNS: [Column; 8] = [
        Column("Operation", Align::Text),
        Column("Per second", Align::Number),
        Column("Current mean", Align::Number),
        Column("99 % within", Align::Number),
        Column("Answered", Align::Number),
        Column("Failed", Align::Number),
        Column("Received", Align::Number),
        Column("Sent", Align::Number),
    ];
    let cells = counts.iter().filter(|count| count.count > 0).map(|count| {
        let now = rate(&count.operation);
        vec![
            html! { code { (present::clean(&count.operation)) } },
            html! { (present::rate(now.per_s)) },
            html! { @if now.ms_mean > 0.0 { (millis(now.ms_mean)) } @else { "\u{2013}" } },
            html! { (within(count)) },
            html! { (present::count(count.count)) },
            html! { @if count.failures > 0 { span.bad { (present::count(count.failures)) } } @else { "0" } },
            html! { (present::size(count.bytes_in)) },
            html! { (present::size(count.bytes_out)) },
        ]
    });
    let cells: Vec<_> = cells.collect();
    html! {
        @if cells.is_empty() { p.soft { "No requests since the server started." } } @else { (parts::table(caption, &COLUMNS, cells)) }
    }
}

fn within(count: &RequestCount) -> String {
    match count.quantile_micros(0.99) {
        None => "\u{2013}".to_owned(),
        Some(u64::MAX) => "over 50 s".to_owned(),
        Some(micros) => millis(micros as f64 / 1000.0),
    }
}

/// Formats as `0.3 ms`, `45 ms` or `1.2 s`.
fn millis(ms: f64) -> String {
    match ms {
        ms if ms < 9.95 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_that_suits_them() {
        assert_eq!([0.34, 45.4, 1234.0].map(millis), ["0.3 ms", "45 ms", "1.2 s"]);
    }
}
