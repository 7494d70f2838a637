//! The page of loads: running loads and their progress, and the ledger of all inputs.

use archive::question::{
    Answer, InputState, JobBody, JobStage, JobState, Jobs, Ledger, LedgerBody, LedgerRow, Status,
};
use maud::{Markup, html};

use super::html::{Context, Html, PageResult, optional};
use super::parts;
use super::parts::{Align, Column};
use crate::query::Query;
use crate::{link, present};
use ui::{Frame, Section};

/// Number of inputs on a page.
const ROWS: usize = 100;
/// Number of finished loads shown.
const FINISHED: usize = 10;
/// Number of problems of a load that are listed.
const PROBLEMS: usize = 5;

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let after = query.owned("after");
    let questions = (
        Ledger {
            state: None,
            input: None,
            after: after.clone(),
            limit: ROWS,
        },
        Jobs {},
        Status {},
    );
    let (ledger, jobs, status) = context.archive.ask_together(questions).await?;
    let Answer {
        epoch,
        body: LedgerBody { rows, next },
    } = ledger?;
    let jobs = optional(jobs).map(|jobs| jobs.rows);
    let quarantined = optional(status).map(|status| status.quarantined);
    let content = html! {
        header.page-head { h1 { "Loads" } }
        section aria-labelledby="jobs" {
            h2 #jobs { "Since the archive was opened" }
            div data-live="/loads/live" data-every-ms="1500" { (live_part(&jobs.unwrap_or_default())) }
        }
        section aria-labelledby="ledger" {
            h2 #ledger { "Inputs" }
            @if let Some(quarantined) = quarantined.filter(|n| *n > 0) {
                p { a href="/quarantine" { (present::counted(quarantined, "record is", "records are")) " in quarantine" }
                    ": they could not be used, and are listed with the reason." }
            }
            @if rows.is_empty() && after.is_none() { (parts::nothing_loaded()) } @else { (inputs(&rows)) }
        }
        (parts::pager(
            after.as_ref().map(|_| "/loads".to_owned()),
            next.map(|next| link::with("/loads", &[("after", Some(&next))])),
        ))
    };
    let frame = Frame {
        title: "Loads",
        section: Section::Loads,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Ok(Html::ok(frame.around(content)))
}

/// Shows the part of the page that the script fetches repeatedly.
pub(super) async fn live(context: Context) -> PageResult {
    let jobs = context.archive.ask(Jobs {}).await?.body.rows;
    Ok(Html::ok(live_part(&jobs)))
}

fn live_part(jobs: &[JobBody]) -> Markup {
    let mut jobs: Vec<&JobBody> = jobs.iter().collect();
    let rank = |job: &JobBody| match job.state {
        JobState::Running => 0,
        JobState::Queued => 1,
        _ => 2,
    };
    jobs.sort_by_key(|job| (rank(job), std::cmp::Reverse(job.id)));
    let active = jobs.iter().filter(|job| rank(job) < 2).count();
    jobs.truncate(active + FINISHED);
    html! {
        @if jobs.is_empty() {
            p.soft { "No loads yet. On the archive's machine, run: " code { "weft load INPUT\u{2026}" } }
        }
        @for job in jobs { (self::job(job)) }
    }
}

/// Shows one load: its progress, or how it ended.
pub(super) fn job(job: &JobBody) -> Markup {
    let running = job.state == JobState::Running;
    html! {
        article.job {
            h3 {
                "Load " (present::count(job.id)) " "
                span class=(format!("badge {}", job_class(job))) { (job_word(job)) }
            }
            @if running {
                @let (done, whole) = done(job);
                progress max=(whole.max(1)) value=(done.min(whole.max(1)))
                    aria-label=(format!("Progress of load {}", job.id)) { (share(job)) }
            }
            (parts::facts(&job_facts(job)))
            @if let Some(error) = &job.error { p.bad { (parts::text(error)) } }
            @if !job.problems.is_empty() {
                ul.problems {
                    @for problem in job.problems.iter().take(PROBLEMS) { li { (parts::url_text(&problem.input)) ": " (problem_of(problem)) } }
                    @if job.problems.len() > PROBLEMS { li.soft { "more in the list of inputs" } }
                }
            }
        }
    }
}

fn job_class(job: &JobBody) -> &'static str {
    match job.state {
        JobState::Done if job.problems.is_empty() => "good",
        JobState::Done | JobState::Running | JobState::Queued => "plain",
        _ => "bad",
    }
}

fn job_word(job: &JobBody) -> String {
    match job.state {
        JobState::Running => match job.stage {
            JobStage::Finding => "looking for inputs".to_owned(),
            JobStage::Digesting => format!("computing digests, {}", share(job)),
            JobStage::Finishing if job.search_pages > 0 => {
                format!("updating search, {}", share(job))
            }
            JobStage::Finishing => "updating search".to_owned(),
            _ => format!("loading, {}", share(job)),
        },
        JobState::Queued => "queued".to_owned(),
        JobState::Done if job.problems.is_empty() => "done".to_owned(),
        JobState::Done => "done, with problems".to_owned(),
        ended => ended.name().to_owned(),
    }
}

fn share(job: &JobBody) -> String {
    let (done, whole) = done(job);
    share_of(done, whole)
}

/// Returns how much of the current stage is done, and the total.
fn done(job: &JobBody) -> (u64, u64) {
    match job.stage {
        JobStage::Digesting => (job.bytes_digested, job.bytes),
        JobStage::Finishing if job.search_pages > 0 => (job.search_pages_done, job.search_pages),
        _ => (job.bytes_read.max(job.bytes_done), job.bytes),
    }
}

