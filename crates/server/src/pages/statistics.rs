//! The statistics page: totals of the archive, charts of the last minutes, and the table of stages.

use std::time::Duration;

use archive::question::{Answer, StageRow, Stages, Status, StatusBody};
use maud::{Markup, html};

use super::html::{Context, Html, PageResult, optional};
use super::parts;
use super::parts::{Align, Column};
use crate::history::Point;
use crate::present;
use crate::state::State;
use ui::chart::{self, Scale};
use ui::{Frame, Section};

pub(super) async fn show(context: Context) -> PageResult {
    let (epoch, content) = live_part(&context).await?;
    let content = html! {
        header.page-head {
            h1 { "Statistics" }
            p.soft { "The last ten minutes, and the current state of the archive." noscript { " " a href="/statistics" { "Refresh" } } }
        }
        div data-live="/statistics/live" data-every-ms="2000" { (content) }
    };
    let frame = Frame {
        title: "Statistics",
        section: Section::Statistics,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Ok(Html::ok(frame.around(content)))
}

/// Shows the part of the page that the script fetches repeatedly.
pub(super) async fn live(context: Context) -> PageResult {
    let (_, content) = live_part(&context).await?;
    Ok(Html::ok(content))
}

async fn live_part(state: &State) -> Result<(u64, Markup), super::PageFailure> {
    let asked = state
        .archive
        .ask_together(|together| (together.ask(Status {}), together.ask(Stages {})));
    let (status, stages) = asked.await?;
    let Answer { epoch, body: status } = status?;
    // The page is useful without its stages, but not without the totals.
    let stages = optional(stages).map(|stages| stages.stages);
    let content = html! {
        (charts(&state.history.points(), state.settings.sample_interval))
        section aria-labelledby="stages" {
            h2 #stages { "Load stages" }
            (stage_table(&stages.unwrap_or_default()))
        }
        section aria-labelledby="totals" {
            h2 #totals { "The archive" }
            (totals(epoch, &status))
        }
    };
    Ok((epoch, content))
}

fn charts(points: &[Point], every: Duration) -> Markup {
    let values = |value: fn(&Point) -> f64| points.iter().map(value).collect::<Vec<f64>>();
    html! {
        div.charts {
            (chart::line("Pages per second", &values(|p| p.pages_per_s), every, Scale::Decimal, present::rate))
            (chart::line("Links per second", &values(|p| p.links_per_s), every, Scale::Decimal, present::rate))
            (chart::line("Epochs per second", &values(|p| p.epochs_per_s), every, Scale::Decimal, present::rate))
            (chart::line("Items in flight", &values(|p| p.in_flight as f64), every, Scale::Decimal, present::rate))
            (chart::line("Memory", &values(|p| p.memory_bytes as f64), every, Scale::Binary, |v| present::size(v as u64)))
            (chart::line("Requests per second", &values(|p| p.requests_per_s), every, Scale::Decimal, present::rate))
        }
    }
}

fn stage_table(stages: &[StageRow]) -> Markup {
    let columns = [
        Column("Stage", Align::Text),
        Column("Threads", Align::Number),
        Column("Waiting", Align::Number),
        Column("Running", Align::Number),
        Column("Done", Align::Number),
        Column("ms per item", Align::Number),
        Column("Batched", Align::Number),
        Column("Mean batch", Align::Number),
    ];
    let cells = stages.iter().map(|stage| {
        vec![
            html! { (present::clean(&stage.stage)) },
            html! { (stage.threads) },
            html! { (present::count(stage.waiting)) },
            html! { (present::count(stage.running)) },
            html! { (present::count(stage.done)) @if stage.total > stage.done { " of " (present::count(stage.total)) } },
            html! { (format!("{:.3}", stage.ms_per_item)) },
            html! { (format!("{:.0} %", stage.batched_share * 100.0)) },
            html! { (format!("{:.1}", stage.batch_mean)) },
        ]
    });
    html! {
        @if stages.is_empty() {
            p.soft { "No load has run since the archive was opened. Start one with " code { "weft load INPUT\u{2026}" } "." }
        } @else {
            (parts::table("Load stages", &columns, cells.collect()))
        }
    }
}

fn totals(epoch: u64, status: &StatusBody) -> Markup {
    let figure = |n: u64| html! { (present::count(n)) };
    let time = |time: &Option<String>| match time {
        Some(time) => parts::date(time),
        None => html! { "\u{2013}" },
    };
    parts::figures(&[
        ("Epoch", figure(epoch)),
        ("Pages", figure(status.pages)),
        ("Captures", figure(status.captures)),
        ("Records", figure(status.records)),
        ("Links", figure(status.links)),
        ("URIs", figure(status.uris)),
        ("Domains", figure(status.domains)),
        ("Inputs", figure(status.inputs)),
        ("Records in quarantine", figure(status.quarantined)),
        ("Searchable documents", figure(status.search_documents)),
        ("Search covers epoch", figure(status.search_epoch)),
        ("On disk", html! { (present::size(status.disk_bytes)) }),
        ("Memory", html! { (present::size(status.memory_bytes)) }),
        ("First capture", time(&status.fetch_time_first)),
        ("Last capture", time(&status.fetch_time_last)),
    ])
}
