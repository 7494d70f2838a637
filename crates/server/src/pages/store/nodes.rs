//! The tables of nodes and of their background workers.

use maud::{Markup, html};
use store::{WorkerState, WorkerStatus};

use super::super::parts::{self, Align, Column};
use crate::present;
use crate::storage::{NodeReport, StoreReport};

pub(super) fn show(report: &StoreReport) -> Markup {
    const COLUMNS: [Column; 6] = [
        Column("Node", Align::Text),
        Column("Zone", Align::Text),
        Column("State", Align::Text),
        Column("Running for", Align::Number),
        Column("Layout", Align::Number),
        Column("Program", Align::Text),
    ];
    let cells = report.nodes.iter().map(|node| {
        vec![
            html! { strong { (parts::text(&node.id)) } span.where { (parts::url_text(&node.address)) } },
            parts::text(&node.zone),
            state(node),
            html! { @if node.reachable { (present::span(report.time_ms.saturating_sub(node.started_ms))) } @else { "\u{2013}" } },
            html! {
                @if node.reachable { (node.layout) } @else { "\u{2013}" }
                @if node.reachable && node.layout != report.layout { " " span.badge { "catching up" } }
            },
            html! { @if node.reachable { "weft " (parts::text(&node.program)) } @else { "\u{2013}" } },
        ]
    });
    parts::table("Nodes", &COLUMNS, cells.collect())
}

fn state(node: &NodeReport) -> Markup {
    html! {
        @if node.reachable {
            span.badge.good { "answers" }
        } @else {
            span.badge.bad { "unreachable" }
            span.where { (parts::text(&node.problem)) }
        }
    }
}

/// Shows the work of scrub, repair and rebalance on every node.
pub(super) fn workers(report: &StoreReport) -> Markup {
    const COLUMNS: [Column; 7] = [
        Column("Worker", Align::Text),
        Column("State", Align::Text),
        Column("Current pass", Align::Text),
        Column("Read", Align::Number),
        Column("Found", Align::Number),
        Column("Repaired", Align::Number),
        Column("Last complete pass", Align::Text),
    ];
    let many = report.nodes.len() > 1;
    let all = report
        .nodes
        .iter()
        .flat_map(|node| node.workers.iter().map(move |worker| (node, worker)));
    let cells = all.map(|(node, worker)| {
        vec![
            html! { strong { (parts::text(&worker.name)) } @if many { span.where { "on " (parts::text(&node.id)) } } },
            worker_state(worker),
            progress(worker),
            html! { (present::size(worker.bytes)) },
            html! { (present::count(worker.found)) },
            html! { (present::count(worker.repaired)) },
            last_pass(worker, report.time_ms),
        ]
    });
    let cells: Vec<_> = cells.collect();
    html! {
        @if cells.is_empty() { p.soft { "No node reports its workers." } } @else { (parts::table("Maintenance", &COLUMNS, cells)) }
    }
}

fn worker_state(worker: &WorkerStatus) -> Markup {
    let class = match worker.state {
        WorkerState::Failed(_) => "bad",
        WorkerState::Busy => "good",
        WorkerState::Idle | WorkerState::Paused(_) => "plain",
    };
    html! {
        span class=(format!("badge {class}")) { (parts::text(&worker.state.to_string())) }
        @if !worker.last_error.is_empty() { span.where { "last failure: " (parts::text(&worker.last_error)) } }
    }
}

fn progress(worker: &WorkerStatus) -> Markup {
    html! {
        @match worker.total.filter(|total| *total > 0) {
            Some(total) => {
                progress max=(total) value=(worker.done.min(total)) aria-label=(format!("Progress of {}", worker.name)) {}
                span.where { (present::count(worker.done)) " of " (present::count(total)) }
            }
            None => { (present::count(worker.done)) }
        }
    }
}

fn last_pass(worker: &WorkerStatus, now_ms: u64) -> Markup {
    html! {
        @match worker.last_pass_ms {
            Some(ms) => { (present::span(now_ms.saturating_sub(ms))) " ago" }
            None => { "\u{2013}" }
        }
    }
}