fn share_of(done: u64, bytes: u64) -> String {
    match bytes {
        0 => "just started".to_owned(),
        bytes => format!("{} %", (u128::from(done) * 100 / u128::from(bytes)).min(100)),
    }
}

fn job_facts(job: &JobBody) -> Vec<Markup> {
    let is_running = job.state == JobState::Running;
    let seconds = (job.elapsed_ms as f64 / 1000.0).max(0.001);
    // For a running load, the rate of the last seconds is shown; for a finished one, the mean rate.
    let pages_per_s = if is_running {
        job.pages_per_s
    } else {
        job.pages as f64 / seconds
    };
    let bytes_read = job.bytes_read.max(job.bytes_done);
    let mut facts = vec![
        html! { (present::count(job.inputs_done)) " of " (present::counted(job.inputs, "input", "inputs")) },
        html! { (present::size(bytes_read)) @if job.bytes > bytes_read { " of " (present::size(job.bytes)) } },
        html! { (present::counted(job.records, "record", "records")) },
        html! { (present::counted(job.pages, "page", "pages")) },
        html! { (present::counted(job.links, "link", "links")) },
        html! { (present::span(job.elapsed_ms)) },
        html! { (present::rate(pages_per_s)) " pages/s" },
    ];
    if job.bytes_per_s > 0 {
        facts.push(html! { (present::size(job.bytes_per_s)) "/s" });
    }
    if let Some(left_ms) = job.left_ms {
        facts.push(html! { (present::span(left_ms)) " left" });
    }
    if job.inputs_known > 0 {
        facts.push(
            html! { (present::counted(job.inputs_known, "input was", "inputs were")) " already known" },
        );
    }
    if job.inputs_failed > 0 {
        facts.push(html! { span.bad { (present::counted(job.inputs_failed, "input", "inputs")) " failed" } });
    }
    if job.inputs_cut > 0 {
        facts.push(html! { span.bad { (present::counted(job.inputs_cut, "input", "inputs")) " cut off" } });
    }
    if !job.waiting_for.is_empty() {
        let inputs = present::counted(job.waiting_for.len() as u64, "cut input", "cut inputs");
        facts.push(html! { "waiting a few seconds to see whether " (inputs) " will grow" });
    }
    if job.files_skipped > 0 {
        facts.push(
            html! { (present::counted(job.files_skipped, "file", "files")) " skipped (not an archive)" },
        );
    }
    if job.defects_total > 0 {
        facts.push(html! { (present::counted(job.defects_total, "defect", "defects")) " in records that are still usable" });
    }
    if job.quarantined > 0 {
        facts.push(html! { a href="/quarantine" { (present::count(job.quarantined)) " in quarantine" } });
    }
    facts
}

fn problem_of(row: &LedgerRow) -> Markup {
    html! {
        @if row.quarantined > 0 {
            a href=(link::with("/quarantine", &[("input", Some(&row.input))])) {
                (present::counted(row.quarantined, "record", "records")) " in quarantine"
            }
            @if row.state != InputState::Done { ", " }
        }
        @if row.state != InputState::Done || row.quarantined == 0 { (parts::text(&row.state.to_string())) }
        (notes(row))
    }
}

fn inputs(rows: &[LedgerRow]) -> Markup {
    let columns = [
        Column("Input", Align::Text),
        Column("State", Align::Text),
        Column("Size", Align::Number),
        Column("Records", Align::Number),
        Column("Captures", Align::Number),
        Column("Quarantine", Align::Number),
        Column("Collection", Align::Text),
    ];
    let cells = rows.iter().map(|row| {
        vec![
            html! { (parts::url_text(&row.input)) },
            state(row),
            html! { (present::size(row.size)) },
            html! { (present::count(row.records)) },
            html! { (present::count(row.captures)) },
            html! {
                @if row.quarantined > 0 {
                    a href=(link::with("/quarantine", &[("input", Some(&row.input))])) { (present::count(row.quarantined)) }
                } @else { "0" }
            },
            parts::text(if row.collection.is_empty() { "\u{2013}" } else { &row.collection }),
        ]
    });
    parts::table("Inputs", &columns, cells.collect())
}

fn state(row: &LedgerRow) -> Markup {
    // For a failure the badge contains only the word, so that it stays on one line.
    let (class, word, reason) = match &row.state {
        InputState::Done => ("good", "done", None),
        InputState::Pending => ("plain", "pending", None),
        InputState::Loading => ("plain", "loading", None),
        InputState::Failed { reason } => ("bad", "failed", Some(reason)),
        InputState::TakenDown => ("plain", "taken down", None),
        InputState::Forgotten => ("bad", "forgotten", None),
    };
    html! {
        span class=(format!("badge {class}")) { (word) }
        @if let Some(reason) = reason { " " (parts::text(reason)) }
        @if row.state == InputState::Loading && row.size > 0 {
            " " span.soft { (row.bytes_done.min(row.size) as u128 * 100 / u128::from(row.size)) " %" }
        }
        (notes(row))
    }
}

/// Shows details of an input in addition to its state.
fn notes(row: &LedgerRow) -> Markup {
    html! {
        @if !row.cut.is_empty() { ", its end is cut off (" (parts::text(&row.cut)) ")" }
        @if !row.missing.is_empty() { ", but now: " (parts::text(&row.missing)) }
    }
}
