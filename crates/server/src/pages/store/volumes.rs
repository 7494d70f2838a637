//! The table of volumes: used space, condition, and share of the layout.

use maud::{Markup, html};

use super::super::parts::{self, Align, Column};
use crate::present;
use crate::storage::{StoreReport, VolumeCondition, VolumeReport};

/// Fill level of a file system above which it is shown with a warning, because writes begin to go
/// to other volumes.
const FILL_HIGH: f64 = 0.9;

pub(super) fn show(report: &StoreReport) -> Markup {
    const COLUMNS: [Column; 8] = [
        Column("Volume", Align::Text),
        Column("Zone", Align::Text),
        Column("State", Align::Text),
        Column("Disk", Align::Text),
        Column("Replicas", Align::Number),
        Column("Content", Align::Number),
        Column("Weight", Align::Number),
        Column("Share", Align::Number),
    ];
    let cells = report.volumes.iter().map(|volume| {
        vec![
            name(volume),
            parts::text(&volume.zone),
            state(volume),
            fill(volume),
            replicas(volume),
            html! { (present::size(volume.replica_bytes)) },
            html! { @if volume.weight == 0 { "0 (drained)" } @else { (volume.weight) } },
            html! { (format!("{:.1} %", volume.share * 100.0)) },
        ]
    });
    parts::table("Volumes", &COLUMNS, cells.collect())
}

fn name(volume: &VolumeReport) -> Markup {
    html! {
        strong { (parts::text(&volume.id)) }
        @if !volume.path.is_empty() { span.where { (parts::url_text(&volume.path)) } }
    }
}

fn state(volume: &VolumeReport) -> Markup {
    let class = match volume.state {
        VolumeCondition::InService => "good",
        VolumeCondition::Leaving | VolumeCondition::Rebuilding => "plain",
        VolumeCondition::Out | VolumeCondition::Unreachable => "bad",
    };
    html! {
        span class=(format!("badge {class}")) { (volume.state) }
        @if !volume.problem.is_empty() { span.where { (parts::text(&volume.problem)) } }
    }
}

fn fill(volume: &VolumeReport) -> Markup {
    let fill = volume.fill();
    let said = format!(
        "{:.0} % of {} used",
        fill * 100.0,
        present::size(volume.capacity_bytes)
    );
    html! {
        @if volume.capacity_bytes == 0 {
            span.soft { "unknown" }
        } @else {
            meter min="0" max="1" high=(FILL_HIGH) optimum="0" value=(format!("{fill:.4}"))
                aria-label=(format!("{} is {:.0} % full", volume.id, fill * 100.0)) { (said) }
            span.where { (said) }
        }
    }
}

fn replicas(volume: &VolumeReport) -> Markup {
    html! {
        (present::count(volume.replicas))
        @if volume.bad > 0 { " " span.badge.bad { (present::count(volume.bad)) " bad" } }
        @if volume.tombstones > 0 { span.where { (present::counted(volume.tombstones, "tombstone", "tombstones")) } }
    }
}
